// Files and folders of the data folder: names, and how they are created and written.
import { closeSync, openSync } from 'node:fs';
import { access, constants, mkdir, rename, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { FolderName } from './errors.ts';
import { folderUnusable } from './errors.ts';

/** The files of the embedded store. */
export const stateFolder = (dataFolder: string): string => join(dataFolder, 'state');

/** Default folder of extraction vaults. */
export const vaultsFolder = (dataFolder: string): string => join(dataFolder, 'vaults');

/** The secret from which webhook signing secrets are derived, where none is configured. */
export const webhookSecretPath = (dataFolder: string): string => join(dataFolder, 'webhook-secret');

/** Creates the folder and its parents for this user only. Fails with DATA_FOLDER_UNUSABLE; `name` is used in its message. */
export async function makeFolder(path: string, name?: FolderName): Promise<void> {
  try {
    await makePath(path);
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw folderUnusable(path, error, name);
  }
}

/** Not Node's `recursive`, which loops forever where nothing can be created, such as in /proc. */
async function makePath(path: string): Promise<void> {
  try {
    await makeOne(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || dirname(path) === path) throw error;
    await makePath(dirname(path));
    await makeOne(path);
  }
}

async function makeOne(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    const exists = (error as NodeJS.ErrnoException).code === 'EEXIST';
    if (!exists || !(await stat(path)).isDirectory()) throw error;
  }
}

/**
 * Creates an empty file that only its owner can read, before SQLite creates one that everybody can. An existing file is
 * not even opened: closing it would drop every lock of this process on it. Never fails: SQLite then reports the error.
 */
export function createPrivateFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch {
    // See above.
  }
}

/** Replaces a file atomically. Only one process at a time may write the same file. */
export async function writeFileAtomic(path: string, text: string): Promise<void> {
  const temporary = `${path}.new`;
  await writeFile(temporary, text, { mode: 0o600, flush: true });
  await rename(temporary, path);
}
