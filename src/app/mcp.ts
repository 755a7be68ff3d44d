// Plugs MCP in: models reach this server's own HTTP API, over HTTP, with their own credentials.
import type { Log } from '../core/index.ts';
import type { McpDesk } from '../http/index.ts';
import { answerHttp } from '../mcp/index.ts';
import { createUndiciTransport } from '../platform/http-client/index.ts';
import { ServerSession } from './server-session.ts';
import { version } from './version.ts';

/** `urlOf` tells where the server listens, once it does. */
export function openMcp(log: Log, urlOf: () => string): McpDesk & { close(): Promise<void> } {
  const transport = createUndiciTransport({});
  return {
    answer: ({ caller, credential, ...request }) =>
      answerHttp({ api: new ServerSession(urlOf(), credential, transport), caller, version, log }, request),
    close: () => transport.close(),
  };
}
