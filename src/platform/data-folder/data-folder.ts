// The folder of all embedded data, locked by one process at a time.
import { readFile, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Clock } from '../../core/clock.ts';
import { CoreError } from '../../core/errors.ts';
import { systemClock } from '../../core/system.ts';
import type { Holder } from './files.ts';
import {
  checkDataFolder,
  createPrivateFile,
  currentFormat,
  folderBusy,
  folderUnusable,
  formatFile,
  makeFolder,
  writeJsonFile,
} from './files.ts';

export interface DataFolderOptions {
  /** Our version, for the message of an older one. */
  readonly version: string;
  /** The command that holds the folder, for the messages of others. No secrets. */
  readonly command?: string;
  readonly clock?: Clock;
}

export interface DataFolder {
  /** Absolute. */
  readonly path: string;
  readonly holder: Holder;
  /** Releases the lock. Safe to call twice. */
  release(): Promise<void>;
}

/** Fails with DATA_FOLDER_BUSY or DATA_FOLDER_UNUSABLE without changing anything in it. */
export async function openDataFolder(path: string, options: DataFolderOptions): Promise<DataFolder> {
  const folder = resolve(path);
  const { version, command = 'headworks', clock = systemClock } = options;
  await makeFolder(folder);
  // Checked before the lock, whose file would be the first change in the folder, and again under it.
  await checkDataFolder(folder);
  const lock = lockFolder(folder);
  if (!lock) throw folderBusy(folder, await readHolder(folder));
  const holder: Holder = { pid: process.pid, command, since: new Date(clock.now()).toISOString() };
  try {
    const isKnown = await checkDataFolder(folder);
    await writeJsonFile(holderFile(folder), holder);
    // Written once, with the version that created the folder.
    if (!isKnown) await writeJsonFile(formatFile(folder), { format: currentFormat, writtenBy: version });
  } catch (error) {
    lock.close();
    throw error instanceof CoreError ? error : folderUnusable(folder, error);
  }
  let released: Promise<void> | undefined;
  const release = () => {
    released ??= rm(holderFile(folder), { force: true }).finally(() => lock.close());
    return released;
  };
  return { path: folder, holder, release };
}

const sqliteBusy = 5;

/**
 * Undefined when a process has it. The lock is the operating system's file lock, taken through SQLite, which ends with
 * the process however it ends: there are no stale locks.
 */
function lockFolder(folder: string): DatabaseSync | undefined {
  const file = join(folder, 'lock.sqlite');
  createPrivateFile(file);
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(file, { timeout: 0 });
    database.exec('pragma locking_mode = exclusive; begin exclusive');
    return database;
  } catch (error) {
    database?.close();
    if ((error as { errcode?: unknown }).errcode === sqliteBusy) return undefined;
    throw folderUnusable(folder, error);
  }
}

const holderFile = (folder: string): string => join(folder, 'holder.json');

/** `undefined` if it is missing or malformed. */
export async function readHolder(folder: string): Promise<Holder | undefined> {
  try {
    const { pid, command, since } = JSON.parse(await readFile(holderFile(folder), 'utf8')) as Partial<Holder>;
    if (typeof pid !== 'number' || typeof command !== 'string' || typeof since !== 'string') return undefined;
    return { pid, command, since };
  } catch {
    return undefined;
  }
}
