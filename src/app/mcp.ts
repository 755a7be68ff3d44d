// Plugs MCP in: models reach this server's own HTTP API, over HTTP, with their own credentials.
import { version } from '../config/version.ts';
import type { HttpTransport } from '../core/index.ts';
import type { McpDesk } from '../http/index.ts';
import { createUndiciTransport } from '../platform/http-client/index.ts';
import { ServerSession } from './server-session.ts';
import type { Telemetry } from './telemetry.ts';

/** `urlOf` tells where the server listens, once it does. */
export function openMcp(
  { log, tracer }: Pick<Telemetry, 'log' | 'tracer'>,
  urlOf: () => string,
): McpDesk & { close(): Promise<void> } {
  const bare = createUndiciTransport({});
  // What a tool asks for belongs to the trace of whoever called the tool.
  const transport: HttpTransport = {
    request: (wish) => bare.request({ ...wish, headers: { ...wish.headers, ...tracer.headers() } }),
    close: () => bare.close(),
  };
  return {
    answer: async ({ caller, credential, ...request }) => {
      // Imported on the first request: the MCP SDK takes 0.2 s and 30 MB, and most servers never receive one.
      const { answerHttp } = await import('../mcp/index.ts');
      const api = new ServerSession(urlOf(), credential, transport);
      return answerHttp({ api, caller, version, log }, request);
    },
    close: () => transport.close(),
  };
}
