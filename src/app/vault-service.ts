// Vaults of runs, opened for reading as long as one question takes.
import { statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { CoreError } from '../core/index.ts';
import type { RunService } from '../extraction/index.ts';
import type { DeadLetter, VaultReader } from '../extraction/vault/index.ts';
import { canonicalJson, openVaultReader, parseJson } from '../extraction/vault/index.ts';
import type { VaultService } from '../http/index.ts';
import { vaultsFolder } from '../platform/data-folder/files.ts';

const mostDeadLetters = 200;

/**
 * Runs name a file in the data folder's vaults by its name, any other by its path. Of a path there is only the word of
 * whoever told of the run, so it is not opened: see docs/internals/decisions/0071.
 */
function pathOf(vault: string, dataFolder: string): string {
  if (basename(vault) !== vault)
    throw new CoreError(
      'NOT_FOUND',
      `The vault ${vault} is outside the data folder; only vaults inside are read here. ` +
        `Look at it on its machine: headworks vault list --vault ${vault}`,
    );
  const path = join(vaultsFolder(dataFolder), vault);
  if (statSync(path, { throwIfNoEntry: false })?.isFile()) return path;
  throw new CoreError(
    'NOT_FOUND',
    `The vault ${vault} is not on the machine of this server: nothing was written yet, or it was moved or deleted.`,
  );
}

/** Every session that missed a page has a letter of its own. */
function newestOfEach(letters: readonly DeadLetter[]): readonly DeadLetter[] {
  const pages = new Map<string, DeadLetter>();
  for (const letter of letters) {
    const page = JSON.stringify([letter.type, letter.pageKey]);
    if (!pages.has(page)) pages.set(page, letter);
  }
  return [...pages.values()];
}

export function openVaultService(runs: Pick<RunService, 'get'>, dataFolder: string): VaultService {
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
    summary: (run) =>
      read(run, (reader) => ({
        types: reader.types(),
        deadLetters: newestOfEach(reader.deadLetters(mostDeadLetters)),
      })),
    items: (run, { type, after, limit }) =>
      read(run, (reader) => reader.items(type, { limit, after, withDeleted: true })),
    item: (run, type, id) =>
      read(run, (reader) => ({ item: reader.item(type, id), versions: reader.versions(type, id) })),
    data: (run, type, id, version) =>
      read(run, (reader) => {
        const text = reader.data(type, id, version ?? undefined);
        return text === null ? null : canonicalJson(parseJson(text), 2);
      }),
  };
}
