// Compares the documents that a knowledge space has of a vault with the vault.
import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import { kindOf } from '../../core/index.ts';
import type { ItemRecord, VaultReader } from './reader.ts';

const maxSystemLength = 200;

/** The source system of a vault's documents. */
export const vaultNameOf = ({ path }: Pick<VaultReader, 'path'>): string =>
  `vault:${basename(path).replace(/\.(vault|db)$/, '')}`;

/**
 * For a space that already has items of another source under the vault's name: two instances may have vaults with the
 * same file name, and both a dashboard 1.
 */
export function nameWithSource(name: string, source: string): string {
  const whole = `${name} of ${source}`;
  if (whole.length <= maxSystemLength) return whole;
  const hash = createHash('sha256').update(source).digest('hex').slice(0, 16);
  return `${name.slice(0, maxSystemLength - hash.length - 4)} of ${hash}`;
}

export interface GoneItems {
  /** Source ids (`type/id`) of items that the source no longer has. */
  readonly gone: ReadonlySet<string>;
  /** Types without any item left, possibly for lack of permission. Their items are in `gone` as well. */
  readonly emptyTypes: readonly string[];
}

/** Only items of completed types count as gone, and of a type extracted in part only those that were deleted. */
export function goneItems(reader: VaultReader, sourceIds: readonly string[]): GoneItems {
  const types = new Map(
    reader.types().flatMap((each) => (each.status === 'completed' ? [[each.type, each] as const] : [])),
  );
  const gone = sourceIds.filter((sourceId) => {
    const [type, id] = partsOf(sourceId);
    const known = types.get(type);
    if (!known) return false;
    const item = itemOf(reader, type, id);
    return item === null ? known.scope === null : item.deletedAt !== null;
  });
  const touched = new Set(gone.map(typeOfItem));
  return {
    gone: new Set(gone),
    emptyTypes: [...touched].filter((type) => types.get(type)?.live === 0),
  };
}

export const typeOfItem = (sourceId: string): string => partsOf(sourceId)[0];

function partsOf(sourceId: string): readonly [string, string] {
  const at = sourceId.indexOf('/');
  return at < 0 ? [sourceId, ''] : [sourceId.slice(0, at), sourceId.slice(at + 1)];
}

function itemOf(reader: VaultReader, type: string, id: string): ItemRecord | null {
  try {
    return reader.item(type, id);
  } catch (error) {
    if (kindOf(error) === 'EXTRACTION_ITEM_UNKNOWN') return null;
    throw error;
  }
}
