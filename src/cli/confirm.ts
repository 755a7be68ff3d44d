// Asks before something is done that cannot be taken back.
import { UsageError } from './report-error.ts';
import type { CliSession } from './session.ts';

/** Asks on stderr and reads one line; only y or yes means yes. With --json there is nobody to ask. */
export async function confirm({ io, out }: CliSession, question: string): Promise<boolean> {
  if (out.isJson) throw new UsageError('with --json nobody can be asked; say --force to do it anyway.');
  io.stderr.write(`${question} [y/N]: `);
  const answer = await io.readLine();
  // On a terminal whoever answers has ended the line; an answer from a pipe is not to be seen.
  if (!io.isTty.stdin) io.stderr.write('\n');
  return /^\s*y(es)?\s*$/i.test(answer);
}
