import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseCron } from './jobs.ts';

const next = (cron: string, after: string): string =>
  new Date(parseCron(cron).next(Date.parse(after))).toISOString().slice(0, 16);

describe('cron expressions', () => {
  it.each([
    ['* * * * *', '2026-03-01T10:20:30Z', '2026-03-01T10:21'],
    ['* * * * *', '2026-03-01T10:20:00Z', '2026-03-01T10:21'],
    ['*/15 * * * *', '2026-03-01T10:46:00Z', '2026-03-01T11:00'],
    ['5/20 * * * *', '2026-03-01T10:06:00Z', '2026-03-01T10:25'],
    ['15 3 * * *', '2026-03-01T03:15:00Z', '2026-03-02T03:15'],
    ['0 0 1 * *', '2026-12-01T00:00:00Z', '2027-01-01T00:00'],
    ['0 9-17/4 * * 1-5', '2026-03-06T17:30:00Z', '2026-03-09T09:00'],
    ['0 0 * * 7', '2026-03-02T00:00:00Z', '2026-03-08T00:00'],
    ['0 0 * * 0', '2026-03-02T00:00:00Z', '2026-03-08T00:00'],
    ['0 0 13 * 5', '2026-03-01T00:00:00Z', '2026-03-06T00:00'],
    ['0 0 29 2 *', '2096-03-01T00:00:00Z', '2104-02-29T00:00'],
    ['30 4 1,15 6,12 *', '2026-06-02T00:00:00Z', '2026-06-15T04:30'],
  ])('"%s" after %s next occurs at %s', (cron, after, expected) => {
    expect(next(cron, after)).toBe(expected);
  });

  it.each(['', '* * * *', '60 * * * *', '* 24 * * *', '* * 0 * *', '* * * 13 *', '* * * * 8', 'a * * * *'])(
    'rejects "%s" with the reason',
    (cron) => {
      expect(() => parseCron(cron)).toThrow(expect.objectContaining({ code: 'INPUT_INVALID' }));
    },
  );
  it.each(['*/0 * * * *', '5-1 * * * *', '* * * JAN *', '0 0 31 2 *', '@daily', '1,,2 * * * *'])(
    'rejects "%s"',
    (cron) => {
      expect(() => parseCron(cron)).toThrow(expect.objectContaining({ code: 'INPUT_INVALID' }));
    },
  );

  it('always moves forward, to a whole minute that matches', () => {
    const anyMinute = fc.integer({ min: 0, max: 59 });
    const anyHour = fc.integer({ min: 0, max: 23 });
    fc.assert(
      fc.property(anyMinute, anyHour, fc.integer({ min: 0, max: 4e12 }), (minute, hour, after) => {
        const at = new Date(parseCron(`${minute} ${hour} * * *`).next(after));
        expect(at.getTime()).toBeGreaterThan(after);
        expect(at.getTime() - after).toBeLessThanOrEqual(86_400_000);
        expect([at.getUTCMinutes(), at.getUTCHours(), at.getTime() % 60_000]).toEqual([minute, hour, 0]);
      }),
    );
  });
});
