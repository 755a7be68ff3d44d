// Redis, healthy and faulty: the connection, its scripts, and rejected connections.
import { createServer } from 'node:http';
import type { AddressInfo, Server } from 'node:net';
import { createServer as createTcpServer } from 'node:net';
import { pathToFileURL } from 'node:url';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { RedisConnection } from '../../src/platform/redis/connection.ts';
import { connectRedis } from '../../src/platform/redis/connection.ts';
import { redisScript } from '../../src/platform/redis/script.ts';
import { unusableReason } from '../../src/platform/redis/connection.ts';
import { startPrivateRedis } from '../support/private-servers.ts';
import { redisUrl, temporaryFolder, uniqueName } from '../support/services.ts';

async function connect(
  url: string,
  more: Partial<Parameters<typeof connectRedis>[0]> = {},
): Promise<RedisConnection> {
  const connection = await connectRedis({ url, keyPrefix: `${uniqueName('redis')}:`, ...more });
  onTestFinished(() => connection.close());
  return connection;
}

/** The error of a connect that must fail; its message must be one line without the password. */
async function refusal(url: string, more: Partial<Parameters<typeof connectRedis>[0]> = {}): Promise<Error> {
  const error: unknown = await connect(url, more).catch((reason: unknown) => reason);
  if (!(error instanceof Error)) throw new Error('it connected');
  expect(error.message).not.toContain('\n');
  if (URL.canParse(url) && new URL(url).password !== '')
    expect(JSON.stringify([error.message, error])).not.toContain(new URL(url).password);
  return error;
}

async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `redis://127.0.0.1:${(server.address() as AddressInfo).port}/0`;
}

async function counter(): Promise<ReturnType<typeof redisScript>> {
  const file = join(await temporaryFolder(), 'count.lua');
  await writeFile(file, `-- ${uniqueName('script')}\nreturn redis.call('INCRBY', KEYS[1], ARGV[1])`);
  return redisScript(pathToFileURL(file));
}

/** Waits for a state without a fixed sleep. */
const reaches = (connection: RedisConnection, state: string) =>
  new Promise<void>((resolve) => {
    if (connection.state === state) return resolve();
    const stop = connection.onStateChange((now) => {
      if (now !== state) return;
      stop();
      resolve();
    });
  });

describe('a Redis connection', () => {
  it('runs commands on keys with its prefix', async () => {
    const redis = await connect(redisUrl());
    expect(redis.state).toBe('up');
    await redis.command('set', [redis.key('a'), '1', 'px', 10_000]);
    expect(await redis.command('get', [redis.key('a')])).toBe('1');
    await redis.ping();
  });

  it('fails at once after close', async () => {
    const redis = await connect(redisUrl());
    await redis.close();
    await redis.close();
    expect(redis.state).toBe('closed');
    await expect(redis.ping()).rejects.toMatchObject({ code: 'REDIS_UNAVAILABLE' });
  });

  it('reports an invalid command as a bug', async () => {
    const redis = await connect(redisUrl());
    await expect(redis.command('get', [])).rejects.toMatchObject({ code: 'INTERNAL' });
  });

  it('goes down and up with the server, failing fast meanwhile', async () => {
    const server = await startPrivateRedis();
    const redis = await connect(server.url);
    const states: string[] = [];
    redis.onStateChange((state) => states.push(state));
    await server.kill();
    await reaches(redis, 'down');
    const answers = await Promise.allSettled(Array.from({ length: 1_000 }, () => redis.ping()));
    expect(answers.every((answer) => answer.status === 'rejected')).toBe(true);
    await expect(redis.ping()).rejects.toMatchObject({ code: 'REDIS_UNAVAILABLE', isRetryable: true });
    await server.restart();
    await reaches(redis, 'up');
    await redis.ping();
    expect(states).toEqual(['down', 'up']);
  });

  it('is down while the server is a read-only replica, and up when it is the primary again', async () => {
    const server = await startPrivateRedis();
    const redis = await connect(server.url);
    const operator = await connect(server.url);
    await operator.command('replicaof', ['127.0.0.1', '1']);
    await expect(redis.command('set', [redis.key('a'), '1'])).rejects.toMatchObject({
      code: 'REDIS_UNAVAILABLE',
    });
    await reaches(redis, 'down');
    await operator.command('replicaof', ['no', 'one']);
    await reaches(redis, 'up');
    await redis.command('set', [redis.key('a'), '1']);
  });

  it('gives up on a command that takes too long', async () => {
    const server = await startPrivateRedis();
    const redis = await connect(server.url, { commandTimeoutMs: 200 });
    server.pause();
    onTestFinished(() => server.resume());
    await expect(redis.command('get', ['x'])).rejects.toMatchObject({ code: 'REDIS_UNAVAILABLE' });
    server.resume();
  });
});

