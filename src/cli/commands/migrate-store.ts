// headworks migrate-store: from the embedded store to a Postgres server.
import type { Command } from 'commander';
import type { CommandHost } from '../command-host.ts';
import { act, examples } from '../command-host.ts';
import { exitCodes } from '../exit-codes.ts';
import { counted } from '../output.ts';
import { UsageError } from '../report-error.ts';
import { withProgress } from './restore.ts';

interface MigrateStoreOptions {
  readonly to?: string;
  readonly replace: boolean;
}

export function registerMigrateStore(program: Command, host: CommandHost): void {
  const command = program
    .command('migrate-store')
    .description('copy the embedded store to a Postgres server, every row compared; no server may run')
    .option('--to <url>', 'postgres://… of the database; PGPASSWORD keeps its password out of sight')
    .option('--replace', 'replace what is in the schema there', false)
    .addHelpText('after', '\nThe embedded store stays as it is. Vaults stay in the data folder.');
  examples(command, [
    'headworks migrate-store --to postgres://headworks@db.example.com/headworks',
    'PGPASSWORD=… headworks migrate-store --to postgres://headworks@db.example.com/headworks --json',
  ]);
  act<MigrateStoreOptions>(host, command, async (session, { to, replace }) => {
    const { out, io } = session;
    if (to === undefined || !/^postgres(ql)?:\/\//.test(to))
      throw new UsageError(
        'say where to with --to postgres://host/database. See headworks migrate-store --help.',
      );
    session.redactor.add(to);
    const config = session.config();
    const { migrateStore } = await import('../../operations/backup/restore.ts');
    const report = await withProgress(session, 'migrating', (onProgress) =>
      migrateStore(config, { to, replace, onProgress, signal: io.signal }),
    );
    if (out.isJson) {
      out.json(report);
      return exitCodes.ok;
    }
    out.line(
      `Copied ${counted(report.rows, 'row')} of ${counted(report.tables, 'table')} into the schema ${report.schema}; every table was compared.`,
    );
    out.line('Set DATABASE_URL to that address from now on, and start the server.');
    out.line('For several servers or workers set REDIS_URL as well: see docs/guide/operations.md.');
    for (const note of report.notes) out.line(note);
    out.line(
      `The embedded store in ${config.data.folder} is as it was: remove its folder "state" when all is well.`,
    );
    return exitCodes.ok;
  });
}
