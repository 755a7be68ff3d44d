// Makes a folder and those above it, for this user only.
import { access, constants, mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { FolderName } from './data-folder-errors.ts';
import { folderUnusable } from './data-folder-errors.ts';

/** There, and ours to write in, when it resolves. Fails with DATA_FOLDER_UNUSABLE, in which it is called `name`. */
export async function makeFolder(path: string, name?: FolderName): Promise<void> {
  try {
    await makePath(path);
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw folderUnusable(path, error, name);
  }
}

/** Not Node's own `recursive`: in a place where nothing can be made, such as /proc, that one tries for ever. */
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
