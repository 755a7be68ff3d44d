// Limits of gateway keys, checked before any model is called.
import type { Clock } from '../../core/index.ts';
import { toSnakeCase } from '../../core/index.ts';
import { GatewayError } from '../errors.ts';
import type { QuotaWindow } from '../quotas/quota-counter.ts';
import type { TieredCounter } from '../quotas/tiered-counter.ts';
import type { GatewayKey, KeyLimits } from '../types.ts';
import type { GatewayKeys, UsageTracker } from './gateway-keys.ts';

export interface KeyLimiterDeps {
  readonly clock: Clock;
  readonly keys: Pick<GatewayKeys, 'byId'>;
  readonly usage: Pick<UsageTracker, 'usedToday'>;
  readonly counter: Pick<TieredCounter, 'count'>;
}

const dayMs = 86_400_000;

/** Buckets of half a second: at most `limit` in any 60 s; a request may have to wait for half a second more. */
const minuteWindow = (limit: number): QuotaWindow => ({
  name: 'requestsPerMinute',
  unit: 'requests',
  limit,
  bucketMs: 500,
  buckets: 120,
});

const one = [1];

export class KeyLimiter {
  readonly #deps: KeyLimiterDeps;

  constructor(deps: KeyLimiterDeps) {
    this.#deps = deps;
  }

  /**
   * Counts the request of this caller, or fails with GATEWAY_KEY_LIMIT_REACHED. Callers that are no keys have no limits.
   * Waits only where requests are counted by all processes together.
   */
  admit(caller: string): void | Promise<void> {
    const key = caller.startsWith('key:') ? this.#deps.keys.byId(caller.slice(4)) : undefined;
    if (!key) return undefined;
    if (key.tokensPerDay !== null || key.usdPerDay !== null) this.#checkDay(key, caller);
    return key.requestsPerMinute === null ? undefined : this.#countMinute(key, key.requestsPerMinute);
  }

  #checkDay(key: GatewayKey, caller: string): void {
    const { clock, usage } = this.#deps;
    const { tokens, usd } = usage.usedToday(caller);
    const resetMs = dayMs - (clock.now() % dayMs);
    if (key.tokensPerDay !== null && tokens >= key.tokensPerDay)
      throw this.#limitReached(key, 'tokensPerDay', key.tokensPerDay, tokens, resetMs);
    if (key.usdPerDay !== null && usd >= key.usdPerDay)
      throw this.#limitReached(key, 'usdPerDay', key.usdPerDay, usd, resetMs);
  }

  #countMinute(key: GatewayKey, limit: number): void | Promise<void> {
    const counted = this.#deps.counter.count(`key:${key.id}`, [minuteWindow(limit)], one);
    const check = ({ waitMs }: { readonly waitMs: number }) => {
      if (waitMs > 0) throw this.#limitReached(key, 'requestsPerMinute', limit, limit, waitMs);
    };
    return counted instanceof Promise ? counted.then(check) : check(counted);
  }

  #limitReached(
    { name }: GatewayKey,
    limit: keyof KeyLimits,
    value: number,
    used: number,
    resetMs: number,
  ): GatewayError {
    const resetsAt = new Date(this.#deps.clock.now() + resetMs).toISOString();
    return new GatewayError('GATEWAY_KEY_LIMIT_REACHED', messageOf[limit](name, value, resetMs), {
      isRetryable: true,
      retryAfterMs: resetMs,
      // The name of the field in the API.
      details: { limit: toSnakeCase(limit), value, used, resetsAt },
    });
  }
}

const messageOf: Readonly<Record<keyof KeyLimits, (key: string, value: number, resetMs: number) => string>> =
  {
    requestsPerMinute: (key, value, resetMs) =>
      `The key "${key}" has sent its ${value} requests per minute; the next one is accepted in ${Math.ceil(resetMs / 1_000)} s.`,
    tokensPerDay: (key, value) =>
      `The key "${key}" has used its ${value} tokens per day; it works again after midnight UTC.`,
    usdPerDay: (key, value) =>
      `The key "${key}" has used its ${value} US dollars per day; it works again after midnight UTC.`,
  };
