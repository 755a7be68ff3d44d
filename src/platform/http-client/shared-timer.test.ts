import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../test/support/core/virtual-clock.ts';
import { SharedTimer } from './shared-timer.ts';

function setUp() {
  const clock = new VirtualClock();
  const startedAt = clock.monotonic();
  const late: number[] = [];
  const patience = new SharedTimer(clock, () => late.push(clock.monotonic() - startedAt));
  return { clock, late, patience };
}

describe('SharedTimer', () => {
  it('runs out when a wait takes too long', async () => {
    const { clock, late, patience } = setUp();
    patience.allow(10);
    await clock.advance(100);
    expect(late).toEqual([10]);
  });

  it.each([
    ['longer', 10, 30, 35],
    ['shorter', 30, 10, 15],
  ])('measures a %s wait from its own beginning', async (_, first, second, at) => {
    const { clock, late, patience } = setUp();
    patience.allow(first);
    await clock.advance(5);
    patience.allow(second);
    await clock.advance(100);
    expect(late).toEqual([at]);
  });

  it('sets no timer for a wait without end, and measures the next one', async () => {
    const { clock, late, patience } = setUp();
    patience.allow(10);
    await clock.advance(5);
    patience.allow(Number.POSITIVE_INFINITY);
    await clock.advance(100);
    expect([late, clock.pending]).toEqual([[], 0]);
    patience.allow(10);
    await clock.advance(100);
    expect(late).toEqual([115]);
  });

  it('is over when told so, and can begin again', async () => {
    const { clock, late, patience } = setUp();
    patience.allow(10);
    patience.end();
    await clock.advance(100);
    expect(late).toEqual([]);
    patience.allow(10);
    await clock.advance(100);
    expect(late).toEqual([110]);
  });
});
