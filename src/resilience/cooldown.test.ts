// A cooldown only ever grows.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Cooldown } from './cooldown.ts';
import { cooldownRemainingMs, extendCooldown } from './cooldown.ts';

const cooldown = (until: number, cause = 'rate-limit'): Cooldown => ({ until, cause, source: 'retry-after' });

describe('a cooldown', () => {
  it('is not shortened by a shorter one, nor is its cause overwritten', () => {
    const long = cooldown(9_000, 'payment');
    expect(extendCooldown(long, cooldown(5_000))).toBe(long);
    expect(extendCooldown(long, cooldown(9_000))).toBe(long);
  });

  it('is extended by a longer one, which brings its cause', () => {
    expect(extendCooldown(cooldown(5_000), cooldown(9_000, 'payment'))).toEqual(cooldown(9_000, 'payment'));
    expect(extendCooldown(undefined, cooldown(1))).toEqual(cooldown(1));
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY])('ignores an end of %d', (until) => {
    expect(extendCooldown(undefined, cooldown(until))).toBeUndefined();
    expect(extendCooldown(cooldown(5), cooldown(until))).toEqual(cooldown(5));
  });

  it('tells what is left', () => {
    expect(cooldownRemainingMs(cooldown(5_000), 3_000)).toBe(2_000);
    expect(cooldownRemainingMs(cooldown(5_000), 6_000)).toBe(0);
    expect(cooldownRemainingMs(undefined, 0)).toBe(0);
  });

  it('ends at the latest of all, in whatever order they come', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(), { minLength: 1 }), (ends) => {
        let current: Cooldown | undefined;
        for (const until of ends) current = extendCooldown(current, cooldown(until));
        expect(current?.until).toBe(Math.max(...ends));
      }),
    );
  });
});
