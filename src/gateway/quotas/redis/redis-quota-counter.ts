// Counts in Redis: every process that uses the same provider key shares one count. One round trip a decision.
import type { RedisConnection } from '../../../platform/redis/connection.ts';
import { redisScript } from '../../../platform/redis/script.ts';
import type { Counted, CountedWindow, QuotaCounter } from '../ports.ts';

const script = redisScript(new URL('./count-costs.lua', import.meta.url));

/** Fails with REDIS_UNAVAILABLE while Redis is away. */
export class RedisQuotaCounter implements QuotaCounter {
  readonly #redis: RedisConnection;
  readonly #now: (() => number) | undefined;

  /** `now` only for tests: milliseconds that stand in for the server's own clock. */
  constructor(redis: RedisConnection, now?: () => number) {
    this.#redis = redis;
    this.#now = now;
  }

  async count(name: string, windows: readonly CountedWindow[], costs: readonly number[]): Promise<Counted> {
    const reply = (await this.#run(name, windows, costs, '')) as readonly unknown[];
    return { waitMs: Number(reply[0]), stamp: Number(reply[1]) };
  }

  async wait(name: string, windows: readonly CountedWindow[], costs: readonly number[]): Promise<number> {
    const reply = (await this.#run(name, windows, costs, 'look')) as readonly unknown[];
    return Number(reply[0]);
  }

  async correct(
    name: string,
    windows: readonly CountedWindow[],
    amounts: readonly number[],
    stamp: number,
  ): Promise<void> {
    await this.#run(name, windows, amounts, stamp);
  }

  #run(
    name: string,
    windows: readonly CountedWindow[],
    amounts: readonly number[],
    stamp: number | '' | 'look',
  ): Promise<unknown> {
    const specs = windows.flatMap(({ name: window, limit, bucketMs, buckets }, index) => [
      window,
      limit,
      bucketMs,
      buckets,
      amounts[index] ?? 0,
    ]);
    const key = this.#redis.key(`headworks:quota:${name}`);
    return this.#redis.run(script, [key], [this.#now?.() ?? '', stamp, ...specs]);
  }
}
