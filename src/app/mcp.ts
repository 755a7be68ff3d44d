// MCP on this server's own HTTP API: over HTTP with the caller's credentials, and on standard input and output.
import { callApi } from '../api/client.ts';
import { version } from '../config/version.ts';
import type { HttpTransport } from '../core/index.ts';
import { HeadworksError } from '../core/index.ts';
import type { ServerDeps } from '../http/index.ts';
import type { StdioStreams } from '../mcp/server.ts';
import { createUndiciTransport } from '../platform/http-client/undici-transport.ts';
import type { HeadworksClient } from './client/session.ts';
import { ServerSession } from './client/session.ts';
import type { Telemetry } from './telemetry.ts';

/** `urlOf` returns the server's address once it listens. */
export function openMcp(
  { log, tracer }: Pick<Telemetry, 'log' | 'tracer'>,
  urlOf: () => string,
): { readonly answer: ServerDeps['mcp']; close(): Promise<void> } {
  const bare = createUndiciTransport({});
  // Calls of a tool belong to the trace of the request that called the tool.
  const transport: HttpTransport = {
    request: (request) => bare.request({ ...request, headers: { ...request.headers, ...tracer.headers() } }),
    close: () => bare.close(),
  };
  return {
    answer: async ({ caller, credential, ...request }) => {
      // Imported on the first request: the MCP SDK takes 0.2 s and 30 MB, and most servers never receive one.
      const { handleHttp } = await import('../mcp/server.ts');
      const api = new ServerSession(urlOf(), credential, transport);
      return handleHttp({ api, caller, version, log }, request);
    },
    close: () => transport.close(),
  };
}

export interface McpSession extends Omit<StdioStreams, 'maxMessageBytes'> {
  readonly maxDocumentBytes: number;
  /** Receives unexpected errors, one sentence each. */
  readonly onUnexpected: (sentence: string) => void;
}

/** Runs until the peer closes the stream. Fails at once when the server rejects the credentials. */
export async function serveMcp(client: HeadworksClient, session: McpSession): Promise<void> {
  const { serveStdio } = await import('../mcp/server.ts');
  const { withoutHeader } = await import('../mcp/errors.ts');
  const { maxDocumentBodyBytes } = await import('../api/artifacts.ts');
  const { kind: caller } = await callApi(client, 'GET /api/v1/caller', { signal: session.signal }).catch(
    (error: unknown) => {
      throw namingVariables(error, withoutHeader);
    },
  );
  const log = {
    error: (message: string, fields?: { readonly error?: unknown }) =>
      session.onUnexpected(
        `${message}: ${fields?.error instanceof Error ? fields.error.message : 'no cause given'}`,
      ),
  };
  const streams = { ...session, maxMessageBytes: maxDocumentBodyBytes(session.maxDocumentBytes) };
  await serveStdio({ api: client, caller, version, log }, streams);
}

/** A stdio client sends no header: its credentials come from environment variables. */
function namingVariables(error: unknown, withoutHeader: (message: string) => string): unknown {
  if (!(error instanceof HeadworksError) || !['UNAUTHENTICATED', 'FORBIDDEN'].includes(error.code))
    return error;
  return new HeadworksError(
    error.code,
    `${withoutHeader(error.message)} Set HEADWORKS_API_KEY, or the variable that --key-env names, to a valid ` +
      'organization key, or HEADWORKS_ADMIN_TOKEN to the admin token.',
    { cause: error },
  );
}
