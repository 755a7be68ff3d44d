import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CallStats, RateLimits } from './api.ts';

/** The maximum number of `times` within less than `spanMs`, by brute force. */
const maxWithin = (times: readonly number[], spanMs: number): number =>
  Math.max(0, ...times.map((end) => times.filter((time) => time > end - spanMs && time <= end).length));

const pauses = fc.array(fc.integer({ min: 0, max: 700 }), { maxLength: 200 });

describe('the gate', () => {
  it('admits exactly as many calls as the limits allow, and returns exactly when the next is allowed', () => {
    const limit = fc.integer({ min: 1, max: 9 });
    fc.assert(
      fc.property(limit, fc.integer({ min: 1, max: 40 }), pauses, (perSecond, perMinute, steps) => {
        const gate = new RateLimits();
        const limits = { perSecond, perMinute };
        const admitted: number[] = [];
        let now = 0;
        for (const step of steps) {
          now += step;
          const waitMs = gate.admit(limits, now);
          const wasFull =
            admitted.filter((time) => time > now - 1_000).length >= perSecond ||
            admitted.filter((time) => time > now - 60_000).length >= perMinute;
          expect(waitMs > 0).toBe(wasFull);
          if (waitMs === 0) admitted.push(now);
          else {
            now += waitMs;
            expect(gate.admit(limits, now - 0.001)).toBeCloseTo(0.001, 6);
            expect(gate.admit(limits, now)).toBe(0);
            admitted.push(now);
          }
        }
        expect(maxWithin(admitted, 1_000)).toBeLessThanOrEqual(perSecond);
        expect(maxWithin(admitted, 60_000)).toBeLessThanOrEqual(perMinute);
      }),
    );
  });
});

describe('stats', () => {
  it('report the maximum of calls in any sliding second and minute', () => {
    fc.assert(
      fc.property(pauses, (steps) => {
        const stats = new CallStats();
        let now = 0;
        const times = steps.map((step) => (now += step));
        for (const time of times) stats.arrived('GET /x', true, time);
        stats.arrived('POST /login', false, now);
        const { maxPerSecond, maxPerMinute, total, calls } = stats.report();
        expect([maxPerSecond, maxPerMinute]).toEqual([maxWithin(times, 1_000), maxWithin(times, 60_000)]);
        expect(total).toBe(times.length + 1);
        expect(calls['GET /x'] ?? 0).toBe(times.length);
      }),
    );
  });
});
