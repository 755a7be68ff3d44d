// headworks migrate-store: copies the embedded store to a Postgres server.
import type { Command } from 'commander';
import type { CliContext } from '../command.ts';
import { action, examples } from '../command.ts';
import { withProgress } from '../follow-job.ts';
import { counted } from '../output.ts';
import { UsageError } from '../report-error.ts';

interface MigrateStoreOptions {
  readonly to?: string;
  readonly replace: boolean;
}

export function register(command: Command, context: CliContext): void {
  command
    .option(
      '--to <url>',
      'postgres://… of the database; set PGPASSWORD to keep the password out of the process list',
    )
    .option('--replace', 'replace existing tables in the target schema', false)
    .addHelpText(
      'after',
      '\nNo server may run. Every table is compared. The embedded store stays unchanged; vaults stay in the data folder.',
    );
  examples(command, [
    'headworks migrate-store --to postgres://headworks@db.example.com/headworks',
    'PGPASSWORD=… headworks migrate-store --to postgres://headworks@db.example.com/headworks --json',
  ]);
  action<MigrateStoreOptions>(context, command, async (session, { to, replace }) => {
    const { out, io } = session;
    if (to === undefined || !/^postgres(ql)?:\/\//.test(to))
      throw new UsageError(
        'name the target with --to postgres://host/database. See headworks migrate-store --help.',
      );
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
