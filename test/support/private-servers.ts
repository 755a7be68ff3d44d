// Private servers of one test, to flush, pause, kill and restart.
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { onTestFinished, TestRunner } from 'vitest';
import { messageOf } from '../../src/core/errors.ts';
import { openInstance } from '../../scripts/services/instance.ts';
import { startPostgres, type PostgresOptions } from '../../scripts/services/private-postgres.ts';
import { startRedis, type RedisOptions } from '../../scripts/services/private-redis.ts';
import type { PrivateServer } from '../../scripts/services/private-server.ts';
import {
  canHaveServers,
  serverTree,
  type Extension,
  type ServerTree,
} from '../../scripts/services/server-tree.ts';
import { folderVariable } from '../../scripts/services/take-down.ts';

export type { PrivateServer };

export interface PrivatePostgresOptions extends Pick<PostgresOptions, 'settings'> {
  /** As on a server where pgvector was never installed. */
  readonly withoutVector?: boolean;
  /** As on a server without PostgreSQL's contrib modules. */
  readonly withoutTrigram?: boolean;
}

/** Starts a PostgreSQL, which ends when the test, or the whole file if called in a hook, is over. */
export async function startPrivatePostgres({
  withoutVector = false,
  withoutTrigram = false,
  settings = [],
}: PrivatePostgresOptions = {}): Promise<PrivateServer> {
  const without: Extension[] = [];
  if (withoutVector) without.push('vector');
  if (withoutTrigram) without.push('pg_trgm');
  return await start((tree, folder, name) => startPostgres(tree, folder, name, { without, settings }));
}

/** Starts a Redis, which ends when the test, or the whole file if called in a hook, is over. */
export async function startPrivateRedis(options: RedisOptions = {}): Promise<PrivateServer> {
  return await start((tree, folder, name) => startRedis(tree, folder, name, options));
}

/** A shell script that puts `redis-server` and `redis-cli` into `./bin`, and that on the PATH. */
export async function redisCommands(): Promise<string> {
  skipWherePrivateServersCannotBe();
  const { redisServer, environment } = await tree();
  const libraries = environment['LD_LIBRARY_PATH'] ?? '';
  const install = (name: string) =>
    `printf '#!/bin/sh\\nLD_LIBRARY_PATH=${libraries} exec ${join(dirname(redisServer), name)} "$@"\\n' > bin/${name}`;
  return `mkdir bin; ${install('redis-server')}; ${install('redis-cli')}; chmod +x bin/*; PATH=$PWD/bin:$PATH`;
}

async function start(
  launch: (tree: ServerTree, folder: string, name: string) => Promise<PrivateServer>,
): Promise<PrivateServer> {
  skipWherePrivateServersCannotBe();
  const server = await launch(await tree(), await folder(), `test-${randomBytes(6).toString('hex')}`);
  try {
    onTestFinished(() => server.stop());
  } catch {
    // Called in a hook, outside of any test: the watchdog ends it with this process or with the run.
  }
  return server;
}

/** On systems other than Debian, tests that need private servers are skipped and counted at the end. */
function skipWherePrivateServersCannotBe(): void {
  if (canHaveServers() || !process.env['DATABASE_URL'] || !process.env['REDIS_URL']) return;
  TestRunner.getCurrentTest()?.context.skip(
    'It kills or restarts a server of its own, which can be had on Debian, or with postgres, initdb and redis-server on the PATH.',
  );
}

let openedTree: Promise<ServerTree> | undefined;

function tree(): Promise<ServerTree> {
  return (openedTree ??= serverTree().catch((error: unknown) => {
    throw new Error(
      `This test needs a server of its own, to kill or restart, whatever DATABASE_URL and REDIS_URL say. ` +
        `It can be had on Debian with a working apt, and cannot here: ${messageOf(error)}`,
      { cause: error },
    );
  }));
}

let ownFolder: Promise<string> | undefined;

/** The folder of the whole run, or one with a watchdog when the tests were not started by the test command. */
function folder(): Promise<string> {
  if (ownFolder) return ownFolder;
  const ofRun = process.env[folderVariable];
  return (ownFolder = ofRun && existsSync(ofRun) ? Promise.resolve(ofRun) : openInstance('owned'));
}
