// MCP over HTTP, one message at a time: nothing is kept between two requests, so any server may answer the next one.
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import { abortable } from '../core/index.ts';
import { createMcpServer } from './create-mcp-server.ts';
import type { McpDeps } from './ports.ts';

export interface McpHttpRequest {
  /** Those that the protocol reads: accept, content-type, mcp-protocol-version. */
  readonly headers: Readonly<Record<string, string>>;
  /** Parsed already. */
  readonly body: unknown;
  readonly signal: AbortSignal;
}

export interface McpHttpResponse {
  readonly status: number;
  /** JSON; empty for messages that want no answer. */
  readonly body: string;
}

/** The answer to one message (or one batch). Fails when the signal aborts. */
export async function answerHttp(parts: McpDeps, request: McpHttpRequest): Promise<McpHttpResponse> {
  const { headers, body, signal } = request;
  const mcp = createMcpServer(parts);
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  await mcp.connect(transport);
  try {
    // The address is never looked at: host and origin were checked before.
    const asked = new Request('http://headworks.invalid/mcp', { method: 'POST', headers });
    const answer = await abortable(transport.handleRequest(asked, { parsedBody: body ?? null }), signal);
    return { status: answer.status, body: await answer.text() };
  } finally {
    await mcp.close();
  }
}
