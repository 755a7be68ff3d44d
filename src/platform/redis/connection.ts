// One connection to Redis with ioredis: fails fast while Redis is unavailable, reconnects by itself, rejects servers that
// cannot be used. Errors are one line with the remedy, and never contain a password.
import { Command, Redis } from 'ioredis';
import { systemClock, withTimeout } from '../../core/index.ts';
import { CoreError, messageOf } from '../../core/errors.ts';
import type { RedisScript } from './script.ts';
import { ScriptRunner } from './script.ts';

export type RedisState = 'up' | 'down' | 'closed';

/** `together`: pipelined with other commands of the same tick. `at-once`: alone, for callers that batch by themselves. */
export type RedisSending = 'together' | 'at-once';

export interface RedisConnection {
  readonly state: RedisState;
  /** Host, port and database; no credentials. */
  readonly address: string;
  /** The full name of a key. */
  key(name: string): string;
  /**
   * Runs a script in one round trip; calls made in the same tick share one. `keys` are full names.
   * Sent `at-once` (default: `together`) one call takes 7 µs less, and a hundred take more.
   * Fails at once with REDIS_UNAVAILABLE while Redis is unavailable; a call that timed out may have been executed.
   */
  run(
    script: RedisScript,
    keys: readonly string[],
    args: readonly (string | number)[],
    sending?: RedisSending,
  ): Promise<unknown>;
  /** Any other command, for example `command('get', [connection.key('x')])`. */
  command(name: string, args: readonly (string | number)[]): Promise<unknown>;
  ping(): Promise<void>;
  /** Calls back when Redis becomes unavailable or available; the returned function stops that. */
  onStateChange(listener: (state: RedisState) => void): () => void;
  /** Closes the connection. Safe to call twice. */
  close(): Promise<void>;
}

export interface ConnectRedisOptions {
  /** `redis://[user:password@]host[:port][/database]`, or `rediss://` for TLS. */
  readonly url: string;
  /** A command that takes longer fails with REDIS_UNAVAILABLE. Default: 2 s. */
  readonly commandTimeoutMs?: number;
  /** Timeout of a connection attempt. Default: 5 s. */
  readonly connectTimeoutMs?: number;
  /** Prefix of every key. Default: none. */
  readonly keyPrefix?: string;
  /**
   * Redis cannot be reached at the start. `fail`: REDIS_UNAVAILABLE. `stay-down`: a connection in state `down`, which
   * keeps trying. A Redis that rejects the connection is REDIS_UNUSABLE either way. Default `fail`.
   */
  readonly whenUnreachable?: 'fail' | 'stay-down';
}

/** Resolves when Redis has replied and can be used (see `whenUnreachable`). Messages never contain the password. */
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
    // Nothing is queued while Redis is unavailable, and nothing is sent twice: a decision must not be repeated.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (attempt) => Math.min(attempt * 100, 2_000),
    // After a failover the connection may lead to a replica: reconnect to find the primary.
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
  });
  const connection = new IoredisConnection(client, address, keyPrefix);
  const problem = await firstProblem(client, connection, connectTimeoutMs + commandTimeoutMs);
  if (!problem || (problem.code === 'REDIS_UNAVAILABLE' && whenUnreachable === 'stay-down'))
    return connection;
  await connection.close();
  throw problem;
}

/** Waits for the first connection; returns why it cannot be used, if it cannot. */
async function firstProblem(
  client: Redis,
  connection: IoredisConnection,
  timeoutMs: number,
): Promise<CoreError | undefined> {
  const { address } = connection;
  const errors: unknown[] = [];
  const collect = (error: unknown) => errors.push(error);
  client.on('error', collect);
  const isConnected = new Promise<boolean>((resolve) => client.once('connect', () => resolve(true)));
  try {
    await withTimeout(client.connect(), {
      clock: systemClock,
      timeoutMs,
      onTimeout: () => new Error(`no reply within ${timeoutMs} ms`),
    });
    return await connection.inspect();
  } catch (error) {
    // The event has the cause; the rejection often has only "connection is closed".
    const cause = errors.find((seen) => !/closed/i.test(messageOf(seen))) ?? error;
    const problem = redisError(cause, address);
    if (problem.code !== 'REDIS_UNAVAILABLE') return problem;
    // A server that accepts the connection and closes it at the first command is not a Redis. Silence may be a busy one.
    const wasConnected = await Promise.race([isConnected, Promise.resolve(false)]);
    const wasClosed = /ECONNRESET|EPIPE|closed/i.test(messageOf(cause));
    return wasConnected && wasClosed ? notRedis(address) : unavailable(address, messageOf(cause));
  } finally {
    client.off('error', collect);
  }
}

