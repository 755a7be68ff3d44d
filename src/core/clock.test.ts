// The idle timer: one timer for many waits.
import { describe, expect, it } from 'vitest';
import { IdleTimer } from './clock.ts';
import { VirtualClock } from '../../test/support/core/virtual-clock.ts';

function setUp() {
  const clock = new VirtualClock();
  const timeouts: number[] = [];
  return { clock, timeouts, timer: new IdleTimer(clock, (ms) => timeouts.push(ms)) };
}

describe('IdleTimer', () => {
  it('calls back once, with the allowed time, when a wait takes too long', async () => {
    const { clock, timer, timeouts } = setUp();
    timer.start(100);
    await clock.advance(99);
    expect(timeouts).toEqual([]);
    await clock.advance(500);
    expect(timeouts).toEqual([100]);
  });

  it('keeps one armed timer over many waits', async () => {
    const { clock, timer, timeouts } = setUp();
    for (let chunk = 0; chunk < 50; chunk++) {
      timer.start(100);
      expect(clock.pending).toBe(1);
      await clock.advance(60);
    }
    expect(timeouts).toEqual([]);
    await clock.advance(100);
    expect(timeouts).toEqual([100]);
  });

  it('arms again for a shorter wait', async () => {
    const { clock, timer, timeouts } = setUp();
    timer.start(10_000);
    timer.start(50);
    await clock.advance(50);
    expect(timeouts).toEqual([50]);
  });

  it('does not count the time while it is paused', async () => {
    const { clock, timer, timeouts } = setUp();
    timer.start(100);
    timer.pause();
    await clock.advance(1_000);
    expect(timeouts).toEqual([]);
    timer.start(100);
    await clock.advance(100);
    expect(timeouts).toEqual([100]);
  });

  it('leaves no timer behind when it is stopped', () => {
    const { clock, timer } = setUp();
    timer.start(100);
    timer.stop();
    expect(clock.pending).toBe(0);
  });
});

function setUpWaits() {
  const clock = new VirtualClock();
  const startedAt = clock.monotonic();
  const late: number[] = [];
  const timer = new IdleTimer(clock, () => late.push(clock.monotonic() - startedAt));
  return { clock, late, timer };
}

describe('IdleTimer across waits', () => {
  it('fires when a wait takes too long', async () => {
    const { clock, late, timer } = setUpWaits();
    timer.start(10);
    await clock.advance(100);
    expect(late).toEqual([10]);
  });

  it.each([
    ['longer', 10, 30, 35],
    ['shorter', 30, 10, 15],
  ])('measures a %s wait from its own start', async (_, first, second, at) => {
    const { clock, late, timer } = setUpWaits();
    timer.start(first);
    await clock.advance(5);
    timer.start(second);
    await clock.advance(100);
    expect(late).toEqual([at]);
  });

  it('sets no timer for an endless wait and measures the next one', async () => {
    const { clock, late, timer } = setUpWaits();
    timer.start(10);
    await clock.advance(5);
    timer.start(Number.POSITIVE_INFINITY);
    await clock.advance(100);
    expect([late, clock.pending]).toEqual([[], 0]);
    timer.start(10);
    await clock.advance(100);
    expect(late).toEqual([115]);
  });

  it('can start again after stop', async () => {
    const { clock, late, timer } = setUpWaits();
    timer.start(10);
    timer.stop();
    await clock.advance(100);
    expect(late).toEqual([]);
    timer.start(10);
    await clock.advance(100);
    expect(late).toEqual([110]);
  });
});
