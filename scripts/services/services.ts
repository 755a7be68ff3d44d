// PostgreSQL and Redis for one run: the user's where a variable names them, private ones otherwise.
import { messageOf } from '../../src/core/errors.ts';
import { openInstance } from './instance.ts';
import { pingPostgres, pingRedis } from './ping.ts';
import { startPostgres } from './private-postgres.ts';
import { startRedis } from './private-redis.ts';
import { serverTree } from './server-tree.ts';
import { takeDown } from './take-down.ts';

export interface Services {
  /** What a command needs in its environment to use them. */
  readonly variables: Readonly<Record<string, string>>;
  /** One line for the terminal: what was started and what was reused. */
  readonly summary: string;
  /** Stops what was started, and processes that the command left running. */
  close(): Promise<void>;
}

export interface ServiceUrls {
  readonly DATABASE_URL?: string | undefined;
  readonly REDIS_URL?: string | undefined;
}

/**
 * Checks the servers that `given` names and starts the others. Rejects when a named one does not respond: starting
 * a replacement would test something other than requested. With `owned`, what it started ends with this
 * process at the latest.
 */
export async function openServices(given: ServiceUrls, kind: 'owned' | 'free'): Promise<Services> {
  if (given.DATABASE_URL) await demand('DATABASE_URL', given.DATABASE_URL, pingPostgres);
  if (given.REDIS_URL) await demand('REDIS_URL', given.REDIS_URL, pingRedis);
  if (given.DATABASE_URL && given.REDIS_URL)
    return {
      variables: { DATABASE_URL: given.DATABASE_URL, REDIS_URL: given.REDIS_URL },
      summary: 'using DATABASE_URL and REDIS_URL as they are set',
      close: async () => undefined,
    };
  const folder = await openInstance(kind);
  try {
    const tree = await serverTree();
    const [database, redis] = await Promise.all([
      given.DATABASE_URL ?? startPostgres(tree, folder, 'postgres').then((server) => server.url),
      given.REDIS_URL ?? startRedis(tree, folder, 'redis').then((server) => server.url),
    ]);
    const started = [given.DATABASE_URL ? '' : 'PostgreSQL', given.REDIS_URL ? '' : 'Redis'].filter(Boolean);
    return {
      variables: { DATABASE_URL: database, REDIS_URL: redis },
      summary: `started a private ${started.join(' and ')} on 127.0.0.1`,
      close: () => takeDown(folder),
    };
  } catch (error) {
    await takeDown(folder);
    throw error;
  }
}

async function demand(name: string, url: string, ping: (url: string) => Promise<void>): Promise<void> {
  try {
    await ping(url);
  } catch (error) {
    const host = URL.canParse(url) ? new URL(url).host : 'what it names';
    const [why] = (messageOf(error) || String(error)).split('\n');
    throw new Error(
      `${name} is set, but ${host} does not serve us: ${why}. ` +
        'Start that server, correct the variable, or unset it to have a private one started.',
      { cause: error },
    );
  }
}
