// Benchmarks of core parts: limiter, queue, start-up, idle memory.
import { execFile, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { systemClock } from '../src/core/index.ts';
import { connectRedis } from '../src/platform/redis/connection.ts';
import type { RedisScript } from '../src/platform/redis/script.ts';
import { AdaptiveRateLimiter, BoundedQueue } from '../src/resilience/index.ts';
import { createRateLimiter } from '../test/support/resilience/memory-rate-limiter.ts';
import { RedisRateWindow } from '../src/resilience/rate-limiter/redis-window.ts';
import { createHash, randomBytes } from 'node:crypto';
import type { Figure } from './figure.ts';
import { perSecond } from './figure.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
/** Not the bottleneck: the maximum of the setting. */
const unlimited = { perSecond: 1_000_000 };
const together = 100;

export async function kernelFigures({ redisUrl }: { readonly redisUrl: string }): Promise<readonly Figure[]> {
  return [...(await limiterFigures(redisUrl)), await queueFigure(), ...(await serverFigures())];
}

async function limiterFigures(redisUrl: string): Promise<readonly Figure[]> {
  const local = createRateLimiter({ clock: systemClock, limits: unlimited });
  const inProcess = await perSecond(together, () => acquireAll(local));
  const redis = await connectRedis({ url: redisUrl, keyPrefix: `bench:${randomBytes(4).toString('hex')}:` });
  try {
    const source = 'return 1';
    const bare: RedisScript = { name: 'bare', source, sha: createHash('sha1').update(source).digest('hex') };
    const key = redis.key('bare');
    const shared = new AdaptiveRateLimiter(
      new RedisRateWindow({ redis, key: 'shared', limits: unlimited }),
      systemClock,
    );
    const one = await perSecond(1, async () => (await shared.acquire()).succeeded());
    const bareOne = await perSecond(1, async () => void (await redis.run(bare, [key], [])));
    const many = await perSecond(together, () => acquireAll(shared));
    const bareMany = await perSecond(together, async () => {
      await Promise.all(Array.from({ length: together }, () => redis.run(bare, [key], [])));
    });
    return [
      { name: 'limiter decisions, in process', value: inProcess, unit: '/s' },
      {
        name: 'limiter decisions, Redis, one caller',
        value: one,
        unit: '/s',
        against: { name: 'bare EVALSHA', value: bareOne },
      },
      {
        name: `limiter decisions, Redis, ${together} callers`,
        value: many,
        unit: '/s',
        against: { name: `bare EVALSHA, ${together} pipelined`, value: bareMany },
      },
    ];
  } finally {
    await redis.close();
  }
}

async function acquireAll(limiter: AdaptiveRateLimiter): Promise<void> {
  const permits = await Promise.all(Array.from({ length: together }, () => limiter.acquire()));
  for (const permit of permits) permit.succeeded();
}

async function queueFigure(): Promise<Figure> {
  const size = 10_000;
  const value = await perSecond(size, async () => {
    const queue = new BoundedQueue<number>({ maxItems: 64, maxBytes: 64 * 1024 });
    const produce = async () => {
      for (let item = 0; item < size; item++) await queue.put(item, 100);
      queue.close();
    };
    const consume = async () => {
      for await (const _ of queue);
    };
    await Promise.all([produce(), consume()]);
  });
  return { name: 'queue hand-overs, one producer, one consumer', value, unit: '/s' };
}

/** The built package, as users run it. */
async function serverFigures(): Promise<readonly Figure[]> {
  await promisify(execFile)(process.execPath, ['scripts/build.ts'], { cwd: root });
  const folder = await mkdtemp(join(tmpdir(), 'headworks-bench-'));
  try {
    const cold = await startUp(folder);
    await cold.stop();
    const warm: number[] = [];
    for (let round = 0; round < 5; round++) {
      const run = await startUp(folder);
      warm.push(run.readyMs);
      await run.stop();
    }
    const median = warm.sort((a, b) => a - b)[2] ?? Number.NaN;
    const idle = await startUp(folder);
    await systemClock.sleep(10_000);
    const idleMegabytes = await residentMegabytes(idle.pid);
    await idle.stop();
    return [
      { name: 'start to ready, embedded, new folder', value: cold.readyMs, unit: 'ms' },
      {
        name: 'start to ready, embedded, warm (median of 5)',
        value: median,
        unit: 'ms',
        goal: 'under 1500 ms',
        isMet: median < 1500,
      },
      { name: 'resident memory, idle for 10 s', value: idleMegabytes, unit: 'MB' },
    ];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function startUp(folder: string): Promise<{ pid: number; readyMs: number; stop(): Promise<void> }> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, [join(root, 'bin/headworks.cjs'), 'serve', '--port', '0', '--json'], {
    cwd: folder,
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], HEADWORKS_LOG_LEVEL: 'error' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const ready = new Promise<number>((resolve) =>
    child.stdout.on('data', (text: Buffer) => {
      if (text.includes('"ready"')) resolve(performance.now() - startedAt);
    }),
  );
  const readyMs = await Promise.race([ready, ended]);
  if (typeof readyMs !== 'number') throw new Error('The server ended before it was ready.');
  const stop = async () => {
    child.kill('SIGTERM');
    await ended;
  };
  return { pid: child.pid ?? 0, readyMs, stop };
}

async function residentMegabytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? Number.NaN) / 1024;
}
