// Counts in Redis: all processes with the same provider key share one count. One round trip per decision.
import type { RedisConnection } from '../../platform/redis/connection.ts';
import { redisScript } from '../../platform/redis/script.ts';
import type { CountResult, QuotaCounter, QuotaWindow } from './quota-counter.ts';

const script = redisScript(new URL('./count-costs.lua', import.meta.url));

/** Fails with REDIS_UNAVAILABLE while Redis cannot be reached. */
export class RedisQuotaCounter implements QuotaCounter {
  readonly #redis: RedisConnection;
  readonly #now: (() => number) | undefined;

  /** `now` is for tests: milliseconds in place of the server's clock. */
  constructor(redis: RedisConnection, now?: () => number) {
    this.#redis = redis;
    this.#now = now;
  }

  async count(name: string, windows: readonly QuotaWindow[], costs: readonly number[]): Promise<CountResult> {
    const reply = (await this.#run(name, windows, costs, '')) as readonly unknown[];
    return { waitMs: Number(reply[0]), stamp: Number(reply[1]) };
  }

  async wait(name: string, windows: readonly QuotaWindow[], costs: readonly number[]): Promise<number> {
    const reply = (await this.#run(name, windows, costs, 'peek')) as readonly unknown[];
    return Number(reply[0]);
  }

  async correct(
    name: string,
    windows: readonly QuotaWindow[],
    amounts: readonly number[],
    stamp: number,
  ): Promise<void> {
    await this.#run(name, windows, amounts, stamp);
  }

  #run(
    name: string,
    windows: readonly QuotaWindow[],
    amounts: readonly number[],
    stamp: number | '' | 'peek',
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
