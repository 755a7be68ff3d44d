// Decides in Redis: all processes with the same key share one rate and one backoff. One round trip per exchange.
import type { RedisConnection } from '../../platform/redis/connection.ts';
import { redisScript } from '../../platform/redis/script.ts';
import type { LateGrant, WindowRequest, RateLimits, RateWindow, WindowReply } from './policy.ts';
import { adaptation, backoffFields, initialBackoff } from './backoff.ts';
import { minSpacingMs, sharedValidityMs, slidingWindows } from './policy.ts';

export interface RedisRateWindowOptions {
  readonly redis: RedisConnection;
  /** Identifies the limiter (see `limiterKey`); the same for all processes that share the quota. */
  readonly key: string;
  readonly limits: RateLimits;
  /** As in MemoryRateWindow. Default true. */
  readonly adaptive?: boolean;
  /** Only for tests: milliseconds used instead of the server's clock. */
  readonly now?: () => number;
}

const script = redisScript(new URL('./take-grants.lua', import.meta.url));

/** Longer than the longest slowed window (64 minutes), so that nothing relevant expires. */
const keepMs = 2 * 3_600_000;

export class RedisRateWindow implements RateWindow {
  readonly limits: RateLimits;
  readonly isLocal = false;
  readonly #redis: RedisConnection;
  readonly #keys: readonly string[];
  readonly #now: (() => number) | undefined;
  readonly #isAdaptive: boolean;
  /** Constants, as JSON. */
  readonly #policy: string;
  readonly #windows: readonly number[];

  constructor({ redis, key, limits, adaptive = true, now }: RedisRateWindowOptions) {
    this.limits = limits;
    this.#redis = redis;
    this.#keys = [redis.key(`headworks:rate:${key}:grants`), redis.key(`headworks:rate:${key}:state`)];
    this.#now = now;
    this.#isAdaptive = adaptive;
    this.#policy = JSON.stringify({
      adaptation,
      initial: initialBackoff,
      fields: backoffFields,
      ttl_ms: keepMs,
      spacing_ms: minSpacingMs,
    });
    this.#windows = slidingWindows(limits).flatMap(({ limit, windowMs, guardMs }) => [
      limit,
      windowMs,
      guardMs,
    ]);
  }

  sendLate({ lateMs, stamp }: LateGrant): string | null {
    return lateMs <= sharedValidityMs ? stamp : null;
  }

  async exchange(request: WindowRequest): Promise<WindowReply> {
    const reply = await this.#redis.run(script, this.#keys, [
      this.#now?.() ?? '',
      request.wanted,
      this.#isAdaptive ? 1 : 0,
      request.successes,
      request.epochSuccesses,
      request.successEpoch,
      request.rateLimitedCalls,
      request.rateLimitedEpoch,
      request.pauseMs,
      request.returned,
      request.returnedStamp,
      [...request.sentLate, ...request.unsent].join(),
      this.#policy,
      request.isReset ? 1 : 0,
      ...this.#windows,
    ]);
    return parseReply(reply);
  }
}

/** The reply of take-grants.lua, in its order. */
function parseReply(reply: unknown): WindowReply {
  const [granted, waitMs, stamp = '', pausedUntil, ...backoff] = (reply as readonly unknown[]).map(String);
  const fields = backoffFields.map((name, index) => [name, Number(backoff[index])]);
  return {
    granted: Number(granted),
    waitMs: Number(waitMs),
    stamp,
    state: { ...initialBackoff, ...Object.fromEntries(fields), pausedUntil: Number(pausedUntil) },
  };
}
