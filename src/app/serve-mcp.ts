// MCP on standard input and output, as a client of a server.
import { version } from '../config/version.ts';
import { HeadworksError } from '../core/index.ts';
import { documentBodyBytes } from '../http/limits.ts';
import type { CallerKind, StdioStreams } from '../mcp/index.ts';
import { serveStdio, withoutHeader } from '../mcp/index.ts';
import type { HeadworksClient } from './headworks-client.ts';

export interface McpSession extends Omit<StdioStreams, 'maxMessageBytes'> {
  /** Largest document that may be brought. */
  readonly maxDocumentBytes: number;
  /** Told, in a sentence, of what should not happen. */
  readonly complain: (sentence: string) => void;
}

/** Until the other side ends it. Fails at once when the credentials are not known to the server. */
export async function serveMcp(client: HeadworksClient, session: McpSession): Promise<void> {
  const { kind: caller } = await client
    .call<{ kind: CallerKind }>('GET', '/api/v1/caller', { signal: session.signal })
    .catch((error: unknown) => {
      throw withVariables(error);
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

/** Whoever starts it sends no header: credentials come from variables. */
function withVariables(error: unknown): unknown {
  if (!(error instanceof HeadworksError) || !['UNAUTHENTICATED', 'FORBIDDEN'].includes(error.code))
    return error;
  return new HeadworksError(
    error.code,
    `${withoutHeader(error.message)} Put a key of an organization that works into HEADWORKS_API_KEY, or the variable that ` +
      '--key-env names, or the admin token into HEADWORKS_ADMIN_TOKEN.',
    { cause: error },
  );
}
