// headworks vault: what is in the file that extractions write. Needs no server.
import type { Command } from 'commander';
import type { CommandHost } from '../command-host.ts';
import { examples } from '../command-host.ts';
import { registerVaultDiff } from './vault-diff.ts';
import { registerVaultExport } from './vault-export.ts';
import { registerVaultList } from './vault-list.ts';
import { registerVaultPrune } from './vault-prune.ts';
import { registerVaultShow } from './vault-show.ts';
import { registerVaultVerify } from './vault-verify.ts';

export function registerVault(program: Command, host: CommandHost): void {
  const group = program.command('vault').description('look into the file that extractions write');
  examples(group, [
    'headworks vault list',
    'headworks vault verify --vault acme.vault',
    'headworks vault diff',
  ]);
  for (const register of [
    registerVaultList,
    registerVaultShow,
    registerVaultVerify,
    registerVaultDiff,
    registerVaultExport,
    registerVaultPrune,
  ])
    register(group, host);
}
