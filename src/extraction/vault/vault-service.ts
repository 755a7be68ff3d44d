// The vaults of runs, each open for reading as long as one request takes.
import { statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { CoreError } from '../../core/index.ts';
import { vaultsFolder } from '../../platform/data-folder/files.ts';
import type { RunService } from '../runs/run-service.ts';
import { canonicalJson, parseJson } from './canonical-json.ts';
import type { DeadLetter, VaultReader } from './reader.ts';
import { openVaultReader } from './reader.ts';

const maxDeadLetters = 200;

export type VaultService = ReturnType<typeof openVaultService>;

/** All methods fail with NOT_FOUND when the run is unknown, or its vault is not on this machine. */
export function openVaultService(runs: Pick<RunService, 'get'>, dataFolder: string) {
  const read = async <T>(run: string, work: (reader: VaultReader) => T): Promise<T> => {
    const { vault } = await runs.get(run);
    const reader = openVaultReader(pathOf(vault, dataFolder));
    try {
      return work(reader);
    } finally {
      reader.close();
    }
  };
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

/**
 * Runs name a file in the data folder's vaults by its name, any other by its path. A path comes unverified from the
 * report of a command, so that file is not opened.
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
