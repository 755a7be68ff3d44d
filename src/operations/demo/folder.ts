// The data folder of the demo: its marker file, the state it keeps between starts, and its deletion.
import { readFile, readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { version } from '../../config/version.ts';
import { CoreError } from '../../core/index.ts';
import { openDataFolder } from '../../platform/data-folder/data-folder.ts';
import { checkDataFolder, makeFolder, writeJsonFile } from '../../platform/data-folder/files.ts';

/** What the next start needs and the server does not store. */
export interface DemoState {
  /** Ports of the simulators, which registered sources and models refer to. 0 at first. */
  readonly ports: { readonly looker: number; readonly models: number };
  /** Completed steps. */
  readonly done: readonly string[];
  /** Organization keys, which are shown only at creation; by organization. */
  readonly keys: Readonly<Record<string, string>>;
}

const emptyState: DemoState = { ports: { looker: 0, models: 0 }, done: [], keys: {} };
const marker = 'headworks demo';
const fileIn = (folder: string): string => join(folder, 'demo.json');

/** Reads the state; an empty folder becomes the demo's. Fails with DATA_FOLDER_UNUSABLE for any other. */
export async function openDemoState(folder: string): Promise<DemoState> {
  // It is in the data folder, which must not change when it is of another version.
  await checkDataFolder(dirname(folder));
  const known = await readDemoState(folder);
  if (known) return known;
  const entries = await readdir(folder).catch(() => []);
  if (entries.length > 0) throw notADemoFolder(folder, 'so the demo does not write into it');
  await makeFolder(folder);
  await writeDemoState(folder, emptyState);
  return emptyState;
}

export async function writeDemoState(folder: string, state: DemoState): Promise<void> {
  await writeJsonFile(fileIn(folder), { what: marker, ...state });
}

/**
 * Deletes the folder of a demo with everything in it. Fails with DATA_FOLDER_BUSY while a demo runs on it, and with
 * DATA_FOLDER_UNUSABLE when it is not a demo's. Returns false when it does not exist.
 */
export async function deleteDemoFolder(folder: string): Promise<boolean> {
  if (!(await readDemoState(folder))) {
    const entries = await readdir(folder).catch(() => []);
    if (entries.length === 0) return false;
    throw notADemoFolder(folder, 'so it is not deleted');
  }
  const held = await openDataFolder(folder, { version, command: 'headworks demo --reset' });
  try {
    // The marker is deleted last, so that an interrupted deletion can be repeated.
    for (const entry of await readdir(folder))
      if (entry !== 'demo.json' && !entry.startsWith('lock.sqlite'))
        await rm(join(folder, entry), { recursive: true, force: true });
  } finally {
    await held.release();
  }
  await rm(folder, { recursive: true, force: true });
  return true;
}

async function readDemoState(folder: string): Promise<DemoState | null> {
  try {
    const { what, ports, done, keys } = JSON.parse(await readFile(fileIn(folder), 'utf8')) as {
      readonly what?: unknown;
    } & Partial<DemoState>;
    if (what !== marker) return null;
    return { ports: ports ?? emptyState.ports, done: done ?? [], keys: keys ?? {} };
  } catch {
    return null;
  }
}

function notADemoFolder(folder: string, consequence: string): CoreError {
  return new CoreError(
    'DATA_FOLDER_UNUSABLE',
    `The folder ${folder} has files but no demo.json of the demo, ${consequence}. ` +
      'Check what it is and delete it yourself, or choose another folder with --data-dir.',
    { details: { path: folder } },
  );
}
