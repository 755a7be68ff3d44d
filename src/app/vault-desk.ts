// Vaults of runs, opened for reading as long as one question takes.
import { existsSync } from 'node:fs';
import { basename, isAbsolute, join } from 'node:path';
import { CoreError } from '../core/index.ts';
import type { RunDesk } from '../extraction/index.ts';
import type { VaultReader } from '../extraction/vault/index.ts';
import { canonicalJson, openVaultReader, parseJson } from '../extraction/vault/index.ts';
import type { VaultDesk } from '../http/index.ts';
import { vaultsFolder } from './vault.ts';

const mostDeadLetters = 200;

export function openVaultDesk(runs: Pick<RunDesk, 'get'>, dataFolder: string): VaultDesk {
  const read = async <T>(run: string, work: (reader: VaultReader) => T): Promise<T> => {
    const { vault } = await runs.get(run);
    // As runs name it: a file in the data folder's vaults by its name, any other by its path.
    const path = isAbsolute(vault) ? vault : join(vaultsFolder(dataFolder), basename(vault));
    if (!existsSync(path))
      throw new CoreError('NOT_FOUND', `The vault ${vault} is not on the machine of this server (any more).`);
    const reader = openVaultReader(path);
    try {
      return work(reader);
    } finally {
      reader.close();
    }
  };
  return {
    summary: (run) =>
      read(run, (reader) => ({ types: reader.types(), deadLetters: reader.deadLetters(mostDeadLetters) })),
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
