// An empty file that only its owner may read, before SQLite makes one that all may.
import { closeSync, openSync } from 'node:fs';

/**
 * A file that is there stays as it is, and is not even opened: closing it would drop every lock that this process has
 * on it. Never fails: what cannot be made here, SQLite cannot open either, and tells in its own words.
 */
export function makeOwnFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch {
    // See above.
  }
}
