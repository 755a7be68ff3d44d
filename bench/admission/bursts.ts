// Bursts of callers from several processes: is exactly the limit admitted, every time?
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { RedisSlotStore } from '../../src/tenancy/admission/redis/redis-slot-store.ts';
import { connectRedis } from '../../src/platform/redis/connection.ts';
import type { Figure } from '../figure.ts';

export interface Burst {
  readonly round: number;
  /** Concurrent callers in each process. */
  readonly callers: number;
  readonly organizations: number;
  readonly limit: number;
  readonly globalLimit: number;
}

const processes = 4;
const callers = 250;
const file = fileURLToPath(new URL('./burst-process.ts', import.meta.url));

/** Half of the rounds against one organization's limit of 20, half against a global limit of 100. */
export async function burstFigure(url: string, keyPrefix: string, rounds: number): Promise<Figure> {
  const redis = await connectRedis({ url, keyPrefix });
  const store = new RedisSlotStore({ redis, leaseSeconds: 600, cacheTtlSeconds: 600 });
  await store.restore([]);
  const children = Array.from({ length: processes }, (_, number) =>
    fork(file, [url, keyPrefix, String(number)]),
  );
  const received = (): Promise<number[]> =>
    Promise.all(children.map(async (child) => Number((await once(child, 'message'))[0])));
  try {
    await received();
    let exact = 0;
    for (let round = 0; round < rounds; round++) {
      const isGlobal = round % 2 === 1;
      const limit = isGlobal ? 100 : 20;
      const answers = received();
      for (const child of children)
        child.send({
          round,
          callers,
          organizations: isGlobal ? 50 : 1,
          limit: isGlobal ? 90 : limit,
          globalLimit: isGlobal ? limit : 1_000_000,
        } satisfies Burst);
      const admitted = (await answers).reduce((sum, count) => sum + count, 0);
      const holders = await store.holders();
      if (admitted === limit && holders.length === limit) exact++;
      await Promise.all(holders.map((slot) => store.release(slot)));
    }
    return {
      name: `bursts of ${(processes * callers).toLocaleString('en')} callers from ${processes} processes that admit exactly the limit`,
      value: exact,
      unit: `of ${rounds}`,
      goal: 'every time',
      isMet: exact === rounds,
    };
  } finally {
    for (const child of children) child.kill();
    await redis.close();
  }
}
