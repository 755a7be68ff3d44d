// The demo's own data folder: how it is known to be the demo's, what it remembers between starts, how it is deleted.
import { readFile, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { version } from '../../config/version.ts';
import { CoreError } from '../../core/index.ts';
import { openDataFolder } from '../../platform/data-folder/index.ts';
import { makeFolder, writeFileAtomic } from '../../platform/data-folder/files.ts';

/** What the next start has to know, and cannot ask the server for. */
export interface DemoMemory {
  /** Where the simulators listened: registered sources and models name them. 0 at first. */
  readonly ports: { readonly looker: number; readonly models: number };
  /** Chapters that came to their end. */
  readonly done: readonly string[];
  /** An organization's key is shown once, when it is made; by organization. */
  readonly keys: Readonly<Record<string, string>>;
}

const nothing: DemoMemory = { ports: { looker: 0, models: 0 }, done: [], keys: {} };
const mark = 'headworks demo';
const fileIn = (folder: string): string => join(folder, 'demo.json');

/** What the folder remembers; makes it the demo's if there is nothing in it. Fails with DATA_FOLDER_UNUSABLE. */
export async function openDemoMemory(folder: string): Promise<DemoMemory> {
  const known = await readMemory(folder);
  if (known) return known;
  const entries = await readdir(folder).catch(() => []);
  if (entries.length > 0) throw notTheDemos(folder, 'so the demo does not write into it');
  await makeFolder(folder);
  await writeMemory(folder, nothing);
  return nothing;
}

export async function writeMemory(folder: string, memory: DemoMemory): Promise<void> {
  await writeFileAtomic(fileIn(folder), `${JSON.stringify({ what: mark, ...memory }, null, 2)}\n`);
}

/**
 * Deletes the folder with everything in it, if it is the demo's. Fails with DATA_FOLDER_BUSY while a demo runs on it,
 * and with DATA_FOLDER_UNUSABLE when it is not the demo's. False when there was none.
 */
export async function deleteDemoFolder(folder: string): Promise<boolean> {
  if (!(await readMemory(folder))) {
    const entries = await readdir(folder).catch(() => []);
    if (entries.length === 0) return false;
    throw notTheDemos(folder, 'so it is not deleted');
  }
  const held = await openDataFolder(folder, { version, command: 'headworks demo --reset' });
  try {
    // The mark goes last: what is left by a deletion that broke off is still known to be the demo's.
    for (const entry of await readdir(folder))
      if (entry !== 'demo.json' && !entry.startsWith('lock.sqlite'))
        await rm(join(folder, entry), { recursive: true, force: true });
  } finally {
    await held.release();
  }
  await rm(folder, { recursive: true, force: true });
  return true;
}

async function readMemory(folder: string): Promise<DemoMemory | null> {
  try {
    const { what, ports, done, keys } = JSON.parse(await readFile(fileIn(folder), 'utf8')) as {
      readonly what?: unknown;
    } & Partial<DemoMemory>;
    if (what !== mark) return null;
    return { ports: ports ?? nothing.ports, done: done ?? [], keys: keys ?? {} };
  } catch {
    return null;
  }
}

function notTheDemos(folder: string, consequence: string): CoreError {
  return new CoreError(
    'DATA_FOLDER_UNUSABLE',
    `The folder ${folder} holds files, but not the demo.json that the demo leaves in its own, ${consequence}. ` +
      'Look what it is and remove it yourself, or choose another place with --data-dir.',
    { details: { path: folder } },
  );
}
