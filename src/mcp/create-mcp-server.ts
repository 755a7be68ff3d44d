// Creates an MCP server for one caller; the caller connects a transport.
import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import {
  CallToolRequestSchema,
  ErrorCode,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  McpError,
  ReadResourceRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { HeadworksError, kindOf } from '../core/index.ts';
import { errorText, unforeseen } from './error-text.ts';
import { wordsAreData } from './fields.ts';
import type { CallerKind, McpDeps } from './ports.ts';
import { listResources, readResource, resourceTemplates } from './resources.ts';
import { allTools, toolsFor } from './tools/index.ts';

const whoYouAre: Readonly<Record<CallerKind, string>> = {
  admin:
    'You are connected with the admin token: you see the spaces of the server, those of every organization (name it with ' +
    '"organization"), and how the server is.',
  organization: 'You are connected with the key of an organization, and see its own spaces only.',
};

const instructions = (caller: CallerKind): string =>
  'Headworks keeps knowledge from documents: passages, events, and entities with their names, each with its evidence. ' +
  `Begin with search; cite documents by title and uri. ${whoYouAre[caller]} ${wordsAreData}`;

/** One for all: over HTTP there is a server per request, and making this would be most of its time (1 ms). */
const jsonSchemaValidator = new AjvJsonSchemaValidator();

/**
 * Handlers are ours, not the SDK's own for tools and resources: they list in pages, and fail in words that a model can
 * act on. Versions are negotiated by the SDK.
 */
export function createMcpServer(parts: McpDeps): McpServer {
  const mcp = new McpServer(
    { name: 'headworks', title: 'Headworks', version: parts.version },
    { instructions: instructions(parts.caller), jsonSchemaValidator },
  );
  mcp.server.registerCapabilities({ tools: {}, resources: {} });
  handleTools(mcp.server, parts);
  handleResources(mcp.server, parts);
  return mcp;
}

function handleTools(server: Server, parts: McpDeps): void {
  const tools = toolsFor(parts.caller);
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: tools.map((tool) => tool.listing(parts.caller)),
  }));
  server.setRequestHandler(CallToolRequestSchema, ({ params }, { signal }) =>
    callTool(parts, params.name, params.arguments, signal),
  );
}

/** Whatever went wrong is the tool's answer: errors of the protocol do not reach the model. */
async function callTool(
  { api, caller, log }: McpDeps,
  name: string,
  given: unknown,
  signal: AbortSignal,
): Promise<CallToolResult> {
  const tool = toolsFor(caller).find((each) => each.name === name);
  if (!tool) return failed(strangeTool(name, caller));
  try {
    const answer = await tool.answer(given, { api, caller, signal });
    return { structuredContent: answer, content: [{ type: 'text', text: JSON.stringify(answer) }] };
  } catch (error) {
    const text = errorText(error);
    if (text === null && !signal.aborted) log.error('unhandled error of an MCP tool', { tool: name, error });
    return failed(text ?? unforeseen);
  }
}

const failed = (text: string): CallToolResult => ({ isError: true, content: [{ type: 'text', text }] });

function strangeTool(name: string, caller: CallerKind): string {
  const names = toolsFor(caller).map((tool) => tool.name);
  const why = allTools.some((tool) => tool.name === name)
    ? `The tool "${name}" needs the admin token; this connection has the key of an organization.`
    : `There is no tool "${name.slice(0, 100)}".`;
  return `${why} There are: ${names.join(', ')}.`;
}

function handleResources(server: Server, parts: McpDeps): void {
  const told = async <Answer>(work: Promise<Answer>): Promise<Answer> => {
    try {
      return await work;
    } catch (error) {
      throw protocolError(error, parts);
    }
  };
  server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({
    resourceTemplates: resourceTemplates(parts.caller),
  }));
  server.setRequestHandler(ListResourcesRequestSchema, ({ params }, { signal }) =>
    told(listResources(parts, params?.cursor, signal)),
  );
  server.setRequestHandler(ReadResourceRequestSchema, async ({ params }, { signal }) => ({
    contents: [await told(readResource(parts, params.uri, signal))],
  }));
}

/** The protocol's own number for a resource that is not there. */
const resourceNotFound = -32_002;

function protocolError(error: unknown, { log }: McpDeps): McpError {
  const text = errorText(error);
  if (text === null) log.error('unhandled error of an MCP resource', { cause: kindOf(error), error });
  const code = error instanceof HeadworksError ? error.code : '';
  if (code === 'NOT_FOUND') return new McpError(resourceNotFound, text ?? '');
  return new McpError(
    code === 'INPUT_INVALID' ? ErrorCode.InvalidParams : ErrorCode.InternalError,
    text ?? unforeseen,
  );
}
