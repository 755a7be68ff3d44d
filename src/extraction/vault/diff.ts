// Compares the items of two sessions, and the documents that a knowledge space has of a vault with the vault.
import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import { kindOf } from '../../core/index.ts';
import { canonicalJson, isLongNumber, parseJson } from './canonical-json.ts';
import { onFile } from './file.ts';
import type { ItemRecord, VaultReader } from './reader.ts';

export interface ItemChange {
  readonly type: string;
  readonly id: string;
  /** Current or last name of the item. */
  readonly name: string | null;
  readonly kind: 'added' | 'changed' | 'deleted';
  /** The differences of a changed item. */
  readonly fields: readonly FieldChange[];
  /** A version was pruned: the item changed, but the differences are unknown. */
  readonly isPruned: boolean;
}

/**
 * Compares the vault after session `from` with the vault after session `to` (numbers; 0 is the empty vault before the
 * first). An item that changed and changed back is omitted. In the order of types and ids.
 */
export function* diffSessions(reader: VaultReader, from: number, to: number): Generator<ItemChange> {
  const { db, path } = reader;
  const touched = db.prepare(
    `SELECT DISTINCT version.content_type AS number, type.name AS type, version.id, head.name
     FROM content_versions AS version JOIN content_types AS type ON type.number = version.content_type
     JOIN items AS head ON head.content_type = version.content_type AND head.id = version.id
     WHERE version.session > ? AND version.session <= ? ORDER BY version.content_type, version.id`,
  );
  const stateAfter = db.prepare(
    `SELECT data FROM content_versions WHERE content_type = ? AND id = ? AND session <= ?
     ORDER BY number DESC LIMIT 1`,
  );
  // A history that does not begin with version 1 has been pruned.
  const firstKept = db.prepare(
    'SELECT min(number) AS number FROM content_versions WHERE content_type = ? AND id = ?',
  );
  const rows = onFile(path, () => touched.all(Math.min(from, to), Math.max(from, to)));
  for (const row of rows) {
    const [number, type, id] = [Number(row['number']), String(row['type']), String(row['id'])];
    const [before = null, after = null] = onFile(path, () => {
      const hasLost = Number(firstKept.get(number, id)?.['number']) > 1;
      return [from, to].map((session): State => {
        const state = stateAfter.get(number, id, session);
        if (!state) return hasLost && session > 0 ? pruned : null;
        return state['data'] as string | null;
      });
    });
    const change = compare(before, after);
    if (change) yield { type, id, name: row['name'] as string | null, ...change };
  }
}

const pruned = Symbol('a pruned version');

/** JSON; null when there was no item. */
type State = string | null | typeof pruned;

function compare(before: State, after: State): Pick<ItemChange, 'kind' | 'fields' | 'isPruned'> | undefined {
  const isPruned = before === pruned || after === pruned;
  if (before === after && !isPruned) return undefined;
  if (before === null) return { kind: 'added', fields: [], isPruned };
  if (after === null) return { kind: 'deleted', fields: [], isPruned };
  if (before === pruned || after === pruned) return { kind: 'changed', fields: [], isPruned };
  const fields = compareJson(parseJson(before), parseJson(after));
  return fields.length === 0 ? undefined : { kind: 'changed', fields, isPruned };
}

export interface FieldChange {
  /** `query.fields[2]`; empty when the whole value has another type. */
  readonly path: string;
  readonly kind: 'added' | 'removed' | 'changed';
  /** Canonical JSON, truncated; null when missing. */
  readonly from: string | null;
  readonly to: string | null;
}

const maxValueLength = 200;

/** At most `limit` changes, in the order of sorted keys. */
export function compareJson(from: unknown, to: unknown, limit = 50): readonly FieldChange[] {
  const changes: FieldChange[] = [];
  for (const change of differences(from, to, '')) {
    changes.push(change);
    if (changes.length === limit) break;
  }
  return changes;
}

function* differences(from: unknown, to: unknown, path: string): Generator<FieldChange> {
  if (isContainer(from) && isContainer(to) && Array.isArray(from) === Array.isArray(to)) {
    const isList = Array.isArray(from);
    for (const key of keysOf(from, to)) {
      const at = isList ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`;
      if (!Object.hasOwn(from, key)) yield { path: at, kind: 'added', from: null, to: shown(to[key]) };
      else if (!Object.hasOwn(to, key)) yield { path: at, kind: 'removed', from: shown(from[key]), to: null };
      else yield* differences(from[key], to[key], at);
    }
  } else if (canonicalJson(from) !== canonicalJson(to)) {
    yield { path, kind: 'changed', from: shown(from), to: shown(to) };
  }
}

type Container = Readonly<Record<string, unknown>>;

const isContainer = (value: unknown): value is Container =>
  typeof value === 'object' && value !== null && !isLongNumber(value);

function keysOf(from: Container, to: Container): readonly string[] {
  const keys = new Set([...Object.keys(from), ...Object.keys(to)]);
  return Array.isArray(from) ? [...keys] : [...keys].sort();
}

function shown(value: unknown): string {
  const text = canonicalJson(value);
  return text.length <= maxValueLength ? text : `${text.slice(0, maxValueLength - 1)}…`;
}

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

/**
 * Only items of completed types count as gone: those that were deleted, and those that the vault never had after two
 * sessions of the whole type (T2).
 */
export function goneItems(reader: VaultReader, sourceIds: readonly string[]): GoneItems {
  const types = new Map(
    reader.types().flatMap((each) => (each.state === 'completed' ? [[each.type, each] as const] : [])),
  );
  const gone = sourceIds.filter((sourceId) => {
    const [type, id] = partsOf(sourceId);
    const known = types.get(type);
    if (!known) return false;
    const item = itemOf(reader, type, id);
    return item === null ? known.wholeSessions >= 2 : item.deletedAt !== null;
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
