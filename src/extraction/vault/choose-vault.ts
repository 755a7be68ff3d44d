// Which vault a command means.
import { readdir } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { CoreError } from '../../core/index.ts';
import { vaultsFolder } from '../../platform/data-folder/files.ts';
import type { VaultReader } from './reader.ts';
import { openVaultReader } from './reader.ts';

/** As runs name it: a file in the data folder's vaults by its name, any other by its path. */
export function vaultName(path: string, dataFolder: string): string {
  return dirname(path) === resolve(vaultsFolder(dataFolder)) ? basename(path) : path;
}

export interface VaultChoice {
  /** As given with --vault; relative to `cwd`. */
  readonly file: string | undefined;
  readonly cwd: string;
  readonly dataFolder: string;
}

/** The given file, or the only vault in the data folder. Fails with INPUT_INVALID when there is none, or more than one. */
export async function chooseVault({ file, cwd, dataFolder }: VaultChoice): Promise<string> {
  if (file !== undefined) return resolve(cwd, file);
  const folder = vaultsFolder(dataFolder);
  const names = (await readdir(folder).catch(() => [])).filter((name) => /\.(vault|db)$/.test(name)).sort();
  const [only, second] = names;
  if (only !== undefined && second === undefined) return join(folder, only);
  throw new CoreError(
    'INPUT_INVALID',
    only === undefined
      ? `There is no vault in ${folder}. Name one with --vault FILE, or create one with "headworks extract".`
      : `There are several vaults in ${folder} (${names.join(', ')}). Name one with --vault FILE.`,
  );
}

/** Runs `work` on a vault that is open for reading. */
export async function withVault<T>(
  choice: VaultChoice,
  work: (reader: VaultReader) => T | Promise<T>,
): Promise<T> {
  const reader = openVaultReader(await chooseVault(choice));
  try {
    return await work(reader);
  } finally {
    reader.close();
  }
}
