// The founding document's algorithm, unchanged: a lock for the organization, then one command after the other.
import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';

const lockTimeoutMs = 2_000;
const blockingTimeoutMs = 5_000;
/** Delay of the original Redis client between two attempts to get a lock. */
const lockPollMs = 100;
const ttlSeconds = 6 * 3_600;
const unlock = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0";

export class FoundingLimiter {
  readonly #client: Redis;
  readonly #prefix: string;
  #unlockSha = '';

  constructor(client: Redis, prefix: string) {
    this.#client = client;
    this.#prefix = prefix;
  }

  /**
   * Nine round trips, one after the other: lock, two sweeps, the cached limit, its new time to live, two counts, both
   * entries together, unlock. More when the lock is taken. The release is a tenth.
   */
  async acquire(org: string, execution: string, limits: { org: number; global: number }): Promise<boolean> {
    const client = this.#client;
    const lock = `${this.#prefix}lock:rate_limit:org:${org}`;
    const holder = randomUUID();
    const givenUpAt = performance.now() + blockingTimeoutMs;
    while ((await client.set(lock, holder, 'PX', lockTimeoutMs, 'NX')) === null) {
      // Without the lock the founding document admits the request.
      if (performance.now() > givenUpAt) return true;
      await new Promise((resolve) => setTimeout(resolve, lockPollMs));
    }
    try {
      return await this.#decide(org, execution, limits);
    } finally {
      this.#unlockSha ||= String(await client.script('LOAD', unlock));
      await client.evalsha(this.#unlockSha, 1, lock, holder);
    }
  }

  async release(org: string, execution: string): Promise<void> {
    const { own, all } = this.#keys(org);
    await this.#client.multi().zrem(own, execution).zrem(all, execution).exec();
  }

  async #decide(org: string, execution: string, limits: { org: number; global: number }): Promise<boolean> {
    const client = this.#client;
    const { own, all, cache } = this.#keys(org);
    const now = Date.now() / 1_000;
    await client.zremrangebyscore(own, '-inf', now - ttlSeconds);
    await client.zremrangebyscore(all, '-inf', now - ttlSeconds);
    const limit = Number((await client.get(cache)) ?? limits.org);
    await client.set(cache, limit, 'EX', 600);
    if ((await client.zcard(own)) >= limit) return false;
    if ((await client.zcard(all)) >= limits.global) return false;
    await client.multi().zadd(own, now, execution).zadd(all, now, execution).exec();
    return true;
  }

  #keys(org: string): { readonly own: string; readonly all: string; readonly cache: string } {
    return {
      own: `${this.#prefix}api_deployment:rate_limit:org:${org}`,
      all: `${this.#prefix}api_deployment:rate_limit:global`,
      cache: `${this.#prefix}rate_limit:cache:org_limit:${org}`,
    };
  }
}
