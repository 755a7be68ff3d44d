// Tells a full disk from other failures, and says so with how much room there is.
import { statfs } from 'node:fs/promises';
import { CoreError, HeadworksError } from '../../core/index.ts';
import { hasSqlState } from '../../platform/postgres/index.ts';

export interface FullDiskParts {
  /** The data folder. */
  readonly folder: string;
  readonly store: 'embedded' | 'server';
  /** What to do, in whole sentences. */
  readonly advice: string;
}

/** Postgres writes its log in files of 16 MB: with less room than this the embedded store dies without saying why. */
const cannotWorkBytes = 32_000_000;

/** DATA_FOLDER_UNUSABLE or STATE_UNUSABLE when the cause is a full disk; anything else as it came. */
export async function explainFullDisk(
  error: unknown,
  parts: FullDiskParts,
  roomIn = freeBytes,
): Promise<unknown> {
  const { folder, store, advice } = parts;
  if (store === 'server' && causes(error).some(isFullStore))
    return new CoreError('STATE_UNUSABLE', `The disk of the database server is full. ${advice}`, {
      cause: error,
    });
  const free = await roomIn(folder);
  const isFull = causes(error).some((cause) => isFullFile(cause) || isFullStore(cause));
  const isStarved = store === 'embedded' && isLostStore(error) && free !== null && free < cannotWorkBytes;
  if (!isFull && !isStarved) return error;
  const room = free === null ? '' : `, ${Math.floor(free / 1_000_000)} MB are free`;
  return new CoreError(
    'DATA_FOLDER_UNUSABLE',
    `The disk that the data folder ${folder} is on is full${room}. ${advice}`,
    { cause: error },
  );
}

function causes(error: unknown): readonly unknown[] {
  const all: unknown[] = [];
  for (let at: unknown = error; at instanceof Error && !all.includes(at); at = at.cause) all.push(at);
  return all;
}

/** Of the file system, or of SQLite (13: full). */
function isFullFile(error: unknown): boolean {
  const { code, errcode } = error as { readonly code?: unknown; readonly errcode?: unknown };
  return (
    code === 'ENOSPC' ||
    code === 'EDQUOT' ||
    code === 'SQLITE_FULL' ||
    (typeof errcode === 'number' && (errcode & 0xff) === 13)
  );
}

/** 53100: disk_full. */
const isFullStore = (error: unknown): boolean => hasSqlState(error, '53100');

const isLostStore = (error: unknown): boolean =>
  error instanceof HeadworksError && (error.code === 'STATE_UNAVAILABLE' || error.code === 'STATE_UNUSABLE');

/** Null when nobody can tell. */
async function freeBytes(folder: string): Promise<number | null> {
  return statfs(folder).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => null,
  );
}
