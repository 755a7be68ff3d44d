// headworks restore: puts a backup into the store of this configuration.
import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { BackupProgress } from '../../operations/backup/save-backup.ts';
import type { CommandHost } from '../command-host.ts';
import { act, examples } from '../command-host.ts';
import { exitCodes } from '../exit-codes.ts';
import { startProgress } from '../follow-job.ts';
import { counted } from '../output.ts';
import type { CliSession } from '../session.ts';

export function registerRestore(program: Command, host: CommandHost): void {
  const command = program
    .command('restore')
    .argument('<file>', 'a file that "headworks backup" wrote')
    .description(
      'put a backup into the store of this configuration, embedded or server; no server or worker may run',
    )
    .option('--replace', 'replace what is there: all rows, and vaults of the same names', false)
    .addHelpText(
      'after',
      '\nAll rows are there afterwards, compared with the backup table by table, or the store is as it was.' +
        '\nA backup of an older version is brought up to date; one of a newer version is refused.',
    );
  examples(command, [
    'headworks restore monday.backup',
    'headworks restore monday.backup --replace',
    'DATABASE_URL=postgres://… headworks restore monday.backup --json',
  ]);
  act<{ readonly replace: boolean }>(host, command, async (session, { replace }, [given = '']) => {
    const { out, io } = session;
    const { restore } = await import('../../operations/backup/restore.ts');
    const file = resolve(io.cwd, given);
    const report = await withProgress(session, 'restoring', (onProgress) =>
      restore(session.config(), { file, replace, onProgress, signal: io.signal }),
    );
    if (out.isJson) {
      const { version, createdAt, store } = report.backup;
      out.json({ ...report, backup: { version, created_at: createdAt, store } });
      return exitCodes.ok;
    }
    out.line(
      `Restored ${counted(report.rows, 'row')} of ${counted(report.tables, 'table')} and ` +
        `${counted(report.files, 'file')}, as of ${report.backup.createdAt}; every table was compared.`,
    );
    for (const note of report.notes) out.line(note);
    return exitCodes.ok;
  });
}

/** Shows how far the rows are while `work` runs. */
export async function withProgress<T>(
  session: CliSession,
  title: string,
  work: (onProgress: (progress: BackupProgress) => void) => Promise<T>,
): Promise<T> {
  const progress = startProgress(session, title);
  try {
    return await work(({ done, total, at }) => progress.show({ done, total, message: at }));
  } finally {
    progress.end();
  }
}
