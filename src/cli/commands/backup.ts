// headworks backup, restore, migrate-store: copies of the whole state.
import { resolve } from 'node:path';
import { formatBytes } from '../../core/index.ts';
import type { CliCommand } from '../command.ts';
import { UsageError } from '../exit-codes.ts';
import { withProgress } from '../follow-job.ts';
import { counted } from '../output.ts';

export const commands = {
  backup: registerBackup,
  restore: registerRestore,
  'migrate-store': registerMigrateStore,
};

function registerBackup(command: CliCommand): void {
  command
    .argument(
      '<file>',
      'file to write, or a folder (created if it ends in /), in which the file is named by the time',
    )
    .option('--no-vaults', 'leave out vaults of extractions')
    .addHelpText(
      'after',
      '\nA server may run meanwhile. Included: all rows of the state store with jobs and uploads, vaults, and the secret' +
        '\nthat signs webhooks if it is in the data folder. Not included: admin token, settings, environment, Redis.' +
        '\nProtect the file like the store itself; only its owner may read it.',
    );
  command.examples([
    'headworks backup monday.backup',
    'headworks backup /var/backups/ --json',
    'headworks backup small.backup --no-vaults',
  ]);
  command.run<{ readonly vaults: boolean }>(async (session, { vaults }, [given = '']) => {
    const { out, io } = session;
    const { backupPath, saveBackup } = await import('../../operations/backup/save-backup.ts');
    const { requireStoreOrServer } = await import('../../app/client/data-folder.ts');
    const path = await backupPath(resolve(io.cwd, given), /[/\\]$/.test(given), new Date(io.clock.now()));
    await requireStoreOrServer(session.config(), io.signal);
    const saved = await session.withClient((client) =>
      withProgress(session, 'backing up', async (onProgress) =>
        // A download, not JSON, so not a call of `callApi`.
        saveBackup(
          await client.download('/api/v1/backup', { include_vaults: vaults }, io.signal),
          path,
          onProgress,
        ),
      ),
    );
    if (out.isJson) {
      const { hasWebhookSecret, ...rest } = saved;
      return out.json({ ...rest, webhook_secret: hasWebhookSecret });
    }
    out.line(
      `${saved.file}: ${counted(saved.rows, 'row')} of ${counted(saved.tables, 'table')}, ` +
        `${counted(saved.vaults.length, 'vault')}, ${formatBytes(saved.bytes)}.`,
    );
    if (saved.hasWebhookSecret) out.line('It contains the secret that signs webhooks: keep it safe.');
    out.line('Restore it with "headworks restore".');
  });
}

function registerRestore(command: CliCommand): void {
  command
    .argument('<file>', 'file that "headworks backup" wrote')
    .option('--replace', 'replace existing rows, and vaults of the same names', false)
    .addHelpText(
      'after',
      '\nRestores into the embedded store or the Postgres server of the configuration; no server or worker may run.' +
        '\nEvery table is compared with the backup; if anything fails, the store stays as it was.' +
        '\nA backup of an older version is migrated; one of a newer version is rejected.',
    );
  command.examples([
    'headworks restore monday.backup',
    'headworks restore monday.backup --replace',
    'DATABASE_URL=postgres://… headworks restore monday.backup --json',
  ]);
  command.run<{ readonly replace: boolean }>(async (session, { replace }, [given = '']) => {
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

interface MigrateStoreOptions {
  readonly to?: string;
  readonly replace: boolean;
}

function registerMigrateStore(command: CliCommand): void {
  command
    .option(
      '--to <url>',
      'URL of the database (postgres://…); set PGPASSWORD to keep the password out of the process list',
    )
    .option('--replace', 'replace existing tables in the target schema', false)
    .addHelpText(
      'after',
      '\nNo server may run. Every table is compared. The embedded store stays unchanged; vaults stay in the data folder.',
    );
  command.examples([
    'headworks migrate-store --to postgres://headworks@db.example.com/headworks',
    'PGPASSWORD=… headworks migrate-store --to postgres://headworks@db.example.com/headworks --json',
  ]);
  command.run<MigrateStoreOptions>(async (session, { to, replace }) => {
    const { out, io } = session;
    if (to === undefined || !/^postgres(ql)?:\/\//.test(to))
      throw new UsageError('Name the target with --to postgres://host/database.');
    session.redactor.add(to);
    const config = session.config();
    const { migrateStore } = await import('../../operations/backup/restore.ts');
    const report = await withProgress(session, 'migrating', (onProgress) =>
      migrateStore(config, { to, replace, onProgress, signal: io.signal }),
    );
    if (out.isJson) return out.json(report);
    out.line(
      `Copied ${counted(report.rows, 'row')} of ${counted(report.tables, 'table')} into the schema ${report.schema}; every table was compared.`,
    );
    out.line('Set DATABASE_URL to that address from now on, and start the server.');
    out.line('For several servers or workers set REDIS_URL as well: see docs/guide/operations.md.');
    for (const note of report.notes) out.line(note);
    out.line(
      `The embedded store in ${config.data.folder} is unchanged: delete its folder "state" when all works.`,
    );
  });
}
