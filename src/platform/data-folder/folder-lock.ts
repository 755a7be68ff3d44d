// A lock on a folder that dies with its process, however it dies: the operating system's own file lock, which
// SQLite takes for us. So there is no stale lock to recognise, and no process id to guess about.
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { makeOwnFile } from './make-own-file.ts';

export interface FolderLock {
  release(): void;
}

const sqliteBusy = 5;

/** The lock, or `undefined` when another process (or this one) has it. Throws when the file cannot be written. */
export function lockFolder(folder: string): FolderLock | undefined {
  const file = join(folder, 'lock.sqlite');
  makeOwnFile(file);
  const database = new DatabaseSync(file, { timeout: 0 });
  try {
    database.exec('pragma locking_mode = exclusive; begin exclusive');
  } catch (error) {
    database.close();
    if ((error as { errcode?: unknown }).errcode === sqliteBusy) return undefined;
    throw error;
  }
  return { release: () => database.close() };
}
