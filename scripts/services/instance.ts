// The temporary folder of a set of private servers; processes that use it are ended with it.
import { readdirSync, statSync } from 'node:fs';
import { chmod, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { canEnter, serverUser } from './server-user.ts';
import { folderVariable, takeDown } from './take-down.ts';
import { startWatchdog } from './watchdog.ts';

const prefix = 'headworks-services-';
const ownerFile = 'owner';

/** The folder for temporary data: the default, unless the user that servers run as cannot access it. */
function temporaryParent(): string {
  return canEnter(tmpdir(), serverUser()) ? tmpdir() : '/tmp';
}

/**
 * Creates the folder. `owned`: a watchdog takes it down when this process ends, together with every process started
 * from now on, which are marked through the environment. `free`: it stays until `takeDown` is called.
 */
export async function openInstance(kind: 'owned' | 'free'): Promise<string> {
  const folder = await mkdtemp(join(temporaryParent(), prefix));
  await chmod(folder, 0o755); // servers of another user need access to their own folders
  if (kind === 'free') return folder;
  await writeFile(join(folder, ownerFile), String(process.pid));
  process.env[folderVariable] = folder;
  startWatchdog(folder);
  return folder;
}

/** Stops every instance of this user without a running owner, and returns their folders. */
export async function takeDownAbandoned(): Promise<readonly string[]> {
  const parent = temporaryParent();
  const uid = process.getuid?.();
  const folders = readdirSync(parent)
    .filter((name) => name.startsWith(prefix))
    .map((name) => join(parent, name))
    .filter((folder) => statSync(folder, { throwIfNoEntry: false })?.uid === uid);
  const abandoned: string[] = [];
  for (const folder of folders) {
    const owner = Number(await readFile(join(folder, ownerFile), 'utf8').catch(() => '0'));
    if (owner > 0 && isAlive(owner)) continue;
    await takeDown(folder);
    abandoned.push(folder);
  }
  return abandoned;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