describe('a Redis script', () => {
  it('is loaded once for many concurrent calls', async () => {
    const server = await startPrivateRedis();
    const redis = await connect(server.url);
    const script = await counter();
    const results = await Promise.all(
      Array.from({ length: 500 }, () => redis.run(script, [redis.key('n')], [2])),
    );
    expect(new Set(results).size).toBe(500);
    expect(await redis.command('get', [redis.key('n')])).toBe('1000');
    const stats = String(await redis.command('info', ['commandstats']));
    expect(stats).toMatch(/cmdstat_script\|load:calls=1,/);
    expect(stats).toMatch(/cmdstat_evalsha:calls=500,/);
  });

  it('is loaded again after a flush, with every call executed once', async () => {
    const server = await startPrivateRedis();
    const redis = await connect(server.url);
    const script = await counter();
    const burst = () => Array.from({ length: 100 }, () => redis.run(script, [redis.key('n')], [1]));
    await Promise.all(burst());
    await Promise.all([...burst(), redis.command('script', ['flush']), ...burst()]);
    await redis.command('script', ['flush']);
    await Promise.all(burst());
    expect(await redis.command('get', [redis.key('n')])).toBe('400');
  });

  it('is loaded again by a server that was restarted', async () => {
    const server = await startPrivateRedis();
    const redis = await connect(server.url);
    const script = await counter();
    await redis.run(script, [redis.key('n')], [1]);
    const down = reaches(redis, 'down');
    await server.restart();
    await down;
    await reaches(redis, 'up');
    expect(await redis.run(script, [redis.key('n')], [5])).toBe(5);
  });
});

describe('an unusable Redis', () => {
  it('requires another password', async () => {
    const server = await startPrivateRedis();
    const wrong = server.url.replace(/:[^:@]+@/, ':wrong-password@');
    expect(await refusal(wrong)).toMatchObject({ code: 'REDIS_UNUSABLE', isRetryable: false });
    expect((await refusal(wrong)).message).toContain('does not accept the user or password');
    const without = await refusal(server.url.replace(/\/\/.*@/, '//'));
    expect(without.message).toContain('needs a password');
  });

  it('has no such database, and no other is used instead', async () => {
    const server = await startPrivateRedis();
    const numbered = (database: number) =>
      Object.assign(new URL(server.url), { pathname: `/${database}` }).href;
    const error = await refusal(numbered(99));
    expect(error).toMatchObject({ code: 'REDIS_UNUSABLE', isRetryable: false });
    expect(error.message).toContain('no such database number. Correct the number in REDIS_URL.');
    const redis = await connect(numbered(3));
    const inThree = async () => String(await redis.command('client', ['info'])).includes(' db=3 ');
    expect(await inThree()).toBe(true);
    const down = reaches(redis, 'down');
    await server.restart();
    await down;
    await reaches(redis, 'up');
    expect(await inThree()).toBe(true);
  });

  it('is a cluster', async () => {
    const server = await startPrivateRedis({ extraConfig: ['cluster-enabled yes'] });
    const error = await refusal(server.url);
    expect(error).toMatchObject({ code: 'REDIS_UNUSABLE' });
    expect(error.message).toContain('Redis Cluster is not supported: one decision touches two keys');
  });

  it('is a read-only replica', async () => {
    const server = await startPrivateRedis({ extraConfig: ['replicaof 127.0.0.1 1'] });
    expect((await refusal(server.url)).message).toContain('read-only replica');
  });

  it('is an HTTP server', async () => {
    const url = await listening(createServer((_, response) => response.end('hello')));
    expect((await refusal(url)).message).toContain('does not use the Redis protocol');
  });

  it('closes the connection', async () => {
    const url = await listening(createTcpServer((socket) => socket.destroy()));
    expect((await refusal(url)).message).toContain('does not use the Redis protocol');
  });

  it('never responds', async () => {
    const url = await listening(createTcpServer((socket) => onTestFinished(() => void socket.destroy())));
    const error = await refusal(url, { connectTimeoutMs: 200, commandTimeoutMs: 200 });
    expect(error).toMatchObject({ code: 'REDIS_UNAVAILABLE' });
  });

  it.each(['not a url', 'http://127.0.0.1:1', 'redis://', 'redis://127.0.0.1/main'])(
    'has an invalid address (%s)',
    async (url) => {
      expect(await refusal(url)).toMatchObject({ code: 'CONFIG_INVALID' });
    },
  );

  it('is unreachable: opening fails, or the connection stays down and recovers by itself, as configured', async () => {
    const server = await startPrivateRedis();
    await server.stop();
    expect(await refusal(server.url)).toMatchObject({ code: 'REDIS_UNAVAILABLE', isRetryable: true });
    const redis = await connect(server.url, { whenUnreachable: 'stay-down' });
    expect(redis.state).toBe('down');
    await server.restart();
    await reaches(redis, 'up');
    await redis.ping();
  });

  it('is rejected when it is too old, or a Sentinel', () => {
    expect(
      unusableReason('redis_version:5.0.7\r\nredis_mode:standalone\r\nrole:master', 'a')?.message,
    ).toContain('version 5.0.7. Use Redis 6 or newer.');
    expect(unusableReason('redis_version:7.0.0\r\nredis_mode:sentinel', 'a')?.message).toContain('Sentinel');
    expect(unusableReason('nonsense', 'a')?.code).toBe('REDIS_UNUSABLE');
    expect(
      unusableReason('redis_version:7.0.0\r\nredis_mode:standalone\r\nrole:master', 'a'),
    ).toBeUndefined();
  });
});
