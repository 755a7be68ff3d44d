// headworks vault prune: deletes old versions of items, so that a vault does not grow for ever.
import type { Command } from 'commander';
import type { CommandHost } from '../command-host.ts';
import { act, examples } from '../command-host.ts';
import { counted } from '../counted.ts';
import { exitCodes } from '../exit-codes.ts';
import { wholeNumber } from '../number-argument.ts';
import { sizeText } from '../size-text.ts';
import { addVaultOption, answerOf, chosenVault, type VaultOption } from './vault-session.ts';

interface PruneOptions extends VaultOption {
  readonly olderThan: number;
  readonly keep: number;
  readonly compact?: boolean;
}

export function registerVaultPrune(group: Command, host: CommandHost): void {
  const command = addVaultOption(group.command('prune'))
    .description('delete old versions of items; what an item is now always stays')
    .requiredOption(
      '--older-than <days>',
      'versions that were replaced longer ago than this go',
      wholeNumber(0, 36_500),
    )
    .option(
      '--keep <count>',
      'but so many of each item stay, the newest included',
      wholeNumber(1, 1_000_000),
      1,
    )
    .option('--compact', 'make the file smaller too; takes as much room again while it works');
  examples(command, [
    'headworks vault prune --older-than 90',
    'headworks vault prune --older-than 365 --keep 3 --compact',
  ]);
  act<PruneOptions>(host, command, async (session, options) => {
    const { out, io } = session;
    const { path, tools } = await chosenVault(session, options);
    const { olderThan: olderThanDays, keep, compact = false } = options;
    const { clock, signal } = io;
    const report = await tools.pruneVault(path, { olderThanDays, keep }, { clock, signal, compact });
    if (out.isJson) out.json({ vault: path, ...answerOf(report) });
    else {
      out.line(`${path}: ${counted(report.versions, 'old version')} (${sizeText(report.bytes)}) deleted.`);
      if (report.versions > 0 && !compact)
        out.note('The file keeps its size and uses the room again; --compact makes it smaller.');
    }
    return exitCodes.ok;
  });
}
