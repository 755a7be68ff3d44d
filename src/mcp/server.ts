// The MCP server of one caller, over HTTP and over standard input and output.
/* oxlint-disable unicorn/prefer-add-event-listener -- callbacks of the SDK are properties, not events */
import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import type { CallToolResult, JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import {
  CallToolRequestSchema,
  ErrorCode,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  McpError,
  ReadResourceRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv';
import type { Readable, Writable } from 'node:stream';
import type { Log } from '../core/index.ts';
import { abortable, CoreError, HeadworksError, kindOf, onAbort } from '../core/index.ts';
import type { CallerContext, CallerKind, Tool } from './derive.ts';
import { textIsData } from './derive.ts';
import { errorText, unexpectedError } from './errors.ts';
import { listResources, readResource, resourceTemplates } from './resources.ts';
import { knowledgeTools } from './knowledge-tools.ts';
import { operationsTools } from './operations-tools.ts';

export interface McpDeps extends Pick<CallerContext, 'api' | 'caller'> {
  readonly version: string;
  /** Receives unexpected errors; the caller sees only that one occurred. */
  readonly log: Pick<Log, 'error'>;
}

/** In the order in which they are listed. */
export const allTools: readonly Tool[] = [...knowledgeTools, ...operationsTools];

/** The tools that this caller can use. */
export const toolsFor = (caller: CallerKind): readonly Tool[] =>
  allTools.filter(({ access }) => access === 'tenant' || caller === 'admin');

const callerTexts: Readonly<Record<CallerKind, string>> = {
  admin:
    'You are connected with the admin token: you can access the spaces of the server, those of every organization (name ' +
    'it with "organization"), and the health of the server.',
  organization: 'You are connected with the key of an organization and can access its own spaces only.',
};

const instructions = (caller: CallerKind): string =>
  'Headworks stores knowledge from documents: passages, events, and entities with their names, each with its evidence. ' +
  `Begin with search; cite documents by title and uri. ${callerTexts[caller]} ${textIsData}`;

/** Shared: over HTTP there is a server per request, and creating this would be most of its time (1 ms). */
const jsonSchemaValidator = new AjvJsonSchemaValidator();

/**
 * Has its own handlers for tools and resources instead of the SDK's: they list in pages, and fail with messages that a
 * model can act on.
 */
export function createMcpServer(deps: McpDeps): McpServer {
  const mcp = new McpServer(
    { name: 'headworks', title: 'Headworks', version: deps.version },
    { instructions: instructions(deps.caller), jsonSchemaValidator },
  );
  mcp.server.registerCapabilities({ tools: {}, resources: {} });
  handleTools(mcp.server, deps);
  handleResources(mcp.server, deps);
  return mcp;
}

function handleTools(server: Server, deps: McpDeps): void {
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: toolsFor(deps.caller).map((tool) => tool.listing(deps.caller)),
  }));
  server.setRequestHandler(CallToolRequestSchema, ({ params }, { signal }) =>
    callTool(deps, params.name, params.arguments, signal),
  );
}

/** Every failure is a result of the tool: errors of the protocol do not reach the model. */
async function callTool(
  { api, caller, log }: McpDeps,
  name: string,
  given: unknown,
  signal: AbortSignal,
): Promise<CallToolResult> {
  const tool = toolsFor(caller).find((each) => each.name === name);
  if (!tool) return failed(unknownToolText(name, caller));
  try {
    const result = await tool.run(given, { api, caller, signal });
    return { structuredContent: result, content: [{ type: 'text', text: JSON.stringify(result) }] };
  } catch (error) {
    const text = errorText(error);
    if (text === null && !signal.aborted) log.error('unhandled error of an MCP tool', { tool: name, error });
    return failed(text ?? unexpectedError);
  }
}

const failed = (text: string): CallToolResult => ({ isError: true, content: [{ type: 'text', text }] });

function unknownToolText(name: string, caller: CallerKind): string {
  const names = toolsFor(caller).map((tool) => tool.name);
  const reason = allTools.some((tool) => tool.name === name)
    ? `The tool "${name}" needs the admin token; this connection has the key of an organization.`
    : `There is no tool "${name.slice(0, 100)}".`;
  return `${reason} Available: ${names.join(', ')}.`;
}

function handleResources(server: Server, deps: McpDeps): void {
  const orProtocolError = async <Result>(work: Promise<Result>): Promise<Result> => {
    try {
      return await work;
    } catch (error) {
      throw protocolError(error, deps);
    }
  };
  server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({
    resourceTemplates: resourceTemplates(deps.caller),
  }));
  server.setRequestHandler(ListResourcesRequestSchema, ({ params }, { signal }) =>
    orProtocolError(listResources({ ...deps, signal }, params?.cursor)),
  );
  server.setRequestHandler(ReadResourceRequestSchema, async ({ params }, { signal }) => ({
    contents: [await orProtocolError(readResource({ ...deps, signal }, params.uri))],
  }));
}

