// headworks restore: restores a backup into the configured store.
import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { CliContext } from '../command.ts';
import { action, examples } from '../command.ts';
import { withProgress } from '../follow-job.ts';
import { counted } from '../output.ts';

export function register(command: Command, context: CliContext): void {
  command
    .argument('<file>', 'file that "headworks backup" wrote')
    .option('--replace', 'replace existing rows, and vaults of the same names', false)
    .addHelpText(
      'after',
      '\nRestores into the embedded store or the Postgres server of the configuration; no server or worker may run.' +
        '\nEvery table is compared with the backup; if anything fails, the store stays as it was.' +
        '\nA backup of an older version is migrated; one of a newer version is rejected.',
    );
  examples(command, [
    'headworks restore monday.backup',
    'headworks restore monday.backup --replace',
    'DATABASE_URL=postgres://… headworks restore monday.backup --json',
  ]);
  action<{ readonly replace: boolean }>(context, command, async (session, { replace }, [given = '']) => {
    const { out, io } = session;
    const { restore } = await import('../../operations/backup/restore.ts');
    const file = resolve(io.cwd, given);
    const report = await withProgress(session, 'restoring', (onProgress) =>
      restore(session.config(), { file, replace, onProgress, signal: io.signal }),
    );
    if (out.isJson) {
      const { version, createdAt, store } = report.backup;
      return out.json({ ...report, backup: { version, created_at: createdAt, store } });
    }
    out.line(
      `Restored ${counted(report.rows, 'row')} of ${counted(report.tables, 'table')} and ` +
        `${counted(report.files, 'file')}, as of ${report.backup.createdAt}; every table was compared.`,
    );
    for (const note of report.notes) out.line(note);
  });
}
