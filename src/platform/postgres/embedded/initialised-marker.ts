// Tells files that lost something from files whose first setting up was cut short. PGlite writes PG_VERSION last and
// takes a folder without it for a new one: over a damaged store it would set up an empty one.
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { CoreError } from '../../../core/errors.ts';
import { folderUnusable } from '../../data-folder/data-folder-errors.ts';
import { writeWhole } from '../../data-folder/write-whole.ts';

const markerIn = (folder: string): string => join(folder, 'initialised');

/** Whether somebody has set up a store in this folder, whole or damaged. Touches nothing. */
export async function hasEmbeddedStore(folder: string): Promise<boolean> {
  return (await isThere(join(folder, 'PG_VERSION'))) || isThere(markerIn(folder));
}

/**
 * Whether opening this folder creates a new store. Writes nothing; fails with STATE_UNUSABLE when a store that was
 * once open has lost its PG_VERSION.
 */
export async function isNewStore(folder: string): Promise<boolean> {
  if (await isThere(join(folder, 'PG_VERSION'))) return false;
  if (!(await isThere(markerIn(folder)))) return true;
  throw new CoreError(
    'STATE_UNUSABLE',
    `The embedded store in ${folder} is damaged: its file PG_VERSION is missing. Restore the folder from a backup, or move it away to begin with an empty store.`,
    { details: { folder } },
  );
}

/** The store has been open: from now on a missing PG_VERSION is damage. */
export async function markInitialised(folder: string): Promise<void> {
  if (await isThere(markerIn(folder))) return;
  const text = 'Headworks has opened this store. Leave this file: it tells a damaged store from a new one.\n';
  await writeWhole(markerIn(folder), text).catch((error: unknown) => {
    throw folderUnusable(folder, error);
  });
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
