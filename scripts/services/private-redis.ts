// A private Redis without persistence, for tests only.
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { pingRedis } from './ping.ts';
import { serverFolder, startPrivateServer, writeForServer, type PrivateServer } from './private-server.ts';
import type { ServerTree } from './server-tree.ts';

export interface RedisOptions {
  /** Further lines of `redis.conf`, for example `appendonly yes` to keep data over a restart. */
  readonly extraConfig?: readonly string[];
}

/** Starts one in a new folder `name` of `parent`. */
export async function startRedis(
  tree: ServerTree,
  parent: string,
  name: string,
  { extraConfig = [] }: RedisOptions = {},
): Promise<PrivateServer> {
  const folder = await serverFolder(parent, name);
  const password = randomBytes(16).toString('hex');
  const config = join(folder, 'redis.conf');
  const lines = ['bind 127.0.0.1', `requirepass ${password}`, 'save ""', `dir ${folder}`, ...extraConfig, ''];
  await writeForServer(config, lines.join('\n'));
  return await startPrivateServer({
    name: 'Redis',
    folder,
    program: tree.redisServer,
    arguments: (port) => [config, '--port', String(port)],
    environment: tree.environment,
    url: (port) => `redis://default:${password}@127.0.0.1:${port}/0`,
    ping: pingRedis,
  });
}
