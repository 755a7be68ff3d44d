// Ends all processes of one set of servers, and removes its folder.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { runCommand } from './run-command.ts';

/**
 * Names the folder in the environment of every process that ends with the folder. Not HEADWORKS_…: those are
 * options of the product, which rejects unknown ones.
 */
export const folderVariable = 'TEST_SERVICES_FOLDER';

const graceMs = 5_000;

/**
 * Processes whose working directory is in the folder: servers and their workers, wherever they were forked from.
 * By directory, not by stored process ids: an id may belong to another process by now.
 */
export function processesIn(folder: string): readonly number[] {
  return processes((pid) => `${readlinkSync(`/proc/${pid}/cwd`)}/`.startsWith(`${folder}/`));
}

/** Processes that were started for the command that runs on these servers. */
function commandsOf(folder: string): readonly number[] {
  const mark = `${folderVariable}=${folder}`;
  return processes((pid) => readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0').includes(mark));
}

function processes(belongs: (pid: number) => boolean): readonly number[] {
  const pids = readdirSync('/proc').map(Number).filter(Number.isInteger);
  return pids.filter((pid) => {
    try {
      return pid !== process.pid && belongs(pid);
    } catch {
      return false; // ended meanwhile, a zombie, or of another user
    }
  });
}

/** Sends a signal to each that still runs. */
export function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids)
    try {
      process.kill(pid, signal);
    } catch {
      // It had already ended.
    }
}

/** Waits until none is left; false if some are left after `timeoutMs`. */
export async function areGone(find: () => readonly number[], timeoutMs: number): Promise<boolean> {
  for (const start = performance.now(); performance.now() - start < timeoutMs; await sleep(25))
    if (find().length === 0) return true;
  return find().length === 0;
}

/** SIGTERM, then SIGKILL. Safe to call on a deleted folder. */
export async function takeDown(folder: string): Promise<void> {
  const find = () => [...processesIn(folder), ...commandsOf(folder)];
  signalAll(commandsOf(folder), 'SIGTERM');
  await endServers(folder);
  if (!(await areGone(find, graceMs))) {
    signalAll(find(), 'SIGKILL');
    await areGone(find, graceMs);
  }
  await removeSharedMemory(folder);
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
}

/** Ends the servers in a folder, also stopped ones; what they wrote stays. */
export async function endServers(folder: string): Promise<void> {
  const find = () => processesIn(folder);
  signalAll(find(), 'SIGINT'); // PostgreSQL: disconnect all clients and shut down. Redis: shut down.
  signalAll(find(), 'SIGCONT');
  if (await areGone(find, graceMs)) return;
  signalAll(find(), 'SIGKILL');
  await areGone(find, graceMs);
}

/** A PostgreSQL that was killed leaves a shared memory segment behind; its lock file names it. */
async function removeSharedMemory(folder: string): Promise<void> {
  const servers = await readdir(folder).catch(() => []);
  for (const server of servers) {
    const lock = await readFile(join(folder, server, 'data/postmaster.pid'), 'utf8').catch(() => '');
    const [, id] = lock.split('\n')[6]?.trim().split(/\s+/) ?? [];
    if (id) await runCommand('ipcrm', ['-m', id]).catch(() => undefined);
  }
}
