// `server.json` in the data folder: where the server that holds it can be reached.
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ServerRole } from './server-role.ts';

export interface ServerFile {
  readonly pid: number;
  readonly url: string;
  /** Changes with every start: tells a live server from a file left behind by a dead one. */
  readonly instance: string;
  readonly role: ServerRole;
  readonly version: string;
}

const pathIn = (folder: string): string => join(folder, 'server.json');

/** What the file says, or `null` if there is none or it makes no sense (it is only a hint: ask the server). */
export async function readServerFile(folder: string): Promise<ServerFile | null> {
  try {
    const file = JSON.parse(await readFile(pathIn(folder), 'utf8')) as Partial<ServerFile>;
    const isWhole = typeof file.url === 'string' && typeof file.instance === 'string';
    return isWhole && /^https?:$/.test(URL.parse(file.url ?? '')?.protocol ?? '')
      ? (file as ServerFile)
      : null;
  } catch {
    return null;
  }
}

/** Written beside and renamed, so that a reader never sees half a file. */
export async function writeServerFile(folder: string, file: ServerFile): Promise<void> {
  const draft = `${pathIn(folder)}.${file.pid}`;
  await writeFile(draft, `${JSON.stringify(file, null, 2)}\n`, { mode: 0o600 });
  await rename(draft, pathIn(folder));
}

/** Removes the file if it is still ours. */
export async function removeServerFile(folder: string, instance: string): Promise<void> {
  if ((await readServerFile(folder))?.instance === instance) await rm(pathIn(folder), { force: true });
}
