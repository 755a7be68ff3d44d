// Limits of gateway keys, before any call.
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../test/support/core/virtual-clock.ts';
import { exampleKey, moment } from '../../../test/support/gateway/examples.ts';
import { silentEmitter } from '../../core/index.ts';
import type { QuotaCounter } from '../quotas/quota-counter.ts';
import { MemoryQuotaCounter } from '../quotas/quota-counter.ts';
import { TieredCounter } from '../quotas/tiered-counter.ts';
import type { CompletionRequest, KeyLimits } from '../types.ts';
import { KeyLimiter } from './key-limits.ts';

function limiter(limits: Partial<KeyLimits>, shared?: QuotaCounter, clock = new VirtualClock(moment(0))) {
  const { hash: _hash, ...key } = exampleKey(1, limits);
  const used = { tokens: 0, usd: 0 };
  const made = new KeyLimiter({
    clock,
    keys: { byId: (id) => (id === key.id ? key : undefined) },
    usage: { usedToday: () => used },
    counter: new TieredCounter({ clock, events: silentEmitter, shared }),
    pricesFor: () => [
      { inputPerMillion: 100, outputPerMillion: 1_000 },
      { inputPerMillion: 1, outputPerMillion: 1 },
    ],
  });
  const caller = `key:${key.id}`;
  let requests = 0;
  const started: string[] = [];
  /** A request in flight until `end`. */
  const begin = async (request = small) => {
    const requestId = `r${requests++}`;
    try {
      await made.admit(request, { caller, requestId });
      started.push(requestId);
    } catch (error) {
      // The end of a rejected request is recorded, too.
      made.release(requestId);
      throw error;
    }
  };
  const end = () => made.release(started.shift() ?? '');
  /** A request that has ended. */
  const admit = async () => {
    await begin();
    end();
  };
  return { clock, used, made, caller, begin, end, admit };
}

const small = {
  model: 'auto',
  operation: 'chat',
  estimatedPromptTokens: 10,
  estimatedTokens: 30,
} as CompletionRequest;

describe('KeyLimiter', () => {
  it('admits other callers, unknown keys and keys without limits at once', () => {
    const { made, caller } = limiter({});
    for (const each of ['admin', 'org:org_1', 'key:unknown', caller])
      expect(made.admit(small, { caller: each, requestId: 'r1' })).toBeUndefined();
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

  it('rejects requests for which those in flight may leave no tokens, until they have ended', async () => {
    const { begin, end, used } = limiter({ tokensPerDay: 100 });
    used.tokens = 50;
    // Each may use its prompt of 10 tokens and at most a tenth of the limit for its completion.
    for (const _ of [1, 2, 3]) await begin();
    await expect(begin()).rejects.toMatchObject({
      code: 'GATEWAY_KEY_LIMIT_REACHED',
      message:
        'The requests in flight of the key "key 1" may use the rest of its 100 tokens per day; send this one again when they have ended.',
      isRetryable: true,
      retryAfterMs: 1_000,
      details: { limit: 'tokens_per_day', value: 100, used: 50, reserved: 60 },
    });
    end();
    await begin();
    await expect(begin()).rejects.toThrow();
  });

  it('rejects requests for which those in flight may leave no US dollars', async () => {
    const { begin, end } = limiter({ usdPerDay: 0.01 });
    // The dearest price: 0.001 for the prompt, and for the completion no more than a tenth of the limit.
    for (const _ of [1, 2, 3, 4, 5]) await begin();
    await expect(begin()).rejects.toMatchObject({ details: { limit: 'usd_per_day', used: 0 } });
    end();
    await begin();
  });

  it('admits a request that is larger than what is left if no other is in flight', async () => {
    const { begin, end, used } = limiter({ tokensPerDay: 100, usdPerDay: 1 });
    used.tokens = 99;
    await begin({ ...small, estimatedPromptTokens: 1_000, estimatedTokens: 2_000 });
    await expect(begin()).rejects.toThrow();
    end();
    await begin();
  });

  it('drops at midnight what requests of the day before may use', async () => {
    const { begin, end, clock } = limiter({ tokensPerDay: 10 });
    await begin();
    await expect(begin()).rejects.toThrow();
    await clock.advance(12 * 3_600_000);
    await begin();
    end();
    await expect(begin()).rejects.toThrow();
    end();
    await begin();
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
