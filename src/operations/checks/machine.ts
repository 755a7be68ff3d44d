// Checks of this machine and this process: versions, address, files and permissions.
import type { Stats } from 'node:fs';
import { readFile, readdir, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../../config/index.ts';
import { formatBytes, shellWord } from '../../core/index.ts';
import { isLoopback } from '../../platform/http-client/addresses.ts';
import type { Finding } from './check.ts';
import { notConfigured, ok, problem, warning } from './check.ts';

const oldestNode = 24;
const minFreeBytes = 1024 ** 3;
/** Below this, writes fail soon: the embedded store alone writes in steps of 16 MB. */
const nearlyFullBytes = 32 * 1024 ** 2;
/** A busy gateway can have this many connections open. */
const minOpenFiles = 4_096;

export interface Versions {
  readonly headworks: string;
  readonly node: string;
  /** The SQLite built into Node. */
  readonly sqlite: string | undefined;
  readonly platform: string;
}

export function versions({ headworks, node, sqlite, platform }: Versions): Finding {
  const detail = `Headworks ${headworks} on Node ${node}, SQLite ${sqlite ?? 'unknown'}, ${platform}.`;
  return Number.parseInt(node, 10) >= oldestNode
    ? ok(detail)
    : problem(detail, `Install Node ${oldestNode} or newer.`);
}

export function address({ host }: Pick<Config['server'], 'host'>): Finding {
  if (isLoopback(host)) return ok(`Listens on ${host}: reachable from this machine only.`);
  return warning(
    `Listens on ${host}: reachable from other machines, without encryption.`,
    'Put a proxy with TLS in front of it, and set HEADWORKS_ALLOWED_HOSTS to its public name.',
  );
}

/** Free bytes on the disk of a folder. */
export async function freeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}

/** Bytes of all files in a folder and below. A file deleted meanwhile counts as 0. */
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

const notCreated = (path: string): Finding =>
  notConfigured(`${path} does not exist; the first start creates it.`, null);

export async function dataFolder(folder: string, free = freeBytes): Promise<Finding> {
  if ((await statOf(folder)) === null) return notCreated(folder);
  const bytes = await free(folder);
  const detail = `${folder}, ${formatBytes(bytes)} free.`;
  if (bytes >= minFreeBytes) return ok(detail);
  const remedy =
    'Free some space, or move the data folder to a larger disk: stores and vaults grow. Shorter retention (HEADWORKS_RETENTION_…) and "headworks vault prune --older-than 90" limit the growth; --compact shrinks the file of a vault, and needs as much free space while it runs.';
  return bytes >= nearlyFullBytes ? warning(detail, remedy) : problem(detail, remedy);
}

/** The folder holds documents, uploads and secrets. */
export async function folderRights(folder: string): Promise<Finding> {
  const found = await statOf(folder);
  if (found === null) return notCreated(folder);
  const { mode, uid } = found;
  const ownUid = process.getuid?.();
  if (ownUid !== undefined && uid !== ownUid)
    return warning(
      `${folder} belongs to user ${uid}, but this process runs as user ${ownUid}.`,
      `Always run Headworks as the same user, or: chown -R ${ownUid} ${shellWord(folder)}`,
    );
  return (mode & 0o077) === 0 || process.platform === 'win32'
    ? ok('Only its owner can access the data folder.')
    : warning(`Other users can access ${folder}.`, `chmod 700 ${shellWord(folder)}`);
}

export async function adminToken({ server, data }: Config): Promise<Finding> {
  if (server.adminToken !== null) return ok('From the configuration.');
  const path = join(data.folder, 'admin-token');
  const found = await statOf(path);
  if (found === null) return notCreated(path);
  return (found.mode & 0o077) === 0
    ? ok(`In ${path}, readable by its owner only.`)
    : warning(`Other users can read ${path}.`, `chmod 600 ${shellWord(path)}`);
}

/** `limits` as in /proc/self/limits; null where there is none. */
export function openFiles(limits: string | null): Finding {
  const max = /^Max open files\s+(\S+)/m.exec(limits ?? '')?.[1];
  if (max === undefined) return ok('This system reports no limit of open files.');
  const detail = `The limit is ${max} open files.`;
  return max === 'unlimited' || Number(max) >= minOpenFiles
    ? ok(detail)
    : warning(
        detail,
        `Connections count as files. Raise the limit to ${minOpenFiles} or more: ulimit -n, or LimitNOFILE= of the service.`,
      );
}

export async function readLimits(): Promise<string | null> {
  return readFile('/proc/self/limits', 'utf8').catch(() => null);
}

export function settings({ resolution }: Pick<Config, 'resolution'>): Finding {
  if (resolution.warnings.length === 0)
    return ok(resolution.file ? `From ${resolution.file}.` : 'No settings file.');
  return warning(resolution.warnings.join(' '), '"headworks config" shows the source of every value.');
}
