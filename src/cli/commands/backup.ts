// headworks backup: everything that a server keeps, in one file, while it runs.
import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { CommandHost } from '../command-host.ts';
import { act, examples } from '../command-host.ts';
import { exitCodes } from '../exit-codes.ts';
import { startProgress } from '../follow-job.ts';
import { counted, sizeText } from '../output.ts';

export function registerBackup(program: Command, host: CommandHost): void {
  const command = program
    .command('backup')
    .argument(
      '<file>',
      'file to write, or a folder (made if it ends in /) in which it gets a name with the time',
    )
    .description('write everything that the server keeps into one file; the server may run on')
    .option('--no-vaults', 'leave vaults of extractions out')
    .addHelpText(
      'after',
      '\nIn it: all rows of the state store with jobs and uploads, vaults, and the secret that webhooks are signed with' +
        '\nif it is kept in the data folder. Not in it: the admin token, settings and the environment, what is in Redis.' +
        '\nIt is as worth protecting as the store: only you may read the file.',
    );
  examples(command, [
    'headworks backup monday.backup',
    'headworks backup /var/backups/ --json',
    'headworks backup small.backup --no-vaults',
  ]);
  act<{ readonly vaults: boolean }>(host, command, async (session, { vaults }, [given = '']) => {
    const { out, io } = session;
    const { backupPath, saveBackup } = await import('../../operations/backup/save-backup.ts');
    const { requireStoreOrServer } = await import('../../app/client/data-folder.ts');
    const path = await backupPath(resolve(io.cwd, given), /[/\\]$/.test(given), new Date(io.clock.now()));
    await requireStoreOrServer(session.config(), io.signal);
    const saved = await session.withClient(async (client) => {
      const progress = startProgress(session, 'backing up');
      try {
        const bytes = await client.download('/api/v1/backup', { vaults }, io.signal);
        return await saveBackup(bytes, path, ({ done, total, at }) =>
          progress.show({ done, total, message: at }),
        );
      } finally {
        progress.end();
      }
    });
    if (out.isJson) {
      const { hasWebhookSecret, ...rest } = saved;
      out.json({ ...rest, webhook_secret: hasWebhookSecret });
      return exitCodes.ok;
    }
    out.line(
      `${saved.file}: ${counted(saved.rows, 'row')} of ${counted(saved.tables, 'table')}, ` +
        `${counted(saved.vaults.length, 'vault')}, ${sizeText(saved.bytes)}.`,
    );
    if (saved.hasWebhookSecret) out.line('It holds the secret that webhooks are signed with: keep it safe.');
    out.line('Put it back with "headworks restore".');
    return exitCodes.ok;
  });
}
