// Limits of gateway keys, before any call.
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../test/support/core/virtual-clock.ts';
import { exampleKey, moment } from '../../../test/support/gateway/examples.ts';
import { silentEmitter } from '../../core/index.ts';
import type { QuotaCounter } from '../quotas/quota-counter.ts';
import { MemoryQuotaCounter } from '../quotas/quota-counter.ts';
import { TieredCounter } from '../quotas/tiered-counter.ts';
import type { KeyLimits } from '../types.ts';
import { KeyLimiter } from './key-limits.ts';

function limiter(limits: Partial<KeyLimits>, shared?: QuotaCounter, clock = new VirtualClock(moment(0))) {
  const { hash: _hash, ...key } = exampleKey(1, limits);
  const used = { tokens: 0, usd: 0 };
  const made = new KeyLimiter({
    clock,
    keys: { byId: (id) => (id === key.id ? key : undefined) },
    usage: { usedToday: () => used },
    counter: new TieredCounter({ clock, events: silentEmitter, shared }),
  });
  const caller = `key:${key.id}`;
  const admit = async () => made.admit(caller);
  return { clock, used, made, caller, admit };
}

describe('KeyLimiter', () => {
  it('admits other callers, unknown keys and keys without limits at once', () => {
    const { made, caller } = limiter({});
    for (const each of ['admin', 'org:org_1', 'key:unknown', caller])
      expect(made.admit(each)).toBeUndefined();
  });

  it('rejects a key that has used its tokens of the day until midnight UTC', async () => {
    const { admit, used } = limiter({ tokensPerDay: 100 });
    used.tokens = 99;
    await admit();
    used.tokens = 100;
    await expect(admit()).rejects.toMatchObject({
      code: 'GATEWAY_KEY_LIMIT_REACHED',
      message: 'The key "key 1" has used its 100 tokens per day; it works again after midnight UTC.',
      retryAfterMs: 12 * 3_600_000,
      details: { limit: 'tokens_per_day', value: 100, used: 100, resetsAt: '2026-03-02T00:00:00.000Z' },
    });
  });

  it('rejects a key that has used its US dollars of the day', async () => {
    const { admit, used } = limiter({ usdPerDay: 0.5 });
    used.usd = 0.499;
    await admit();
    used.usd = 0.5;
    await expect(admit()).rejects.toMatchObject({ details: { limit: 'usd_per_day', value: 0.5, used: 0.5 } });
  });

  it('admits no more requests in any 60 seconds than the limit, and says when the next one is possible', async () => {
    const { admit, clock } = limiter({ requestsPerMinute: 3 });
    for (const _ of [1, 2, 3]) {
      await admit();
      await clock.advance(10_000);
    }
    const rejected = await admit().catch((error: unknown) => error);
    expect(rejected).toMatchObject({ details: { limit: 'requests_per_minute', value: 3, used: 3 } });
    const { retryAfterMs } = rejected as { readonly retryAfterMs: number };
    // The first request leaves the window after 60 s, at the end of its half second.
    expect(retryAfterMs).toBeGreaterThanOrEqual(30_000);
    expect(retryAfterMs).toBeLessThanOrEqual(30_500);
    await clock.advance(retryAfterMs);
    await admit();
    await expect(admit()).rejects.toMatchObject({ code: 'GATEWAY_KEY_LIMIT_REACHED' });
  });

  it('does not count rejected requests', async () => {
    const { admit, clock, used } = limiter({ requestsPerMinute: 1, tokensPerDay: 1 });
    used.tokens = 1;
    for (let call = 0; call < 5; call++)
      await expect(admit()).rejects.toMatchObject({ details: { limit: 'tokens_per_day' } });
    used.tokens = 0;
    await admit();
    for (let call = 0; call < 5; call++) await expect(admit()).rejects.toThrow();
    await clock.advance(60_500);
    await admit();
  });

  it('counts the requests of all servers together where the counter is shared', async () => {
    const clock = new VirtualClock(moment(0));
    const shared = new MemoryQuotaCounter(clock);
    const servers = [1, 2].map(() => limiter({ requestsPerMinute: 5 }, shared, clock));
    const results = await Promise.allSettled(
      servers.flatMap(({ admit }) => [1, 2, 3, 4, 5].map(() => admit())),
    );
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(5);
  });
});
