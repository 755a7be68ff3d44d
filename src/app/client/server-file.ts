// `server.json` in the data folder: the address of the server that holds the folder.
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface ServerFile {
  readonly pid: number;
  readonly url: string;
  /** New for every start: distinguishes a running server from the file of a dead one. */
  readonly instance: string;
  readonly role: ServerRole;
  readonly version: string;
}

const pathIn = (folder: string): string => join(folder, 'server.json');

/** Null when the file does not exist or is invalid. It is only a hint: verify it with the server. */
export async function readServerFile(folder: string): Promise<ServerFile | null> {
  try {
    const file = JSON.parse(await readFile(pathIn(folder), 'utf8')) as Partial<ServerFile>;
    const isComplete = typeof file.url === 'string' && typeof file.instance === 'string';
    return isComplete && /^https?:$/.test(URL.parse(file.url ?? '')?.protocol ?? '')
      ? (file as ServerFile)
      : null;
  } catch {
    return null;
  }
}

/** Atomic: written to a temporary file and renamed. */
export async function writeServerFile(folder: string, file: ServerFile): Promise<void> {
  const draft = `${pathIn(folder)}.${file.pid}`;
  await writeFile(draft, `${JSON.stringify(file, null, 2)}\n`, { mode: 0o600 });
  await rename(draft, pathIn(folder));
}

/** Removes the file unless another server has replaced it. */
export async function removeServerFile(folder: string, instance: string): Promise<void> {
  if ((await readServerFile(folder))?.instance === instance) await rm(pathIn(folder), { force: true });
}

/**
 * `serve` and `demo` run until stopped. `command` is a command that became the server because none was running; it
 * hands over to `serve` on request. `worker` runs jobs only and holds no data folder.
 */
export type ServerRole = 'serve' | 'demo' | 'command' | 'worker';
