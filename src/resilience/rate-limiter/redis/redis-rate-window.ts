// Decides in Redis: every process with the same key shares one rate and one backoff. One round trip an exchange.
import type { RedisConnection } from '../../../platform/redis/ports.ts';
import { redisScript } from '../../../platform/redis/redis-script.ts';
import { adaptation } from '../adaptation.ts';
import { slidingWindows } from '../limits.ts';
import type { Demand, RateLimits, RateWindow, Taken } from '../ports.ts';

export interface RedisRateWindowOptions {
  readonly redis: RedisConnection;
  /** Names the limiter among others (see `limiterKey`); shared by all processes that mean the same quota. */
  readonly key: string;
  readonly limits: RateLimits;
  /** As in memory. Default true. */
  readonly adaptive?: boolean;
  /** Only for tests: milliseconds that stand in for the server's own clock. */
  readonly now?: () => number;
}

const script = redisScript(new URL('./take-grants.lua', import.meta.url));

/** Longer than the longest slowed window (64 minutes): what expires can no longer matter. */
const keepMs = 2 * 3_600_000;

export class RedisRateWindow implements RateWindow {
  readonly limits: RateLimits;
  readonly isLocal = false;
  readonly #redis: RedisConnection;
  readonly #keys: readonly string[];
  readonly #now: (() => number) | undefined;
  readonly #isAdaptive: boolean;
  readonly #policy: readonly number[];

  constructor({ redis, key, limits, adaptive = true, now }: RedisRateWindowOptions) {
    this.limits = limits;
    this.#redis = redis;
    this.#keys = [redis.key(`headworks:rate:${key}:grants`), redis.key(`headworks:rate:${key}:state`)];
    this.#now = now;
    this.#isAdaptive = adaptive;
    this.#policy = [
      adaptation.increase,
      adaptation.decrease,
      adaptation.largestMultiplier,
      adaptation.successesPerStep,
      adaptation.firstProbeSuccesses,
      adaptation.largestProbeSuccesses,
      adaptation.settlingMs,
      keepMs,
      ...slidingWindows(limits).flatMap(({ limit, windowMs, guardMs }) => [limit, windowMs, guardMs]),
    ];
  }

  async take(demand: Demand): Promise<Taken> {
    const reply = await this.#redis.run(script, this.#keys, [
      this.#now?.() ?? '',
      demand.wanted,
      this.#isAdaptive ? 1 : 0,
      demand.successes,
      demand.successEpoch,
      demand.refusals,
      demand.refusalEpoch,
      demand.pauseMs,
      demand.returned,
      demand.returnedStamp,
      [...demand.late, ...demand.held].join(),
      ...this.#policy,
    ]);
    return takenFrom(reply);
  }
}

/** The reply of take-grants.lua, in its order. */
function takenFrom(reply: unknown): Taken {
  const values = (reply as readonly unknown[]).map(String);
  const number = (index: number) => Number(values[index]);
  return {
    granted: number(0),
    waitMs: number(1),
    stamp: values[2] ?? '',
    state: {
      multiplier: number(3),
      epoch: number(4),
      consecutiveSuccesses: number(5),
      total429: number(6),
      last429At: number(7),
      ceiling: number(8),
      probeSuccesses: number(9),
      pausedUntil: number(10),
      settledMultiplier: number(11),
      steppedAt: number(12),
    },
  };
}
