// The folder of all embedded data, locked by one process at a time.
import { readFile, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Clock } from '../../core/clock.ts';
import { CoreError } from '../../core/errors.ts';
import { systemClock } from '../../core/system.ts';
import type { Holder } from './files.ts';
import {
  createPrivateFile,
  folderBusy,
  folderNewer,
  folderUnusable,
  formatDamaged,
  makeFolder,
  writeFileAtomic,
} from './files.ts';

/** Raised when older versions can no longer read the folder. */
const currentFormat = 1;

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
  await hasFormat(folder);
  const lock = acquireLock(folder) ?? (await throwBusy(folder));
  const holder = { pid: process.pid, command, since: new Date(clock.now()).toISOString() };
  try {
    const isKnown = await hasFormat(folder);
    await writeHolder(folder, holder);
    if (!isKnown) await writeFormat(folder, version);
  } catch (error) {
    lock.release();
    throw error instanceof CoreError ? error : folderUnusable(folder, error);
  }
  return { path: folder, holder, release: releaseOnce(folder, lock) };
}

function acquireLock(folder: string): FolderLock | undefined {
  try {
    return lockFolder(folder);
  } catch (error) {
    throw folderUnusable(folder, error);
  }
}

async function throwBusy(folder: string): Promise<never> {
  throw folderBusy(folder, await readHolder(folder));
}

const formatFile = (folder: string): string => join(folder, 'format.json');

/** Whether the folder has a format. Fails with DATA_FOLDER_UNUSABLE when this version does not support it. */
async function hasFormat(folder: string): Promise<boolean> {
  const text = await readFile(formatFile(folder), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw folderUnusable(folder, error);
  });
  if (text === undefined) return false;
  const { format, writtenBy } = parseFormat(folder, text);
  if (format > currentFormat) throw folderNewer(folder, format, currentFormat, writtenBy);
  return true;
}

function parseFormat(folder: string, text: string): { format: number; writtenBy: string } {
  try {
    const { format, writtenBy } = JSON.parse(text) as { format?: unknown; writtenBy?: unknown };
    if (typeof format === 'number')
      return { format, writtenBy: typeof writtenBy === 'string' ? writtenBy : 'version unknown' };
  } catch {
    // Invalid JSON is the same as JSON without a format.
  }
  throw formatDamaged(folder);
}

/** Written once, with the version that created the folder. */
async function writeFormat(folder: string, version: string): Promise<void> {
  const text = `${JSON.stringify({ format: currentFormat, writtenBy: version }, null, 2)}\n`;
  await writeFileAtomic(formatFile(folder), text);
}

function releaseOnce(folder: string, lock: FolderLock): () => Promise<void> {
  let released: Promise<void> | undefined;
  return () => {
    released ??= removeHolder(folder).finally(() => lock.release());
    return released;
  };
}

export interface FolderLock {
  release(): void;
}

const sqliteBusy = 5;

/**
 * The lock, or `undefined` when a process has it. Throws when the file cannot be written. It is the operating system's
 * file lock, taken through SQLite, which ends with the process however it ends: there are no stale locks.
 */
export function lockFolder(folder: string): FolderLock | undefined {
  const file = join(folder, 'lock.sqlite');
  createPrivateFile(file);
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

const fileIn = (folder: string): string => join(folder, 'holder.json');

export async function writeHolder(folder: string, holder: Holder): Promise<void> {
  await writeFileAtomic(fileIn(folder), `${JSON.stringify(holder, null, 2)}\n`);
}

/** `undefined` if it is missing or malformed. */
export async function readHolder(folder: string): Promise<Holder | undefined> {
  try {
    const { pid, command, since } = JSON.parse(await readFile(fileIn(folder), 'utf8')) as Partial<Holder>;
    if (typeof pid !== 'number' || typeof command !== 'string' || typeof since !== 'string') return undefined;
    return { pid, command, since };
  } catch {
    return undefined;
  }
}

export async function removeHolder(folder: string): Promise<void> {
  await rm(fileIn(folder), { force: true });
}
