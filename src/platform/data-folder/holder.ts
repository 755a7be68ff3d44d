// Who holds the data folder, written down for people. Only the lock decides; this is for messages.
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { writeWhole } from './write-whole.ts';

export interface Holder {
  readonly pid: number;
  readonly command: string;
  /** ISO 8601. */
  readonly since: string;
}

const fileIn = (folder: string): string => join(folder, 'holder.json');

export async function writeHolder(folder: string, holder: Holder): Promise<void> {
  await writeWhole(fileIn(folder), `${JSON.stringify(holder, null, 2)}\n`);
}

/** `undefined` if nobody wrote it yet, or it makes no sense. */
export async function readHolder(folder: string): Promise<Holder | undefined> {
  try {
    const { pid, command, since } = JSON.parse(await readFile(fileIn(folder), 'utf8')) as Partial<Holder>;
    if (typeof pid !== 'number' || typeof command !== 'string' || typeof since !== 'string') return undefined;
    return { pid, command, since };
  } catch {
    return undefined;
  }
}

export async function removeHolder(folder: string): Promise<void> {
  await rm(fileIn(folder), { force: true });
}
