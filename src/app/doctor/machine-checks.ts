// Checks of this machine and this process: versions, address, files and rights.
import type { Stats } from 'node:fs';
import { readdir, readFile, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../../config/index.ts';
import { shellWord } from '../../core/index.ts';
import { isLoopback } from '../loopback.ts';
import type { Finding } from './findings.ts';
import { notConfigured, ok, problem, size, warning } from './findings.ts';

const oldestNode = 24;
const leastFreeBytes = 1024 ** 3;
/** With less nothing can be written soon; an embedded store alone writes in steps of 16 MB. */
const nearlyFullBytes = 32 * 1024 ** 2;
/** A busy gateway alone may hold as many connections. */
const fewestOpenFiles = 4_096;

export interface Versions {
  readonly headworks: string;
  readonly node: string;
  /** Of the SQLite that is part of Node. */
  readonly sqlite: string | undefined;
  readonly platform: string;
}

export function versions({ headworks, node, sqlite, platform }: Versions): Finding {
  const detail = `Headworks ${headworks} on Node ${node}, SQLite ${sqlite ?? 'unknown'}, ${platform}.`;
  return Number.parseInt(node, 10) >= oldestNode
    ? ok(detail)
    : problem(detail, `Install Node ${oldestNode} or newer; older ones lack what Headworks is built on.`);
}

export function address({ host }: Pick<Config['server'], 'host'>): Finding {
  if (isLoopback(host)) return ok(`Listens on ${host}: reachable from this machine only.`);
  return warning(
    `Listens on ${host}: reachable from other machines, without encryption.`,
    'Put a proxy with TLS in front of it, and set HEADWORKS_ALLOWED_HOSTS to the name it is called by.',
  );
}

/** Free bytes of the disk that a folder is on. */
export async function freeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}

/** Bytes of all files in a folder, those below included. One that goes meanwhile counts for nothing. */
export async function folderBytes(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const sizes = entries
    .filter((entry) => entry.isFile())
    .map(async ({ parentPath, name }) => (await statOf(join(parentPath, name)))?.size ?? 0);
  return (await Promise.all(sizes)).reduce((sum, bytes) => sum + bytes, 0);
}

async function statOf(path: string): Promise<Stats | null> {
  try {
    return await stat(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

const notYet = (path: string): Finding =>
  notConfigured(`${path} is not there; the first start makes it.`, null);

/** `free`: how many bytes the disk of a folder has free. */
export async function dataFolder(folder: string, free = freeBytes): Promise<Finding> {
  if ((await statOf(folder)) === null) return notYet(folder);
  const bytes = await free(folder);
  const detail = `${folder}, ${size(bytes)} free.`;
  if (bytes >= leastFreeBytes) return ok(detail);
  const remedy =
    'Make room, or move the data folder to a larger disk: stores and vaults grow. Shorter retention (HEADWORKS_RETENTION_…) and "headworks vault prune --older-than 90" keep them from growing; with --compact a vault gives room back, and needs as much while it works.';
  return bytes >= nearlyFullBytes ? warning(detail, remedy) : problem(detail, remedy);
}

/** Documents, uploads and secrets are in it. */
export async function folderRights(folder: string): Promise<Finding> {
  const found = await statOf(folder);
  if (found === null) return notYet(folder);
  const { mode, uid } = found;
  const us = process.getuid?.();
  if (us !== undefined && uid !== us)
    return warning(
      `${folder} belongs to the user ${uid}, and this process is the user ${us}.`,
      `Run Headworks as one user always, or: chown -R ${us} ${shellWord(folder)}`,
    );
  return (mode & 0o077) === 0 || process.platform === 'win32'
    ? ok('Only its owner can look into the data folder.')
    : warning(`Others can look into ${folder}.`, `chmod 700 ${shellWord(folder)}`);
}

export async function adminToken({ server, data }: Config): Promise<Finding> {
  if (server.adminToken !== null) return ok('From the configuration.');
  const path = join(data.folder, 'admin-token');
  const found = await statOf(path);
  if (found === null) return notYet(path);
  return (found.mode & 0o077) === 0
    ? ok(`In ${path}, readable by its owner only.`)
    : warning(`${path} can be read by others.`, `chmod 600 ${shellWord(path)}`);
}

/** `limits` as in /proc/self/limits; null where there is none. */
export function openFiles(limits: string | null): Finding {
  const most = /^Max open files\s+(\S+)/m.exec(limits ?? '')?.[1];
  if (most === undefined) return ok('This system does not say how many files may be open.');
  const detail = `${most} may be open at once.`;
  return most === 'unlimited' || Number(most) >= fewestOpenFiles
    ? ok(detail)
    : warning(
        detail,
        `Connections count as files. Raise it to ${fewestOpenFiles} or more: ulimit -n, or LimitNOFILE= of the service.`,
      );
}

export async function readLimits(): Promise<string | null> {
  return readFile('/proc/self/limits', 'utf8').catch(() => null);
}

export function settings({ resolution }: Pick<Config, 'resolution'>): Finding {
  if (resolution.warnings.length === 0)
    return ok(resolution.file ? `From ${resolution.file}.` : 'No settings file.');
  return warning(resolution.warnings.join(' '), 'headworks config shows where every value comes from.');
}
