// Counts costs in sliding windows: the interface, the windows of a model's quotas, the counters in memory and in Redis.
import type { Clock } from '../../core/index.ts';
import type { RedisConnection } from '../../platform/redis/connection.ts';
import { redisScript } from '../../platform/redis/script.ts';
import type { Quotas } from '../types.ts';

/** At most `limit` in any `bucketMs * buckets`, counted in buckets: exact to one bucket, to the safe side. */
export interface QuotaWindow {
  readonly name: string;
  readonly unit: 'requests' | 'tokens';
  readonly limit: number;
  readonly bucketMs: number;
  readonly buckets: number;
}

export interface CountResult {
  /** 0: counted in every window. Otherwise counted in none; it may be after this many milliseconds. */
  readonly waitMs: number;
  /** When it was counted, in milliseconds of the counter's clock; refers to it in `correct`. */
  readonly stamp: number;
}

/** Adapters: memory, and Redis for several processes. */
export interface QuotaCounter {
  /** After this time each process counts for itself for a while. Default: 250 ms. */
  readonly timeoutMs?: number;
  /** One atomic decision. `costs` are integers, one per window; a cost above its limit needs an empty window. */
  count(
    name: string,
    windows: readonly QuotaWindow[],
    costs: readonly number[],
  ): CountResult | Promise<CountResult>;
  /** Milliseconds until these costs may be counted; 0: now. Counts nothing. */
  wait(name: string, windows: readonly QuotaWindow[], costs: readonly number[]): number | Promise<number>;
  /** Adds to what was counted at `stamp`; negative amounts refund. Expired windows stay as they are. */
  correct(
    name: string,
    windows: readonly QuotaWindow[],
    amounts: readonly number[],
    stamp: number,
  ): void | Promise<void>;
}

/* ---- windows ---- */

/** The provider counts arrivals, and calls take different times to arrive. */
const arrivalMarginMs = 300;

/** Buckets of half a second and five minutes: at most 0.8% of a quota is left unused. */
const minute = { windowMs: 60_000, buckets: 120 };
export const dayMs = 86_400_000;
const day = { windowMs: dayMs, buckets: 288 };

const windowKinds = [
  { name: 'requestsPerMinute', unit: 'requests', ...minute },
  { name: 'requestsPerDay', unit: 'requests', ...day },
  { name: 'tokensPerMinute', unit: 'tokens', ...minute },
  { name: 'tokensPerDay', unit: 'tokens', ...day },
] as const;

/**
 * Sliding windows, whatever the provider uses: a limit kept in every 24 hours is also kept from midnight to midnight in
 * any time zone. Empty for a model without quotas.
 */
export function quotaWindowsOf(quotas: Quotas): readonly QuotaWindow[] {
  const windows: QuotaWindow[] = [];
  for (const { name, unit, windowMs, buckets } of windowKinds) {
    const limit = quotas[name];
    const bucketMs = (windowMs + arrivalMarginMs) / buckets;
    if (limit !== undefined) windows.push({ name, unit, limit: Math.floor(limit), bucketMs, buckets });
  }
  return windows;
}

/* ---- in memory ---- */

/** On the monotonic clock. A window takes 1 to 2.3 KB, and there are as many names as models times keys. */
export class MemoryQuotaCounter implements QuotaCounter {
  readonly #clock: Clock;
  readonly #windows = new Map<string, CostWindow>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  count(name: string, windows: readonly QuotaWindow[], costs: readonly number[]): CountResult {
    const now = this.#clock.monotonic();
    const waitMs = this.wait(name, windows, costs);
    if (waitMs === 0) this.correct(name, windows, costs, now);
    return { waitMs, stamp: now };
  }

  wait(name: string, windows: readonly QuotaWindow[], costs: readonly number[]): number {
    const now = this.#clock.monotonic();
    let waitMs = 0;
    for (const [index, window] of windows.entries()) {
      const counted = this.#costsOf(name, window);
      waitMs = Math.max(waitMs, counted.waitMs(costs[index] ?? 0, window.limit, now));
    }
    return waitMs;
  }

  correct(name: string, windows: readonly QuotaWindow[], amounts: readonly number[], stamp: number): void {
    for (const [index, window] of windows.entries())
      this.#costsOf(name, window).add(amounts[index] ?? 0, stamp);
  }

  /** Costs by the window's name, not its limit: a changed quota continues with what was counted. */
  #costsOf(name: string, window: QuotaWindow): CostWindow {
    const key = `${name} ${window.name}`;
    let costs = this.#windows.get(key);
    if (!costs) this.#windows.set(key, (costs = new CostWindow(window.bucketMs, window.buckets)));
    return costs;
  }
}

/**
 * A sliding window over costs in a ring of buckets; one entry per cost would not scale to tokens. Times are
 * milliseconds of one clock and must not decrease, except in `add`. count-costs.lua implements the same rules.
 */
export class CostWindow {
  readonly #bucketMs: number;
  readonly #buckets: number;
  /** One more than the window has: a bucket leaves when its whole span has passed. */
  readonly #costs: Float64Array;
  #newest = Number.NEGATIVE_INFINITY;
  #total = 0;

  constructor(bucketMs: number, buckets: number) {
    this.#bucketMs = bucketMs;
    this.#buckets = buckets;
    this.#costs = new Float64Array(buckets + 1);
  }

  /** How long until this cost fits below the limit; 0: now. */
  waitMs(cost: number, limit: number, now: number): number {
    this.#advance(now);
    const needed = Math.min(cost, Math.max(limit, 1));
    let total = this.#total;
    if (total + needed <= limit) return 0;
    let index = this.#newest - this.#buckets;
    for (; index < this.#newest; index++) {
      total -= this.#costs[this.#slot(index)] ?? 0;
      if (total + needed <= limit) break;
    }
    return Math.max(1, Math.ceil((index + this.#buckets + 1) * this.#bucketMs - now));
  }

  /** `at` may be in the past; outside the window it is ignored. No bucket falls below 0. */
  add(amount: number, at: number): void {
    const index = Math.floor(at / this.#bucketMs);
    if (index > this.#newest) this.#advance(at);
    if (index < this.#newest - this.#buckets) return;
    const slot = this.#slot(index);
    const before = this.#costs[slot] ?? 0;
    const after = Math.max(0, before + amount);
    this.#costs[slot] = after;
    this.#total += after - before;
  }

  #advance(now: number): void {
    const index = Math.floor(now / this.#bucketMs);
    if (index - this.#newest >= this.#costs.length) {
      this.#costs.fill(0);
      this.#total = 0;
      this.#newest = index;
    }
    while (this.#newest < index) {
      const slot = this.#slot(++this.#newest);
      this.#total -= this.#costs[slot] ?? 0;
      this.#costs[slot] = 0;
    }
  }

  /** Indices may be negative: a monotonic clock starts anywhere, and earlier calls lie before it. */
  #slot(index: number): number {
    const size = this.#costs.length;
    return ((index % size) + size) % size;
  }
}

/* ---- in Redis ---- */

const script = redisScript(new URL('./count-costs.lua', import.meta.url));

/**
 * One count for all processes with the same provider key, one round trip per decision. Fails with REDIS_UNAVAILABLE while
 * Redis cannot be reached.
 */
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
