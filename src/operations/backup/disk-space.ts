// Scratch folders of backups and restores, and errors that explain a full disk.
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { CoreError, formatBytes, HeadworksError, shortageOf } from '../../core/index.ts';
import { hasSqlState } from '../../platform/postgres/index.ts';
import { freeBytes } from '../checks/machine.ts';

export interface FullDiskContext {
  readonly folder: string;
  readonly store: 'embedded' | 'server';
  /** The remedy, in whole sentences. */
  readonly advice: string;
}

/** Postgres writes its log in files of 16 MB: with less free space the embedded store crashes without a reason. */
const minFreeBytes = 32_000_000;

/** DATA_FOLDER_UNUSABLE or STATE_UNUSABLE when the cause is a full disk; otherwise the error itself. */
export async function explainFullDisk(
  failure: unknown,
  { folder, store, advice }: FullDiskContext,
  readFreeBytes: (folder: string) => Promise<number> = freeBytes,
): Promise<unknown> {
  const isFull = shortageOf(failure) === 'disk';
  if (store === 'server' && isFull && isStoreFailure(failure))
    return new CoreError('STATE_UNUSABLE', `The disk of the database server is full. ${advice}`, {
      cause: failure,
    });
  // Null where the system does not report it.
  const free = await readFreeBytes(folder).catch(() => null);
  const isOutOfSpace = store === 'embedded' && isLostStore(failure) && free !== null && free < minFreeBytes;
  if (!isFull && !isOutOfSpace) return failure;
  const room = free === null ? '' : `, ${formatBytes(free)} are free`;
  return new CoreError(
    'DATA_FOLDER_UNUSABLE',
    `The disk that the data folder ${folder} is on is full${room}. ${advice}`,
    { cause: failure },
  );
}

/** Whether Postgres failed, not a file on this machine. */
const isStoreFailure = (error: unknown): boolean =>
  hasSqlState(error, '53') || (error instanceof Error && hasSqlState(error.cause, '53'));

const isLostStore = (error: unknown): boolean =>
  error instanceof HeadworksError && (error.code === 'STATE_UNAVAILABLE' || error.code === 'STATE_UNUSABLE');

/** Long enough not to match a user's own folders. A worker does not hold the data folder, so it has its own prefix. */
const prefixes = {
  backup: 'unfinished-backup-',
  restore: 'unfinished-restore-',
  workerBackup: 'unfinished-worker-backup-',
} as const;

export type ScratchKind = keyof typeof prefixes;

/** Creates a folder that only its owner can access. The caller removes it. */
export function createScratch(dataFolder: string, kind: ScratchKind): Promise<string> {
  return mkdtemp(join(dataFolder, prefixes[kind]));
}

/**
 * Removes what killed processes left: copies of vaults, of the store, of the webhook secret. Call it while no other
 * process creates any: only the holder of the data folder creates those of `backup` and `restore`. Ignores failures.
 */
export async function removeStaleScratch(
  dataFolder: string,
  kinds: readonly ScratchKind[] = ['backup', 'restore'],
): Promise<void> {
  const entries = await readdir(dataFolder, { withFileTypes: true });
  for (const entry of entries)
    if (entry.isDirectory() && kinds.some((kind) => entry.name.startsWith(prefixes[kind])))
      await rm(join(dataFolder, entry.name), { recursive: true, force: true }).catch(() => undefined);
}
