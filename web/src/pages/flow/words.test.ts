import { describe, expect, it } from 'vitest';
import { callsNow, degradedOf, openOf, slowed, unanswered } from './words.ts';

const run = (calls: number | null, limit: number | null) => ({
  run_id: 'r',
  source: 's',
  state: 'running',
  items: 0,
  total: null,
  items_per_second: null,
  calls_last_minute: calls,
  calls_per_minute_limit: limit,
  multiplier: 1,
  refusals: 0,
});

describe('the picture', () => {
  it('adds up calls, and limits only where all have one', () => {
    expect(callsNow([run(3, 100), run(4, 50)])).toEqual({ calls: 7, limit: 150 });
    expect(callsNow([run(3, 100), run(null, null)])).toEqual({ calls: 3, limit: null });
  });

  it('knows what is degraded of a domain', () => {
    const all = [
      { kind: 'knowledge.chunk-not-read', open: 2 },
      { kind: 'gateway.key-rejected', open: 1 },
      { kind: 'knowledge.graph-failed', open: 1 },
    ];
    expect(degradedOf(all, 'knowledge').map(({ kind }) => kind)).toEqual(['chunk-not-read', 'graph-failed']);
    expect(openOf(degradedOf(all, 'knowledge'))).toBe(3);
    expect(openOf(degradedOf(all, 'admission'))).toBe(0);
  });

  it('says what slows a run down', () => {
    expect(slowed({ multiplier: 1, refusals: 0 })).toBeNull();
    expect(slowed({ multiplier: 2, refusals: 3 })).toBe('slowed down 2.0 times, 3 refused');
    expect(slowed({ multiplier: 1, refusals: 1 })).toBe('1 refused');
    expect(slowed({ multiplier: 1.5, refusals: 0 })).toBe('slowed down 1.5 times');
  });

  it('says who has no answer yet', () => {
    expect(unanswered({ unanswered: 0, waiting: 0 })).toBe('Nobody waits for an answer');
    expect(unanswered({ unanswered: 1, waiting: 0 })).toBe('1 request under way, 0 wait for a model');
    expect(unanswered({ unanswered: 3, waiting: 1 })).toBe('3 requests under way, 1 waits for a model');
  });
});