/** How long until a server that cannot be used is checked again. */
const recheckMs = 2_000;

export class IoredisConnection implements RedisConnection {
  readonly address: string;
  readonly #client: Redis;
  readonly #keyPrefix: string;
  readonly #scripts: Readonly<Record<RedisSending, ScriptRunner>>;
  readonly #listeners = new Set<(state: RedisState) => void>();
  #state: RedisState = 'down';
  #unusable: CoreError | undefined;

  constructor(client: Redis, address: string, keyPrefix: string) {
    this.#client = client;
    this.address = address;
    this.#keyPrefix = keyPrefix;
    const load = (source: string) => client.script('LOAD', source);
    this.#scripts = {
      together: new ScriptRunner({
        load,
        evalsha: (sha, keys, args) => client.evalsha(sha, keys.length, ...keys, ...args),
      }),
      // Only the client's own methods pipeline by themselves.
      'at-once': new ScriptRunner({
        load,
        evalsha: (sha, keys, args) =>
          client.sendCommand(
            new Command('evalsha', [sha, keys.length, ...keys, ...args], { replyEncoding: 'utf8' }),
          ) as Promise<unknown>,
      }),
    };
    // Without a listener an error event would end the process; the state and each call report the error.
    client.on('error', () => undefined);
    client.on('ready', () => void this.inspect());
    client.on('close', () => this.#change('down'));
    client.on('end', () => this.#change('down'));
  }

  get state(): RedisState {
    return this.#state;
  }

  key(name: string): string {
    return this.#keyPrefix + name;
  }

  run(
    script: RedisScript,
    keys: readonly string[],
    args: readonly (string | number)[],
    sending: RedisSending = 'together',
  ): Promise<unknown> {
    return this.#guarded(() => this.#scripts[sending].run(script, keys, args));
  }

  command(name: string, args: readonly (string | number)[]): Promise<unknown> {
    return this.#guarded(() => this.#client.call(name, ...args));
  }

  async ping(): Promise<void> {
    await this.#guarded(() => this.#client.ping());
  }

  onStateChange(listener: (state: RedisState) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): Promise<void> {
    if (this.#state !== 'closed') {
      this.#change('closed');
      this.#client.disconnect();
    }
    return Promise.resolve();
  }

  /** Runs after every connect, because a failover may lead to another server; only a usable one is `up`. */
  async inspect(): Promise<CoreError | undefined> {
    try {
      await this.#selectDatabase();
      this.#unusable = unusableReason(await this.#client.info(), this.address);
    } catch (error) {
      this.#unusable = redisError(error, this.address);
    }
    if (this.#unusable) this.#recheckLater();
    else if (this.#client.status === 'ready') this.#change('up');
    return this.#unusable;
  }

  /** ioredis selects it too, but continues in database 0 when that fails. */
  async #selectDatabase(): Promise<void> {
    const { db = 0 } = this.#client.options;
    if (db !== 0) await this.#client.select(db);
  }

  /** A replica may become the primary, or the address may point elsewhere: reconnect to find out. */
  #recheckLater(): void {
    const reconnect = () => {
      if (this.#state === 'down' && this.#client.status === 'ready') this.#client.disconnect(true);
    };
    setTimeout(reconnect, recheckMs).unref();
  }

  async #guarded<T>(work: () => Promise<T>): Promise<T> {
    if (this.#state === 'closed') throw unavailable(this.address, 'the connection was closed');
    if (this.#state === 'down') throw this.#unusable ?? unavailable(this.address, 'there is no connection');
    try {
      return await work();
    } catch (error) {
      throw redisError(error, this.address);
    }
  }

  #change(state: RedisState): void {
    if (this.#state === state || this.#state === 'closed') return;
    this.#state = state;
    for (const listener of this.#listeners) listener(state);
  }
}

/** `host:port/database` of a Redis URL. Fails with CONFIG_INVALID, without repeating the URL, if it is invalid. */
export function redisAddress(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  const isRedis = ['redis:', 'rediss:'].includes(parsed?.protocol ?? '');
  if (!parsed || !isRedis || parsed.hostname === '' || !/^\/?\d*$/.test(parsed.pathname))
    throw new CoreError(
      'CONFIG_INVALID',
      'REDIS_URL is not a Redis address. Write it as redis://host[:port][/database number], or rediss:// for TLS, with user:password@ before the host if needed.',
    );
  const database = parsed.pathname.replace(/^\//, '') || '0';
  return `${parsed.hostname}:${parsed.port || '6379'}/${database}`;
}

const minimumMajor = 6;

/** Why the server with this INFO text cannot be used; undefined if it can. */
export function unusableReason(info: string, address: string): CoreError | undefined {
  const fields = new Map(
    info.split(/\r?\n/).map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon), line.slice(colon + 1)] as const;
    }),
  );
  const version = fields.get('redis_version');
  if (version === undefined) return notRedis(address);
  const mode = fields.get('redis_mode');
  if (mode === 'cluster')
    return unusable(
      address,
      'Redis Cluster is not supported: one decision touches two keys, which a cluster may keep on two machines. ' +
        'Use a single Redis; one does tens of thousands of decisions a second.',
    );
  if (mode === 'sentinel')
    return unusable(
      address,
      'it is a Sentinel, which stores nothing. Point REDIS_URL at the Redis it watches.',
    );
  if (Number.parseInt(version, 10) < minimumMajor)
    return unusable(address, `it is version ${version}. Use Redis ${minimumMajor} or newer.`);
  if (fields.get('role') === 'slave' && fields.get('slave_read_only') !== '0')
    return unusable(address, 'it is a read-only replica. Point REDIS_URL at the primary.');
  return undefined;
}

/** Replies that do not pass by waiting. */
const permanentErrors: readonly (readonly [RegExp, string])[] = [
  [
    /^NOAUTH|called without any password/i,
    'it needs a password. Put it into REDIS_URL, before the host, as user:password@ (or :password@).',
  ],
  [
    /^WRONGPASS|invalid (username-)?password/i,
    'it does not accept the user or password. Correct them in REDIS_URL.',
  ],
  [/^NOPERM/, 'the user may not run the commands we need. Grant it +@all on our keys (ACL SETUSER).'],
  [/DB index is out of range/i, 'it has no such database number. Correct the number in REDIS_URL.'],
];

/** Replies that do not come from a Redis. */
const notRedisReply =
  /unknown RESP type|protocol error|unexpected (character|token)|got .* as reply type|unsupported protocol|wrong version number/i;

/** REDIS_UNUSABLE if an administrator has to act, REDIS_UNAVAILABLE (retryable) for what may pass. */
export function redisError(error: unknown, address: string): CoreError {
  const message = messageOf(error);
  for (const [pattern, explanation] of permanentErrors)
    if (pattern.test(message)) return unusable(address, explanation);
  if (notRedisReply.test(message)) return notRedis(address);
  if (
    isReplyError(error) &&
    !/max number of clients|^(LOADING|MASTERDOWN|BUSY|READONLY|OOM|TRYAGAIN|CLUSTERDOWN|NOREPLICAS|MISCONF)/.test(
      message,
    )
  )
    return new CoreError('INTERNAL', `Redis at ${address} rejected a command: ${message}`);
  return unavailable(address, message);
}

export function unavailable(address: string, reason: string): CoreError {
  return new CoreError(
    'REDIS_UNAVAILABLE',
    `Redis at ${address} is unavailable: ${reason.replace(/\.+$/, '')}. Headworks keeps trying; check that it runs and can be reached.`,
    { isRetryable: true, details: { address } },
  );
}

export function unusable(address: string, explanation: string): CoreError {
  return new CoreError('REDIS_UNUSABLE', `Redis at ${address} cannot be used: ${explanation}`, {
    details: { address },
  });
}

export function notRedis(address: string): CoreError {
  return unusable(
    address,
    'the server there does not use the Redis protocol. Correct host and port in REDIS_URL.',
  );
}

/** Whether the server itself replied with an error. */
export function isReplyError(error: unknown): boolean {
  return error instanceof Error && error.name === 'ReplyError';
}
