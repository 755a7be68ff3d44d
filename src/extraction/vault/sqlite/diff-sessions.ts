// What became of the items between two sessions.
import { compareJson, type FieldChange } from '../compare-json.ts';
import { parseJson } from '../canonical-json.ts';
import type { VaultReader } from './vault-reader.ts';
import { onFile } from './vault-file.ts';

export interface ItemChange {
  readonly type: string;
  readonly id: string;
  /** As it is called now, or was called last. */
  readonly name: string | null;
  readonly kind: 'added' | 'changed' | 'deleted';
  /** What is different, for a changed item. */
  readonly fields: readonly FieldChange[];
}

/**
 * Compares what the vault held after session `from` with what it held after session `to` (numbers; 0 is the empty
 * vault before the first). An item that changed and changed back is not mentioned. In the order of types and ids.
 */
export function* diffSessions(reader: VaultReader, from: number, to: number): Generator<ItemChange> {
  const { db, path } = reader;
  const touched = db.prepare(
    `SELECT DISTINCT version.content_type AS number, type.name AS type, version.id, head.name
     FROM content_versions AS version JOIN content_types AS type ON type.number = version.content_type
     JOIN item_heads AS head ON head.content_type = version.content_type AND head.id = version.id
     WHERE version.session > ? AND version.session <= ? ORDER BY version.content_type, version.id`,
  );
  const stateAfter = db.prepare(
    `SELECT data FROM content_versions WHERE content_type = ? AND id = ? AND session <= ?
     ORDER BY number DESC LIMIT 1`,
  );
  const rows = onFile(path, () => touched.all(Math.min(from, to), Math.max(from, to)));
  for (const row of rows) {
    const [number, type, id] = [Number(row['number']), String(row['type']), String(row['id'])];
    const [before, after] = onFile(path, () =>
      [from, to].map((session) => (stateAfter.get(number, id, session)?.['data'] ?? null) as string | null),
    );
    const change = compare(before ?? null, after ?? null);
    if (change) yield { type, id, name: row['name'] as string | null, ...change };
  }
}

function compare(
  before: string | null,
  after: string | null,
): Pick<ItemChange, 'kind' | 'fields'> | undefined {
  if (before === after) return undefined;
  if (before === null) return { kind: 'added', fields: [] };
  if (after === null) return { kind: 'deleted', fields: [] };
  const fields = compareJson(parseJson(before), parseJson(after));
  return fields.length === 0 ? undefined : { kind: 'changed', fields };
}
