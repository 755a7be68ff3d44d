// Connects to one Redis with ioredis: fails fast while it is away, comes back by itself, refuses the wrong kind.
import { Redis } from 'ioredis';
import type { CoreError } from '../../core/errors.ts';
import { messageOf } from '../../core/errors.ts';
import type { RedisConnection } from './ports.ts';
import { IoredisConnection } from './ioredis-connection.ts';
import { redisAddress } from './redis-address.ts';
import { notRedis, redisError, unavailable } from './redis-errors.ts';

export interface ConnectRedisOptions {
  /** `redis://[user:password@]host[:port][/database]`, or `rediss://` for TLS. */
  readonly url: string;
  /** A command that takes longer fails with REDIS_UNAVAILABLE. Default 2 s. */
  readonly commandTimeoutMs?: number;
  /** Longest wait for a connection. Default 5 s. */
  readonly connectTimeoutMs?: number;
  /** In front of every key of ours. Default: nothing. */
  readonly keyPrefix?: string;
  /**
   * Redis cannot be reached at the start. `fail`: REDIS_UNAVAILABLE. `stay-down`: a connection in state `down`, which
   * keeps trying. A Redis that answers and refuses us is REDIS_UNUSABLE either way. Default `fail`.
   */
  readonly whenUnreachable?: 'fail' | 'stay-down';
}

/** Resolves once Redis has answered and proved usable (see `whenUnreachable`). Messages never hold the password. */
export async function connectRedis({
  url,
  commandTimeoutMs = 2_000,
  connectTimeoutMs = 5_000,
  keyPrefix = '',
  whenUnreachable = 'fail',
}: ConnectRedisOptions): Promise<RedisConnection> {
  const address = redisAddress(url);
  const client = new Redis(url, {
    lazyConnect: true,
    enableAutoPipelining: true,
    commandTimeout: commandTimeoutMs,
    connectTimeout: connectTimeoutMs,
    // Nothing piles up while Redis is away, and nothing is sent twice: a decision must not be taken again.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (attempt) => Math.min(attempt * 100, 2_000),
    // After a failover our connection may end at a replica: connect again to find the primary.
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
  });
  const connection = new IoredisConnection(client, address, keyPrefix);
  const problem = await firstProblem(client, connection, connectTimeoutMs + commandTimeoutMs);
  if (!problem || (problem.code === 'REDIS_UNAVAILABLE' && whenUnreachable === 'stay-down'))
    return connection;
  await connection.close();
  throw problem;
}

/** Waits for the first connection; why it cannot be used, if it cannot. */
async function firstProblem(
  client: Redis,
  connection: IoredisConnection,
  patienceMs: number,
): Promise<CoreError | undefined> {
  const { address } = connection;
  const errors: unknown[] = [];
  const remember = (error: unknown) => errors.push(error);
  client.on('error', remember);
  const isConnected = new Promise<boolean>((resolve) => client.once('connect', () => resolve(true)));
  let patience: NodeJS.Timeout | undefined;
  const tooLong = new Promise<never>((_, reject) => {
    patience = setTimeout(() => reject(new Error(`no answer within ${patienceMs} ms`)), patienceMs);
  });
  try {
    await Promise.race([client.connect(), tooLong]);
    return await connection.inspect();
  } catch (error) {
    // The event says what happened; the rejection often only that the connection is closed.
    const cause = errors.find((seen) => !/closed/i.test(messageOf(seen))) ?? error;
    const problem = redisError(cause, address);
    if (problem.code !== 'REDIS_UNAVAILABLE') return problem;
    // Somebody takes our connection and hangs up at the first word: that is no Redis. Silence may be a busy one.
    const wasConnected = await Promise.race([isConnected, Promise.resolve(false)]);
    const hungUp = /ECONNRESET|EPIPE|closed/i.test(messageOf(cause));
    return wasConnected && hungUp ? notRedis(address) : unavailable(address, messageOf(cause));
  } finally {
    clearTimeout(patience);
    client.off('error', remember);
  }
}
