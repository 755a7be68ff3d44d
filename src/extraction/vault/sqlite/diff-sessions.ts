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
  /** How the item was before, or after, is not kept any more: that it changed is known, but not how. */
  readonly isPruned: boolean;
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
  // Histories begin with 1: one that begins later has lost what came before.
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

const pruned = Symbol('a state that is not kept any more');

/** JSON; null when there was no such item. */
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
