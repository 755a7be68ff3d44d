// Folders for what is on its way into or out of a backup, and how those go whose process was killed.
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** Whole words, so that nobody's own files are taken for them. A worker does not hold the folder, and has its own. */
const prefixes = {
  backup: 'unfinished-backup-',
  restore: 'unfinished-restore-',
  workerBackup: 'unfinished-worker-backup-',
} as const;

export type ScratchKind = keyof typeof prefixes;

/** For its owner only. Removed by whoever made it. */
export function makeScratch(dataFolder: string, kind: ScratchKind): Promise<string> {
  return mkdtemp(join(dataFolder, prefixes[kind]));
}

/**
 * What killed processes left: copies of vaults, of the store, of the webhook secret. Call it while nobody else makes
 * any: those of `backup` and `restore` are made by the holder of the folder. What cannot be removed stays.
 */
export async function removeLeftovers(
  dataFolder: string,
  kinds: readonly ScratchKind[] = ['backup', 'restore'],
): Promise<void> {
  const entries = await readdir(dataFolder, { withFileTypes: true });
  for (const entry of entries)
    if (entry.isDirectory() && kinds.some((kind) => entry.name.startsWith(prefixes[kind])))
      await rm(join(dataFolder, entry.name), { recursive: true, force: true }).catch(() => undefined);
}
