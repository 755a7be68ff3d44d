// headworks mcp: runs an MCP server on standard input and output.
import { linkSignals } from '../../core/index.ts';
import type { CliCommand } from '../command.ts';
import { interruptExitCode } from '../command.ts';
import type { ExitCode } from '../exit-codes.ts';
import { UsageError } from '../exit-codes.ts';
import type { CliSession } from '../session.ts';

interface McpOptions {
  readonly keyEnv?: string;
}

export function register(command: CliCommand): void {
  command
    .addHelpText('after', '\nFor Claude Desktop and other clients: see docs/guide/mcp.md.')
    .option(
      '--key-env <name>',
      'variable that holds the key of an organization (default: HEADWORKS_API_KEY; without a key: admin access)',
    );
  command.examples([
    'headworks mcp --data-dir /srv/headworks',
    'HEADWORKS_API_KEY=hwo_… headworks mcp --server https://headworks.example.com',
    'headworks mcp --key-env ACME_KEY',
  ]);
  command.run<McpOptions>(serve);
}

async function serve(session: CliSession, options: McpOptions): Promise<ExitCode> {
  const { io, out } = session;
  const key = keyOf(session, options);
  if (io.isTty.stdin)
    out.note(
      'This is an MCP server for programs: configure a client to start it (docs/guide/mcp.md). Ctrl-D ends it.',
    );
  const { serveMcp } = await import('../../app/mcp.ts');
  // The client closed its end: the session is over.
  const over = linkSignals(io.signal, io.outputClosed);
  try {
    await session.withClient(
      (client) =>
        serveMcp(client, {
          stdin: io.stdin,
          stdout: io.stdout,
          signal: over.signal,
          maxDocumentBytes: session.config().knowledge.maxDocumentBytes,
          onUnexpected: (sentence) => io.stderr.write(`headworks: ${session.redactor.text(sentence)}\n`),
        }),
      { key },
    );
  } finally {
    over.dispose();
  }
  return interruptExitCode(io.signal);
}

/** The key for calls; undefined: as the admin. */
function keyOf(session: CliSession, { keyEnv }: McpOptions): string | undefined {
  // An empty variable must not mean admin access.
  if (keyEnv === undefined && session.io.env['HEADWORKS_API_KEY']?.trim() === '')
    throw new UsageError(
      'HEADWORKS_API_KEY is set, but empty. Set it to the key of an organization, or unset it for admin access.',
    );
  if (keyEnv === undefined) return session.config().client.apiKey ?? undefined;
  const key = session.io.env[keyEnv];
  if (key === undefined || key === '')
    throw new UsageError(
      `--key-env names ${keyEnv}, but that variable is not set. Set it to the key of an organization.`,
    );
  session.redactor.add(key);
  return key;
}
