// Asks before something is done that cannot be taken back.
import { UsageError } from './report-error.ts';
import type { CliSession } from './session.ts';

/** Asks on stderr and reads one line; only y or yes confirms. Fails with --json. */
export async function confirm({ io, out }: CliSession, question: string): Promise<boolean> {
  if (out.isJson) throw new UsageError('--json cannot ask for confirmation; use --force.');
  io.stderr.write(`${question} [y/N]: `);
  const answer = await io.readLine();
  // On a terminal the answer ends with a line break; piped input is not visible.
  if (!io.isTty.stdin) io.stderr.write('\n');
  return /^\s*y(es)?\s*$/i.test(answer);
}
