// Writes one item into the vault: new, changed, unchanged, or seen before in this session.
//
// The state after a session does not depend on the order in which its pages were written. Of an item that is received
// twice, the one at the later position in the source's order is stored (at the same position: the one with the greater
// hash), and a session adds at most one version to it.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { ParsedItem } from '../types.ts';
import { isSameJson } from './canonical-json.ts';

export interface Observation {
  /** Numbers of the session and the type. */
  readonly session: number;
  readonly type: number;
  /** In the source's order. */
  readonly position: number;
  readonly at: number;
}

export type WriteOutcome = 'added' | 'changed' | 'unchanged';

interface Change {
  readonly outcome: WriteOutcome;
  /** How many rows of content_versions were added. */
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
  readonly isDeleted: boolean;
}

const added: Change = { outcome: 'added', versions: 1 };
const changed: Change = { outcome: 'changed', versions: 1 };
const unchanged: Change = { outcome: 'unchanged', versions: 0 };

export class ItemWriter {
  readonly #statements: ReturnType<typeof prepare>;

  constructor(db: DatabaseSync) {
    this.#statements = prepare(db);
  }

  /** Within a transaction of the caller. `isNew`: the vault had no such item. */
  write(item: ParsedItem, observation: Observation): Written {
    const head = this.#head(item.id, observation.type);
    if (!head) return { ...this.#add(item, observation, 1), isDuplicate: false, isNew: true };
    const isDuplicate = head.session === observation.session;
    return { ...this.#update(head, item, observation, isDuplicate), isDuplicate, isNew: false };
  }

  #update(head: Head, item: ParsedItem, observation: Observation, isDuplicate: boolean): Change {
    const { type, session, position, at } = observation;
    if (isDuplicate && !supersedes(item, observation, head)) return unchanged;
    if (!head.isDeleted && head.rawHash === item.rawHash) {
      this.#statements.touch.run(session, position, at, type, item.id);
      return unchanged;
    }
    // What this session wrote of the item is replaced, as if it was received for the first time.
    const deleted = isDuplicate ? this.#statements.deleteVersion.run(type, item.id, session).changes : 0;
    const { outcome, versions } = this.#addTo(item, observation);
    return { outcome, versions: versions - Number(deleted) };
  }

  /** Adds a version to those of earlier sessions, unless the newest has the same content. */
  #addTo(item: ParsedItem, observation: Observation): Change {
    const { type } = observation;
    const newest = this.#statements.newestVersion.get(type, item.id);
    if (!newest) return this.#add(item, observation, 1);
    const number = Number(newest['number']);
    // After a deletion.
    if (newest['hash'] === null) return this.#add(item, observation, number + 1);
    const data = this.#statements.data.get(type, item.id, number)?.['data'] as Uint8Array;
    if (isSameJson(data, item.raw)) {
      this.#putHead({ ...item, raw: data }, observation, number, newest['hash'] as bigint);
      return unchanged;
    }
    this.#add(item, observation, number + 1);
    return changed;
  }

  #add(item: ParsedItem, observation: Observation, version: number): Change {
    const { id, raw, rawHash } = item;
    const { type, session, at } = observation;
    this.#statements.insertVersion.run(type, id, version, session, at, raw.byteLength, rawHash, raw);
    this.#putHead(item, observation, version);
    return added;
  }

  #head(id: string, type: number): Head | undefined {
    const row = this.#statements.head.get(type, id);
    if (!row) return undefined;
    return {
      session: Number(row['session']),
      position: Number(row['position']),
      rawHash: row['raw_hash'] as bigint,
      isDeleted: row['deleted_at'] !== null,
    };
  }

  #putHead(item: ParsedItem, observation: Observation, version: number, hash = item.rawHash): void {
    const { id, name, owner, folder, createdAt, updatedAt, raw, rawHash } = item;
    const { type, session, position, at } = observation;
    const facts = [name, owner, folder, createdAt, updatedAt] as const;
    const rawCheck = hash === rawHash ? null : ~rawHash;
    const state = [at, session, position, raw.byteLength, hash, rawHash, rawCheck, version] as const;
    this.#statements.putHead.run(type, id, ...facts, ...state);
  }
}

function supersedes(item: ParsedItem, { position }: Observation, head: Head): boolean {
  return position === head.position ? item.rawHash > head.rawHash : position > head.position;
}

function prepare(db: DatabaseSync) {
  const ofItem = 'WHERE content_type = ? AND id = ?';
  const withBigInts = (statement: StatementSync): StatementSync => {
    statement.setReadBigInts(true);
    return statement;
  };
  return {
    head: withBigInts(db.prepare(`SELECT session, position, raw_hash, deleted_at FROM items ${ofItem}`)),
    touch: db.prepare(`UPDATE items SET session = ?, position = ?, synced_at = ? ${ofItem}`),
    putHead: db.prepare(
      `INSERT OR REPLACE INTO items
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