/** The protocol's own code for an unknown resource. */
const resourceNotFound = -32_002;

function protocolError(error: unknown, { log }: McpDeps): McpError {
  const text = errorText(error);
  if (text === null) log.error('unhandled error of an MCP resource', { cause: kindOf(error), error });
  const code = error instanceof HeadworksError ? error.code : '';
  if (code === 'NOT_FOUND') return new McpError(resourceNotFound, text ?? '');
  return new McpError(
    code === 'INPUT_INVALID' ? ErrorCode.InvalidParams : ErrorCode.InternalError,
    text ?? unexpectedError,
  );
}

export interface McpHttpRequest {
  /** Those that the protocol reads: accept, content-type, mcp-protocol-version. */
  readonly headers: Readonly<Record<string, string>>;
  /** Parsed JSON. */
  readonly body: unknown;
  readonly signal: AbortSignal;
}

export interface McpHttpResponse {
  readonly status: number;
  /** JSON; empty for messages without a response. */
  readonly body: string;
}

/** Messages have a few; the SDK and the schemas take up to 5 µs for each. */
const maxMembers = 20_000;

function hasTooManyMembers(body: unknown): boolean {
  let members = 0;
  const open: unknown[] = [body];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value !== 'object' || value === null) continue;
    const inner = Object.values(value);
    if (!Array.isArray(value) && (members += inner.length) > maxMembers) return true;
    for (const each of inner) open.push(each);
  }
  return false;
}

/**
 * The response to one message or batch. Stateless: any server may handle the next message. Fails with INPUT_INVALID for
 * more members of objects than any message has, and when the signal aborts.
 */
export async function handleHttp(
  deps: McpDeps,
  { headers, body, signal }: McpHttpRequest,
): Promise<McpHttpResponse> {
  if (hasTooManyMembers(body))
    throw new CoreError(
      'INPUT_INVALID',
      `The message has more than ${maxMembers.toLocaleString('en')} members of objects. Send large data as text.`,
    );
  const mcp = createMcpServer(deps);
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  await mcp.connect(transport);
  try {
    // The URL is ignored: host and origin were checked before.
    const request = new Request('http://headworks.invalid/mcp', { method: 'POST', headers });
    const response = await abortable(transport.handleRequest(request, { parsedBody: body ?? null }), signal);
    return { status: response.status, body: await response.text() };
  } finally {
    await mcp.close();
  }
}

export interface StdioStreams {
  readonly stdin: Readable;
  readonly stdout: Writable;
  /** A longer message ends the session. */
  readonly maxMessageBytes: number;
  /** Ends the session at once. */
  readonly signal: AbortSignal;
}

/** Resolves when the input has ended and every request before has its response, or when the signal aborts. */
export async function serveStdio(deps: McpDeps, streams: StdioStreams): Promise<void> {
  const { stdin, stdout, maxMessageBytes, signal } = streams;
  const mcp = createMcpServer(deps);
  const transport = new CountedTransport(stdin, stdout, { maxBufferSize: maxMessageBytes });
  const ended = Promise.withResolvers<void>();
  mcp.server.onclose = ended.resolve;
  mcp.server.onerror = (error) => deps.log.error('an MCP message could not be handled', { error });
  const removeListener = onAbort(signal, () => ended.resolve());
  for (const event of ['end', 'close'] as const)
    stdin.once(event, () => void transport.idle().then(ended.resolve));
  try {
    await mcp.connect(transport);
    await ended.promise;
  } finally {
    removeListener();
    await mcp.close();
  }
}

/** Counts requests without a response. */
class CountedTransport extends StdioServerTransport {
  readonly #pending = new Set<unknown>();
  #waiting: (() => void)[] = [];

  override async start(): Promise<void> {
    const pass = this.onmessage;
    this.onmessage = (message) => {
      if ('method' in message && 'id' in message) this.#pending.add(message.id);
      pass?.(message);
      // A canceled request gets no response.
      if ('method' in message && message.method === 'notifications/cancelled')
        this.#settle(message.params?.['requestId']);
    };
    await super.start();
  }

  override async send(message: JSONRPCMessage): Promise<void> {
    await super.send(message);
    if (!('method' in message)) this.#settle(message.id);
  }

  idle(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#settle(undefined);
    });
  }

  #settle(id: unknown): void {
    this.#pending.delete(id);
    if (this.#pending.size > 0) return;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
