// Quotas as simulated providers count them.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { QuotaCounter } from './model-state.ts';

const minuteMs = 60_000;
const dayMs = 86_400_000;
const start = Date.parse('2026-03-01T12:00:00Z');

describe('a quota', () => {
  it('per key allows the next request a minute after the oldest', () => {
    const counter = new QuotaCounter({ requests_per_minute: 2 });
    counter.charge('a', 1, start);
    counter.charge('a', 1, start + 20_000);
    expect(counter.waitSeconds('a', start + 30_000)).toBe(30);
    expect(counter.waitSeconds('b', start + 30_000)).toBe(0);
    expect(counter.waitSeconds('a', start + minuteMs)).toBe(0);
  });

  it('of tokens accepts the call that exceeds it, then none until enough tokens are a minute old', () => {
    const counter = new QuotaCounter({ tokens_per_minute: 100 });
    counter.charge('a', 60, start);
    expect(counter.waitSeconds('a', start)).toBe(0);
    counter.charge('a', 90, start + 10_000);
    expect(counter.waitSeconds('a', start + 10_000)).toBe(50);
    expect(counter.waitSeconds('a', start + minuteMs)).toBe(0);
  });

  it('per day rejects after the one per minute allows calls again', () => {
    const counter = new QuotaCounter({ requests_per_minute: 1, requests_per_day: 2 });
    counter.charge('a', 1, start);
    counter.charge('a', 1, start + minuteMs);
    expect(counter.waitSeconds('a', start + minuteMs)).toBe((dayMs - minuteMs) / 1_000);
  });

  it('of 0 rejects everything', () => {
    const counter = new QuotaCounter({ requests_per_minute: 0 });
    expect(counter.waitSeconds('a', start)).toBe(60);
  });

  it('that is not declared rejects nothing and sends no headers', () => {
    const counter = new QuotaCounter({});
    for (let call = 0; call < 100; call++) counter.charge('a', 1_000, start);
    expect(counter.waitSeconds('a', start)).toBe(0);
    expect(counter.headers('a', start)).toEqual({});
  });
});

describe('quota headers', () => {
  it('report the tightest window of requests and of tokens', () => {
    const counter = new QuotaCounter({
      requests_per_minute: 2,
      requests_per_day: 100,
      tokens_per_minute: 1_000,
    });
    counter.charge('a', 400, start);
    counter.charge('a', 700, start + 30_000);
    expect(counter.headers('a', start + 30_000)).toEqual({
      'x-ratelimit-limit-requests': '2',
      'x-ratelimit-remaining-requests': '0',
      'x-ratelimit-reset-requests': '30s',
      'x-ratelimit-limit-tokens': '1000',
      'x-ratelimit-remaining-tokens': '0',
      'x-ratelimit-reset-tokens': '30s',
    });
  });
});

it('never accepts more requests than the quota in any minute', () => {
  const waits = fc.array(fc.nat(20_000), { minLength: 1, maxLength: 80 });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5 }), waits, (limit, gaps) => {
      const counter = new QuotaCounter({ requests_per_minute: limit });
      const passed: number[] = [];
      let now = start;
      for (const gap of gaps) {
        now += gap;
        if (counter.waitSeconds('a', now) > 0) continue;
        counter.charge('a', 1, now);
        passed.push(now);
      }
      for (const at of passed)
        expect(passed.filter((each) => each > at - minuteMs && each <= at).length).toBeLessThanOrEqual(limit);
    }),
  );
});
