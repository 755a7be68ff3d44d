// Finds the vault that a command or a run means, and reads it as long as one request takes.
import { statSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { CoreError } from '../../core/index.ts';
import { checkDataFolder, vaultsFolder } from '../../platform/data-folder/files.ts';
import type { RunService } from '../runs/run-service.ts';
import { canonicalJson, parseJson } from './canonical-json.ts';
import type { DeadLetter, VaultReader } from './reader.ts';
import { openVaultReader } from './reader.ts';

export interface VaultChoice {
  /** As given with --vault; relative to `cwd`. */
  readonly file: string | undefined;
  readonly cwd: string;
  readonly dataFolder: string;
}

/**
 * The given file, or the only vault in the data folder. Fails with INPUT_INVALID when there is none, or more than one, and
 * with DATA_FOLDER_UNUSABLE.
 */
export async function chooseVault({ file, cwd, dataFolder }: VaultChoice): Promise<string> {
  if (file !== undefined) return resolve(cwd, file);
  await checkDataFolder(dataFolder);
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
  return reading(await chooseVault(choice), work);
}

async function reading<T>(path: string, work: (reader: VaultReader) => T | Promise<T>): Promise<T> {
  const reader = openVaultReader(path);
  try {
    return await work(reader);
  } finally {
    reader.close();
  }
}

const maxDeadLetters = 200;

export type VaultService = ReturnType<typeof openVaultService>;

/** All methods fail with NOT_FOUND when the run is unknown, or its vault is not on this machine. */
export function openVaultService(runs: Pick<RunService, 'get'>, dataFolder: string) {
  const read = async <T>(run: string, work: (reader: VaultReader) => T): Promise<T> =>
    reading(pathOf((await runs.get(run)).vault, dataFolder), work);
  return {
    /** Dead letters: one per failed page, newest first, at most 200. */
    summary: (run: string) =>
      read(run, (reader) => ({
        types: reader.types(),
        deadLetters: newestPerPage(reader.deadLetters(maxDeadLetters)),
      })),
    /** In the order of their ids. */
    items: (run: string, query: { readonly type: string; readonly after: string; readonly limit: number }) =>
      read(run, (reader) => reader.items(query.type, { ...query, withDeleted: true })),
    item: (run: string, type: string, id: string) =>
      read(run, (reader) => ({ item: reader.item(type, id), versions: reader.versions(type, id) })),
    /** JSON text, indented; null for a version that records a deletion. */
    data: (run: string, type: string, id: string, version: number | null) =>
      read(run, (reader) => {
        const text = reader.data(type, id, version ?? undefined);
        return text === null ? null : canonicalJson(parseJson(text), 2);
      }),
  };
}

/** As runs name it: a file in the data folder's vaults by its name, any other by its path. */
export function vaultName(path: string, dataFolder: string): string {
  return dirname(path) === resolve(vaultsFolder(dataFolder)) ? basename(path) : path;
}

/**
 * The opposite of `vaultName`. A path is taken unverified from the report of a command, so that file is not opened.
 */
function pathOf(vault: string, dataFolder: string): string {
  if (basename(vault) !== vault)
    throw new CoreError(
      'NOT_FOUND',
      `The vault ${vault} is outside the data folder; only vaults inside are read here. ` +
        `Inspect it on that machine: headworks vault list --vault ${vault}`,
    );
  const path = join(vaultsFolder(dataFolder), vault);
  if (statSync(path, { throwIfNoEntry: false })?.isFile()) return path;
  throw new CoreError(
    'NOT_FOUND',
    `The vault ${vault} is not on the machine of this server: nothing was written yet, or it was moved or deleted.`,
  );
}

/** Each session with a failed page has its own dead letter for it. */
function newestPerPage(letters: readonly DeadLetter[]): readonly DeadLetter[] {
  const pages = new Map<string, DeadLetter>();
  for (const letter of letters) {
    const page = JSON.stringify([letter.type, letter.pageKey]);
    if (!pages.has(page)) pages.set(page, letter);
  }
  return [...pages.values()];
}
