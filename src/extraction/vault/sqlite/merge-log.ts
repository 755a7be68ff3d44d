// Merges the write-ahead log into the file every 30 MB or so, while other threads go on writing.
//
// Left to SQLite, the thread whose commit makes the log too long merges it before its turn ends: 60 ms in which nobody
// writes, nearly half of the time that writing takes.
import type { DatabaseSync } from 'node:sqlite';
import { bytesSinceMerge, inTurn } from './write-turn.ts';

/** Of items; the log is a quarter larger. */
const mergeBytes = 24 * 1024 * 1024;
/** A page of small items changes more of the file than its bytes say. */
const mostPages = 64;
/** In pages of SQLite's: 80 MB. */
const longLog = 10_000;
const merge = 'PRAGMA wal_checkpoint(PASSIVE)';

/** To be called outside of a turn, after every page, with the bytes of its items. Fails as SQLite does. */
export function mergeLogWhenLong(db: DatabaseSync, turn: SharedArrayBuffer, pageBytes: number): void {
  const counter = bytesSinceMerge(turn);
  const counted = Math.max(pageBytes, mergeBytes / mostPages);
  const bytes = Atomics.add(counter, 0, counted) + counted;
  if (bytes < mergeBytes || Atomics.compareExchange(counter, 0, bytes, 0) !== bytes) return;
  const merged = db.prepare(merge).get();
  // It starts anew only when nobody added to it meanwhile, which must not be left to chance for ever.
  if (Number(merged?.['log']) > longLog) inTurn(turn, () => db.exec(merge));
}
