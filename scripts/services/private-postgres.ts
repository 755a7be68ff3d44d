// A private PostgreSQL with pgvector for tests: fast, not durable.
import { randomBytes } from 'node:crypto';
import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '../../src/core/errors.ts';
import { runCommand } from './run-command.ts';
import { pingPostgres, withPostgres } from './ping.ts';
import { serverFolder, startPrivateServer, writeForServer, type PrivateServer } from './private-server.ts';
import type { Extension, ServerTree } from './server-tree.ts';
import { serverUser } from './server-user.ts';

export interface PostgresOptions {
  /** Extensions that CREATE EXTENSION must not find. */
  readonly without?: readonly Extension[];
  /** Further lines of `postgresql.conf`. */
  readonly settings?: readonly string[];
}

const testSettings = [
  "listen_addresses = '127.0.0.1'",
  "unix_socket_directories = ''",
  'max_connections = 200',
  // A crash of the machine may lose data, a kill -9 of the server may not: tests rely on it. So commits stay synchronous.
  'fsync = off',
  'full_page_writes = off',
  'jit = off',
  'timezone = GMT', // built in; UTC needs a file that a minimal system lacks
  // No parallel index builds: those of pgvector 0.8.0 overflow a buffer, and need more shared memory than containers have.
  'max_parallel_maintenance_workers = 0',
  'dynamic_shared_memory_type = mmap', // in the data folder, so that it is deleted with it
];

/** Starts one in a new folder `name` of `parent`, with an empty database `headworks`. */
export async function startPostgres(
  tree: ServerTree,
  parent: string,
  name: string,
  { without = [], settings = [] }: PostgresOptions = {},
): Promise<PrivateServer> {
  const folder = await serverFolder(parent, name);
  const data = join(folder, 'data');
  const bin = tree.postgresBin(without);
  const password = randomBytes(16).toString('hex');
  await initialize(tree, bin, data, folder, password);
  await appendFile(join(data, 'postgresql.conf'), [...testSettings, ...settings, ''].join('\n'));
  const address = (port: number, database: string): string =>
    `postgres://postgres:${password}@127.0.0.1:${port}/${database}`;
  const server = await startPrivateServer({
    name: 'PostgreSQL',
    folder,
    program: join(bin, 'postgres'),
    arguments: (port) => ['-D', data, '-p', String(port)],
    environment: tree.environment,
    url: (port) => address(port, 'headworks'),
    // `postgres` instead of `headworks`: it always exists.
    ping: (url) => pingPostgres(url.replace(/headworks$/, 'postgres')),
  });
  try {
    await prepare(server.url, !without.includes('vector'));
  } catch (error) {
    await server.kill();
    throw error;
  }
  return server;
}

async function prepare(url: string, isVectorWanted: boolean): Promise<void> {
  await withPostgres(url.replace(/headworks$/, 'postgres'), async (client) => {
    if (isVectorWanted)
      await client.query("LOAD 'vector'").catch((error: unknown) => {
        throw new Error(`PostgreSQL is up, but pgvector does not load: ${messageOf(error)}`, {
          cause: error,
        });
      });
    await client.query('CREATE DATABASE headworks');
  });
}

async function initialize(
  tree: ServerTree,
  bin: string,
  data: string,
  folder: string,
  password: string,
): Promise<void> {
  const passwordFile = join(folder, 'password');
  await writeForServer(passwordFile, password);
  const settings = ['-U', 'postgres', '-A', 'scram-sha-256', '-E', 'UTF8', '--locale=C.UTF-8', '--no-sync'];
  const run = { cwd: folder, environment: tree.environment, user: serverUser() };
  await runCommand(join(bin, 'initdb'), ['-D', data, `--pwfile=${passwordFile}`, ...settings], run);
}
