// Writes one item into the vault: new, changed, unchanged, or seen before in this session.
//
// The state after a session does not depend on the order in which its pages were written. An item that comes twice
// is kept as it stood further back in the source's order (at the same place: the one with the greater hash), and a
// session adds at most one version to it.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { isSameJson } from '../canonical-json.ts';
import type { ParsedItem } from '../../ports.ts';

export interface Sighting {
  /** Numbers of the session and the type. */
  readonly session: number;
  readonly type: number;
  /** Where in the source's order. */
  readonly position: number;
  readonly at: number;
}

export type ItemFate = 'added' | 'changed' | 'unchanged';

interface Change {
  readonly fate: ItemFate;
  /** How many rows of content_versions there are more than before. */
  readonly versions: number;
}

interface Written extends Change {
  /** The session had seen it before. */
  readonly isDuplicate: boolean;
  readonly isNew: boolean;
}

interface Head {
  readonly session: number;
  readonly position: number;
  readonly rawHash: bigint;
  readonly version: number;
  readonly isDeleted: boolean;
}

const added: Change = { fate: 'added', versions: 1 };
const changed: Change = { fate: 'changed', versions: 1 };
const unchanged: Change = { fate: 'unchanged', versions: 0 };

export class ItemWriter {
  readonly #statements: ReturnType<typeof prepare>;

  constructor(db: DatabaseSync) {
    this.#statements = prepare(db);
  }

  /** Within a transaction of the caller's. `isNew`: the vault never had such an item. */
  write(item: ParsedItem, sighting: Sighting): Written {
    const head = this.#head(item.id, sighting.type);
    if (!head) return { ...this.#add(item, sighting, 1), isDuplicate: false, isNew: true };
    const isDuplicate = head.session === sighting.session;
    if (!isDuplicate) return { ...this.#update(head, item, sighting), isDuplicate, isNew: false };
    const change = outranks(item, sighting, head) ? this.#replace(head, item, sighting) : unchanged;
    return { ...change, isDuplicate, isNew: false };
  }

  #add(item: ParsedItem, sighting: Sighting, version: number): Change {
    this.#putVersion(item, sighting, version);
    return added;
  }

  #putVersion(item: ParsedItem, sighting: Sighting, version: number): void {
    const { id, raw, rawHash } = item;
    const { type, session, at } = sighting;
    this.#statements.insertVersion.run(type, id, version, session, at, raw.byteLength, rawHash, raw);
    this.#putHead(item, sighting, version);
  }

  /** `head` is what earlier sessions left. */
  #update(head: Head, item: ParsedItem, sighting: Sighting): Change {
    const { type, session, position, at } = sighting;
    if (head.isDeleted) return this.#add(item, sighting, this.#newestVersion(item.id, type) + 1);
    if (head.rawHash === item.rawHash) {
      this.#statements.touch.run(session, position, at, type, item.id);
      return unchanged;
    }
    if (isSameJson(this.#data(item.id, type, head.version), item.raw)) {
      this.#statements.touchRaw.run(session, position, at, item.rawHash, type, item.id);
      return unchanged;
    }
    this.#putVersion(item, sighting, this.#newestVersion(item.id, type) + 1);
    return changed;
  }

  /** Takes back what this session wrote of the item, then writes it as if it came for the first time. */
  #replace(head: Head, item: ParsedItem, sighting: Sighting): Change {
    const { type, session, position, at } = sighting;
    if (head.rawHash === item.rawHash) {
      this.#statements.touch.run(session, position, at, type, item.id);
      return unchanged;
    }
    const takenBack = Number(this.#statements.deleteVersion.run(type, item.id, session).changes);
    const { fate, versions } = this.#rewrite(item, sighting);
    return { fate, versions: versions - takenBack };
  }

  #rewrite(item: ParsedItem, sighting: Sighting): Change {
    const { type } = sighting;
    const before = this.#statements.newestVersion.get(type, item.id);
    if (!before) return this.#add(item, sighting, 1);
    const number = Number(before['number']);
    if (before['hash'] === null) return this.#add(item, sighting, number + 1);
    const data = this.#data(item.id, type, number);
    if (isSameJson(data, item.raw)) {
      this.#putHead({ ...item, raw: data }, sighting, number, before['hash'] as bigint);
      return unchanged;
    }
    this.#putVersion(item, sighting, number + 1);
    return changed;
  }

  #head(id: string, type: number): Head | undefined {
    const row = this.#statements.head.get(type, id);
    if (!row) return undefined;
    return {
      session: Number(row['session']),
      position: Number(row['position']),
      rawHash: row['raw_hash'] as bigint,
      version: Number(row['version']),
      isDeleted: row['deleted_at'] !== null,
    };
  }

  #newestVersion(id: string, type: number): number {
    return Number(this.#statements.newestVersion.get(type, id)?.['number'] ?? 0);
  }

  #data(id: string, type: number, version: number): Uint8Array {
    return this.#statements.data.get(type, id, version)?.['data'] as Uint8Array;
  }

  #putHead(item: ParsedItem, sighting: Sighting, version: number, hash = item.rawHash): void {
    const { id, name, owner, folder, createdAt, updatedAt, raw, rawHash } = item;
    const { type, session, position, at } = sighting;
    const facts = [name, owner, folder, createdAt, updatedAt] as const;
    const rawCheck = hash === rawHash ? null : ~rawHash;
    const state = [at, session, position, raw.byteLength, hash, rawHash, rawCheck, version] as const;
    this.#statements.putHead.run(type, id, ...facts, ...state);
  }
}

function outranks(item: ParsedItem, { position }: Sighting, head: Head): boolean {
  return position === head.position ? item.rawHash > head.rawHash : position > head.position;
}

function prepare(db: DatabaseSync) {
  const ofItem = 'WHERE content_type = ? AND id = ?';
  const withBigInts = (statement: StatementSync): StatementSync => {
    statement.setReadBigInts(true);
    return statement;
  };
  return {
    head: withBigInts(
      db.prepare(`SELECT session, position, raw_hash, version, deleted_at FROM item_heads ${ofItem}`),
    ),
    touch: db.prepare(`UPDATE item_heads SET session = ?, position = ?, synced_at = ? ${ofItem}`),
    touchRaw: db.prepare(
      `UPDATE item_heads SET session = ?1, position = ?2, synced_at = ?3, raw_hash = ?4, 
         raw_check = CASE WHEN hash = ?4 THEN NULL ELSE ~?4 END
       WHERE content_type = ?5 AND id = ?6`,
    ),
    putHead: db.prepare(
      `INSERT OR REPLACE INTO item_heads
         (content_type, id, name, owner, folder, created_at, updated_at, synced_at, session, position, size, hash,
          raw_hash, raw_check, version)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    // The bytes are JSON in UTF-8: a cast makes them text without passing through a JavaScript string.
    insertVersion: db.prepare(
      `INSERT INTO content_versions (content_type, id, number, session, first_seen_at, size, hash, data)
       VALUES (?, ?, ?, ?, ?, ?, ?, CAST(? AS TEXT))`,
    ),
    deleteVersion: db.prepare(`DELETE FROM content_versions ${ofItem} AND session = ?`),
    newestVersion: withBigInts(
      db.prepare(`SELECT number, hash FROM content_versions ${ofItem} ORDER BY number DESC LIMIT 1`),
    ),
    data: db.prepare(`SELECT CAST(data AS BLOB) AS data FROM content_versions ${ofItem} AND number = ?`),
  };
}
