// Programs of the servers: unpacked and built once into the user's cache, then used by every run.
import { constants } from 'node:fs';
import { access, mkdir, mkdtemp, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { homedir, tmpdir, userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { messageOf } from '../../src/core/errors.ts';
import { debianCodename, isDebian, openPrivateApt, unpackServers } from './debian-packages.ts';
import { withFileLock } from './file-lock.ts';
import { findProgram } from './find-program.ts';
import { buildPgvector, ensureCompiler, fetchPgvector, pgvectorVersion } from './pgvector-build.ts';
import { runCommand, log } from './run-command.ts';
import { canEnter, serverUser } from './server-user.ts';

/** Extensions that tests may exclude. */
export type Extension = 'vector' | 'pg_trgm';

export interface ServerTree {
  /** The folder of `postgres` and `initdb`, of a copy without the named extensions. */
  postgresBin(without?: readonly Extension[]): string;
  readonly redisServer: string;
  /** The whole environment of a server: it inherits nothing from this process. */
  readonly environment: Readonly<Record<string, string>>;
}

/** Increase when the contents of a tree change: trees of other recipes are not touched. */
const recipe = 1;
const buildWaitSeconds = 900;
const leaveOut: readonly (readonly Extension[])[] = [['vector'], ['pg_trgm'], ['pg_trgm', 'vector']];

/** The complete tree; built first if none works here. Safe to call from several processes at once. */
export async function serverTree(): Promise<ServerTree> {
  if (!isDebian()) return installedServers();
  const umask = process.umask(0o022); // root may have a strict umask, and the server's user must read the tree
  try {
    return await findOrMake(await cacheFolder());
  } finally {
    process.umask(umask);
  }
}

/** Whether private servers can be installed here; on Debian this may still fail with a broken apt. */
export function canHaveServers(): boolean {
  return isDebian() || installedPrograms() !== undefined;
}

function installedPrograms(): { readonly initdb: string; readonly redisServer: string } | undefined {
  const [postgres, initdb, redisServer] = ['postgres', 'initdb', 'redis-server'].map((name) =>
    findProgram(name),
  );
  if (!existsSync('/proc/self/cwd') || !postgres || !initdb || !redisServer) return undefined;
  return { initdb, redisServer };
}

/** On other systems only installed servers are used. */
function installedServers(): ServerTree {
  const programs = installedPrograms();
  if (!programs)
    throw new Error(
      'This is not Debian, so no private servers can be fetched. ' +
        'Set DATABASE_URL (PostgreSQL 15 or newer with pgvector) and REDIS_URL (Redis 6 or newer) to running servers; ' +
        'or, on Linux, have postgres, initdb and redis-server on the PATH.',
    );
  return {
    postgresBin(without = []) {
      if (without.length > 0)
        throw new Error(`A PostgreSQL without ${without.join(', ')} can be had on Debian only.`);
      return dirname(programs.initdb);
    },
    redisServer: programs.redisServer,
    environment: { PATH: process.env['PATH'] ?? '', LC_ALL: 'C.UTF-8' },
  };
}

async function findOrMake(cache: string): Promise<ServerTree> {
  const architecture = (await runCommand('dpkg', ['--print-architecture'])).trim();
  const root = join(cache, `servers${recipe}-${debianCodename()}-${architecture}-pgvector${pgvectorVersion}`);
  const ready = await openTree(root);
  if (ready) return ready;
  return await withFileLock(join(cache, 'lock'), buildWaitSeconds, async () => {
    const made = (await openTree(root)) ?? (await build(cache, root).then(() => openTree(root)));
    if (!made) throw new Error(`The servers in ${root} do not run here. Delete that folder and try again.`);
    return made;
  });
}

/** The first folder that is owned by this user, writable, and accessible to the user the servers run as. */
export async function cacheFolder(): Promise<string> {
  const user = serverUser();
  const uid = userInfo().uid;
  const caches = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache');
  const places = [
    join(caches, 'headworks'),
    '/var/cache/headworks',
    join(tmpdir(), `headworks-cache-${uid}`),
  ];
  for (const place of places) {
    try {
      await mkdir(place, { recursive: true });
      await access(place, constants.W_OK);
    } catch {
      continue; // not usable; try the next one
    }
    if ((await stat(place)).uid === uid && canEnter(place, user)) return place;
  }
  throw new Error(
    `No folder to cache the servers in (tried ${places.join(', ')}). Set XDG_CACHE_HOME to one.`,
  );
}

/** The tree if it is complete and its programs load here: a library may have been removed since. */
async function openTree(root: string): Promise<ServerTree | undefined> {
  if (!existsSync(join(root, 'complete'))) return undefined;
  const [major] = await readdir(join(root, 'usr/lib/postgresql'));
  const libraries: string[] = [];
  for (const folder of [join(root, 'usr/lib'), join(root, 'lib')])
    if (existsSync(folder))
      for (const name of await readdir(folder))
        if (name.includes('-linux-gnu')) libraries.push(join(folder, name));
  const tree: ServerTree = {
    postgresBin: (without = []) => join(root, variant(without), `usr/lib/postgresql/${major}/bin`),
    redisServer: join(root, 'usr/bin/redis-server'),
    environment: { PATH: '/usr/bin:/bin', LC_ALL: 'C.UTF-8', LD_LIBRARY_PATH: libraries.join(':') },
  };
  const run = { cwd: '/', user: serverUser(), environment: tree.environment };
  try {
    await runCommand(join(tree.postgresBin(), 'postgres'), ['-V'], run);
    await runCommand(tree.redisServer, ['-v'], run);
    return tree;
  } catch {
    return undefined; // built again, which reports what is wrong
  }
}

const variant = (without: readonly Extension[]): string =>
  without.length === 0 ? '.' : `without-${[...without].sort().join('-')}`;

/** Works in a scratch folder and moves it into place only when it is complete. Needs the lock. */
async function build(cache: string, root: string): Promise<void> {
  await ensureCompiler();
  log(`first use: fetching PostgreSQL and Redis and building pgvector into ${root} (about half a minute)`);
  for (const name of await readdir(cache))
    if (name.startsWith('build-')) await rm(join(cache, name), { recursive: true, force: true });
  const scratch = await mkdtemp(join(cache, 'build-'));
  try {
    const tree = join(scratch, 'root');
    const apt = await openPrivateApt(scratch);
    await unpackServers(apt, join(scratch, 'archives'), tree);
    const tarball = await fetchPgvector(apt, scratch);
    const [major] = await readdir(join(tree, 'usr/lib/postgresql'));
    const pgConfig = join(tree, `usr/lib/postgresql/${major}/bin/pg_config`);
    await buildPgvector(tarball, join(scratch, 'pgvector'), pgConfig);
    for (const without of leaveOut) await copyWithout(tree, without);
    await writeFile(join(tree, 'complete'), '');
    await rm(root, { recursive: true, force: true });
    await rename(tree, root);
  } catch (error) {
    throw new Error(
      `The servers could not be made: ${messageOf(error)}\n` +
        'Put apt right, or set DATABASE_URL and REDIS_URL to running servers.',
      { cause: error },
    );
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** A copy of PostgreSQL (hard links: no space, no time) in which CREATE EXTENSION does not find some. */
async function copyWithout(tree: string, without: readonly Extension[]): Promise<void> {
  const copy = join(tree, variant(without));
  for (const part of ['usr/lib', 'usr/share']) {
    await mkdir(join(copy, part), { recursive: true });
    await runCommand('cp', ['-al', join(tree, part, 'postgresql'), join(copy, part, 'postgresql')]);
  }
  const [major] = await readdir(join(copy, 'usr/share/postgresql'));
  const extensions = join(copy, `usr/share/postgresql/${major}/extension`);
  for (const name of await readdir(extensions))
    if (without.some((extension) => name.startsWith(`${extension}--`) || name === `${extension}.control`))
      await rm(join(extensions, name));
}
