// Takes hold of the folder in which everything embedded lives. One process at a time.
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Clock } from '../../core/clock.ts';
import { CoreError } from '../../core/errors.ts';
import { systemClock } from '../../core/system.ts';
import { folderBusy, folderNewer, folderUnusable, formatDamaged } from './data-folder-errors.ts';
import { lockFolder, type FolderLock } from './folder-lock.ts';
import { makeFolder } from './make-folder.ts';
import { readHolder, removeHolder, writeHolder, type Holder } from './holder.ts';
import { writeWhole } from './write-whole.ts';

/** Grows when a folder becomes unreadable for older versions. */
const ourFormat = 1;

export interface DataFolderOptions {
  /** Ours, for the message that an older version will show. */
  readonly version: string;
  /** What holds the folder, for the message that others will show. No secrets. */
  readonly command?: string;
  readonly clock?: Clock;
}

export interface DataFolder {
  /** Absolute. */
  readonly path: string;
  readonly holder: Holder;
  /** Lets go of the lock. Safe to call twice. */
  release(): Promise<void>;
}

/** Fails with DATA_FOLDER_BUSY or DATA_FOLDER_UNUSABLE, and then has changed nothing in it. */
export async function openDataFolder(path: string, options: DataFolderOptions): Promise<DataFolder> {
  const folder = resolve(path);
  const { version, command = 'headworks', clock = systemClock } = options;
  await makeFolder(folder);
  // Before the lock, whose file would be the first thing changed in it; and under it, for only then it stays so.
  await hasFormat(folder);
  const lock = takeLock(folder) ?? (await refuse(folder));
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

function takeLock(folder: string): FolderLock | undefined {
  try {
    return lockFolder(folder);
  } catch (error) {
    throw folderUnusable(folder, error);
  }
}

async function refuse(folder: string): Promise<never> {
  throw folderBusy(folder, await readHolder(folder));
}

const formatFile = (folder: string): string => join(folder, 'format.json');

/** Whether it says its format. Fails with DATA_FOLDER_UNUSABLE when that is none we know. */
async function hasFormat(folder: string): Promise<boolean> {
  const text = await readFile(formatFile(folder), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw folderUnusable(folder, error);
  });
  if (text === undefined) return false;
  const { format, writtenBy } = parseFormat(folder, text);
  if (format > ourFormat) throw folderNewer(folder, format, ourFormat, writtenBy);
  return true;
}

function parseFormat(folder: string, text: string): { format: number; writtenBy: string } {
  try {
    const { format, writtenBy } = JSON.parse(text) as { format?: unknown; writtenBy?: unknown };
    if (typeof format === 'number')
      return { format, writtenBy: typeof writtenBy === 'string' ? writtenBy : 'version unknown' };
  } catch {
    // Not JSON: the same as JSON without a format.
  }
  throw formatDamaged(folder);
}

/** Only the first time: the version that made the folder is what the format belongs to. */
async function writeFormat(folder: string, version: string): Promise<void> {
  const text = `${JSON.stringify({ format: ourFormat, writtenBy: version }, null, 2)}\n`;
  await writeWhole(formatFile(folder), text);
}

function releaseOnce(folder: string, lock: FolderLock): () => Promise<void> {
  let released: Promise<void> | undefined;
  return () => {
    released ??= removeHolder(folder).finally(() => lock.release());
    return released;
  };
}
