import { describe, expect, it } from 'vitest';
import { backoffText, callsNow, degradedOf, failureText, openOf, requestsInFlight } from './labels.ts';

const run = (calls: number | null, limit: number | null) => ({
  id: 'r',
  source: 's',
  state: 'running',
  items: 0,
  total: null,
  items_per_second: null,
  calls_last_minute: calls,
  calls_per_minute_limit: limit,
  multiplier: 1,
  rate_limited_calls: 0,
});

describe('labels of the diagram', () => {
  it('sums calls, and limits only if every run has one', () => {
    expect(callsNow([run(3, 100), run(4, 50)])).toEqual({ calls: 7, limit: 150 });
    expect(callsNow([run(3, 100), run(null, null)])).toEqual({ calls: 3, limit: null });
  });

  it('selects the degradations of a domain', () => {
    const all = [
      { kind: 'knowledge.chunk-not-read', open: 2 },
      { kind: 'gateway.key-rejected', open: 1 },
      { kind: 'knowledge.graph-failed', open: 1 },
    ];
    expect(degradedOf(all, 'knowledge').map(({ kind }) => kind)).toEqual(['chunk-not-read', 'graph-failed']);
    expect(openOf(degradedOf(all, 'knowledge'))).toBe(3);
    expect(openOf(degradedOf(all, 'admission'))).toBe(0);
  });

  it('shows why a model fails, and how often', () => {
    expect(failureText({ last_failure: 'timeout', success_rate: 0.25, request_count: 4 })).toBe(
      'timeout, 25% of 4 in 15 min',
    );
    expect(failureText({ last_failure: 'network', success_rate: null, request_count: 0 })).toBe('network');
  });

  it('shows backoff and 429s of a run', () => {
    expect(backoffText({ multiplier: 1, rate_limited_calls: 0 })).toBeNull();
    expect(backoffText({ multiplier: 2, rate_limited_calls: 3 })).toBe('backoff ×2.0, 3 rate-limited');
    expect(backoffText({ multiplier: 1, rate_limited_calls: 1 })).toBe('1 rate-limited');
    expect(backoffText({ multiplier: 1.5, rate_limited_calls: 0 })).toBe('backoff ×1.5');
  });

  it('counts requests in flight and those queued for a model', () => {
    expect(requestsInFlight({ in_flight: 0, queued: 0 })).toBe('No requests in flight');
    expect(requestsInFlight({ in_flight: 1, queued: 0 })).toBe('1 request in flight, 0 queued for a model');
    expect(requestsInFlight({ in_flight: 3, queued: 1 })).toBe('3 requests in flight, 1 queued for a model');
  });
});
