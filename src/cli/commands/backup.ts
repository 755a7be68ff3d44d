// headworks backup: writes a backup of the whole server into one file.
import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { CliContext } from '../command.ts';
import { action, examples } from '../command.ts';
import { withProgress } from '../follow-job.ts';
import { counted, sizeText } from '../output.ts';

export function register(command: Command, context: CliContext): void {
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
  examples(command, [
    'headworks backup monday.backup',
    'headworks backup /var/backups/ --json',
    'headworks backup small.backup --no-vaults',
  ]);
  action<{ readonly vaults: boolean }>(context, command, async (session, { vaults }, [given = '']) => {
    const { out, io } = session;
    const { backupPath, saveBackup } = await import('../../operations/backup/save-backup.ts');
    const { requireStoreOrServer } = await import('../../app/client/data-folder.ts');
    const path = await backupPath(resolve(io.cwd, given), /[/\\]$/.test(given), new Date(io.clock.now()));
    await requireStoreOrServer(session.config(), io.signal);
    const saved = await session.withClient((client) =>
      withProgress(session, 'backing up', async (onProgress) =>
        saveBackup(await client.download('/api/v1/backup', { vaults }, io.signal), path, onProgress),
      ),
    );
    if (out.isJson) {
      const { hasWebhookSecret, ...rest } = saved;
      return out.json({ ...rest, webhook_secret: hasWebhookSecret });
    }
    out.line(
      `${saved.file}: ${counted(saved.rows, 'row')} of ${counted(saved.tables, 'table')}, ` +
        `${counted(saved.vaults.length, 'vault')}, ${sizeText(saved.bytes)}.`,
    );
    if (saved.hasWebhookSecret) out.line('It contains the secret that signs webhooks: keep it safe.');
    out.line('Restore it with "headworks restore".');
  });
}
