// MCP on standard input and output, as a client of a server.
import type { CallerKind, StdioStreams } from '../mcp/index.ts';
import { serveStdio } from '../mcp/index.ts';
import { documentBodyBytes } from '../http/limits.ts';
import type { HeadworksClient } from './headworks-client.ts';
import { version } from './version.ts';

export interface McpSession extends Omit<StdioStreams, 'maxMessageBytes'> {
  /** Largest document that may be brought. */
  readonly maxDocumentBytes: number;
  /** Told, in a sentence, of what should not happen. */
  readonly complain: (sentence: string) => void;
}

/** Until the other side ends it. Fails at once when the credentials are not known to the server. */
export async function serveMcp(client: HeadworksClient, session: McpSession): Promise<void> {
  const { kind: caller } = await client.call<{ kind: CallerKind }>('GET', '/api/v1/caller', {
    signal: session.signal,
  });
  const log = {
    error: (message: string, fields?: { readonly error?: unknown }) =>
      session.complain(
        `${message}: ${fields?.error instanceof Error ? fields.error.message : 'no cause given'}`,
      ),
  };
  const streams = { ...session, maxMessageBytes: documentBodyBytes(session.maxDocumentBytes) };
  await serveStdio({ api: client, caller, version, log }, streams);
}
