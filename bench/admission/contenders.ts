// Implementations that acquire and release a slot: ours, empty scripts, one layer only, and the founding document's.
import { createHash, randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { RedisSlotStore } from '../../src/tenancy/admission/redis/redis-slot-store.ts';
import { connectRedis } from '../../src/platform/redis/connection.ts';
import type { RedisScript } from '../../src/platform/redis/script.ts';
import { FoundingLimiter } from './founding-limiter.ts';

export type Implementation = 'ours' | 'bare' | 'least' | 'peer' | 'founding' | 'foundingConcurrent';

/** One decision and one release, for the organization of this caller. */
export type Pair = (organization: string) => Promise<void>;

export interface Contenders {
  readonly pairs: Readonly<Record<Implementation, Pair>>;
  close(): Promise<void>;
}

/** Never reached: every request is admitted. */
const unlimited = 100_000;

const source = 'return 1';
const empty: RedisScript = { name: 'empty', source, sha: createHash('sha1').update(source).digest('hex') };

type Semaphore = new (
  client: Redis,
  key: string,
  limit: number,
  options: object,
) => { tryAcquire(): Promise<boolean>; release(): Promise<void> };

/** Imported at run time: compared libraries are not dependencies of the package. */
const semaphoreFile = new URL('../peers/node_modules/redis-semaphore/lib/index.js', import.meta.url).href;

export async function openContenders(url: string, keyPrefix: string): Promise<Contenders> {
  const redis = await connectRedis({ url, keyPrefix });
  // The same connection options, so that only the calls differ.
  const client = new Redis(url, { enableAutoPipelining: true, commandTimeout: 2_000 });
  const { Semaphore } = (await import(semaphoreFile)) as { readonly Semaphore: Semaphore };
  // Each with its best connection mode: batching commands costs a single caller one turn of the event loop.
  const plainClient = new Redis(url, { commandTimeout: 2_000 });
  const founding = new FoundingLimiter(plainClient, `${keyPrefix}founding:`);
  const foundingConcurrent = new FoundingLimiter(client, `${keyPrefix}crowd:`);
  const store = new RedisSlotStore({ redis, leaseSeconds: 60, cacheTtlSeconds: 600 });
  await store.restore([]);
  return {
    pairs: {
      async ours(organizationId) {
        const request = { organizationId, executionId: randomUUID(), globalLimit: unlimited };
        let answer = await store.acquire(request);
        if (answer.kind === 'limit-unknown')
          answer = await store.acquire({ ...request, limit: { value: unlimited, token: answer.token } });
        if (answer.kind !== 'admitted') throw new Error(`Not admitted: ${JSON.stringify(answer)}`);
        await store.release(request);
      },
      /** Two empty scripts, sent by the same connection class. */
      async bare() {
        await redis.run(empty, [redis.key('bare')], []);
        await redis.run(empty, [redis.key('bare')], []);
      },
      /** The same without a key and without batching: the lower bound for two scripts. */
      async least() {
        await redis.run(empty, [], [], 'at-once');
        await redis.run(empty, [], [], 'at-once');
      },
      async peer(organization) {
        const options = { lockTimeout: 60_000, refreshInterval: 0, acquireAttemptsLimit: 1 };
        const slot = new Semaphore(client, `${keyPrefix}${organization}`, unlimited, options);
        if (!(await slot.tryAcquire())) throw new Error('Not admitted.');
        await slot.release();
      },
      founding: (organization) => foundingPair(founding, organization),
      foundingConcurrent: (organization) => foundingPair(foundingConcurrent, organization),
    },
    async close() {
      await redis.close();
      client.disconnect();
      plainClient.disconnect();
    },
  };
}

async function foundingPair(limiter: FoundingLimiter, organization: string): Promise<void> {
  const execution = randomUUID();
  if (!(await limiter.acquire(organization, execution, { org: unlimited, global: unlimited })))
    throw new Error('Not admitted.');
  await limiter.release(organization, execution);
}
