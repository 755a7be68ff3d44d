// headworks vault export: a folder of one JSON file per item, fit for git.
import type { Command } from 'commander';
import { resolve } from 'node:path';
import type { CommandHost } from '../command-host.ts';
import { act, examples } from '../command-host.ts';
import { counted } from '../counted.ts';
import { exitCodes } from '../exit-codes.ts';
import { addVaultOption, answerOf, readVault, type VaultOption } from './vault-session.ts';

export function registerVaultExport(group: Command, host: CommandHost): void {
  const command = addVaultOption(group.command('export').argument('<folder>')).description(
    'write one JSON file per item; only what changed is written, what is gone is removed',
  );
  examples(command, [
    'headworks vault export backup',
    'headworks vault export backup --vault acme.vault && git -C backup add --all',
  ]);
  act<VaultOption>(host, command, async (session, options, [given = '']) => {
    const { out, io } = session;
    const folder = resolve(io.cwd, given);
    await readVault(session, options, async (reader, { exportVault }) => {
      const report = await exportVault(reader, folder, io.signal);
      const open = reader.types().filter(({ status }) => status !== 'completed');
      if (out.isJson)
        return out.json({ folder, ...answerOf(report), incomplete: open.map(({ type }) => type) });
      const { written, unchanged, removed } = report;
      out.line(`${folder}: ${counted(written, 'file')} written, ${unchanged} unchanged, ${removed} removed.`);
      if (open.length > 0)
        out.note(
          `Not complete in the vault: ${open.map(({ type }) => type).join(', ')}. See "headworks vault verify".`,
        );
    });
    return exitCodes.ok;
  });
}
