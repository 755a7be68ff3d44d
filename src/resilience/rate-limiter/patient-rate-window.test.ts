// A journal that another process holds for a while makes nobody deaf, and lets nobody through.
import { expect, it } from 'vitest';
import { CoreError } from '../../core/errors.ts';
import { VirtualClock } from '../../core/virtual-clock.ts';
import { AdaptiveRateLimiter } from './adaptive-rate-limiter.ts';
import { FallbackRateWindow } from './fallback-rate-window.ts';
import { MemoryRateWindow } from './memory-rate-window.ts';
import { PatientRateWindow } from './patient-rate-window.ts';
import type { Demand, GrantJournal, RateWindow } from './ports.ts';
import { mostIn } from './rate-limiter.contract.ts';

const limits = { perSecond: 5, perMinute: 600 };

/** A window whose journal keeps nothing, and is held by somebody when told so. */
function heldWindow(clock: VirtualClock) {
  const state = { isHeld: false };
  const journal: GrantJournal = {
    load: () => ({ grants: [], state: undefined }),
    exclusively: (work) => {
      if (state.isHeld) throw new CoreError('SQLITE_BUSY', '/data/limits.sqlite: another process holds it.');
      return work();
    },
    news: () => ({ grants: [], state: undefined }),
    append: () => undefined,
    move: () => undefined,
    save: () => undefined,
    shift: () => undefined,
  };
  const memory = new MemoryRateWindow({ limits, clock, journal });
  return { state, window: new PatientRateWindow(memory, { clock, patienceMs: 10_000 }) };
}

/** Asks for permits again and again, until told to stop or refused. */
function demand(limiter: AdaptiveRateLimiter, clock: VirtualClock, callers = 8) {
  const grants: number[] = [];
  const stop = new AbortController();
  const call = async (): Promise<void> => {
    for (;;) {
      const permit = await limiter.acquire(stop.signal);
      grants.push(clock.monotonic());
      permit.succeeded();
    }
  };
  const ended = Promise.allSettled(Array.from({ length: callers }, call));
  return { grants, ended, stop: () => stop.abort(new Error('stopped by us')) };
}

it('answers at once, without a promise, while nobody holds the journal', () => {
  const { window } = heldWindow(new VirtualClock());
  const demanded = { wanted: 8 } as Demand;
  expect(window.take({ ...demanded, late: [], held: [] })).toMatchObject({ granted: 5 });
});

it('lets nobody through while the journal is held, and goes on afterwards, never over the limit', async () => {
  const clock = new VirtualClock();
  const { window, state } = heldWindow(clock);
  const { grants, stop } = demand(new AdaptiveRateLimiter(window, clock), clock);
  for (let phase = 0; phase < 6; phase++) {
    state.isHeld = phase % 2 === 1;
    await clock.advance(2_000);
  }
  stop();
  expect(mostIn(grants, 1_000)).toBe(5);
  for (const heldFrom of [2_000, 6_000, 10_000]) {
    expect(grants.filter((at) => at > heldFrom && at < heldFrom + 2_000)).toEqual([]);
    expect(grants.filter((at) => at >= heldFrom - 2_000 && at <= heldFrom).length).toBeGreaterThanOrEqual(10);
  }
});

it('hears a stop while the journal is held', async () => {
  const clock = new VirtualClock();
  const { window, state } = heldWindow(clock);
  state.isHeld = true;
  const { grants, ended, stop } = demand(new AdaptiveRateLimiter(window, clock), clock);
  await clock.advance(1_000);
  stop();
  const [first] = await ended;
  expect(first).toMatchObject({ status: 'rejected', reason: new Error('stopped by us') });
  expect(grants).toEqual([]);
});

it('refuses everybody with the name of the file when the patience is over', async () => {
  const clock = new VirtualClock();
  const { window, state } = heldWindow(clock);
  state.isHeld = true;
  const { ended } = demand(new AdaptiveRateLimiter(window, clock), clock, 3);
  const settled = await clock.run(ended);
  expect(clock.monotonic()).toBe(10_000);
  expect(settled).toHaveLength(3);
  for (const one of settled)
    expect(one).toMatchObject({
      status: 'rejected',
      reason: { code: 'SQLITE_BUSY', message: expect.stringContaining('/data/limits.sqlite') },
    });
});

it('does not use what a shared window granted long before the journal was free', async () => {
  const clock = new VirtualClock();
  const shared: RateWindow = Object.assign(new MemoryRateWindow({ limits, clock }), { isLocal: false });
  const machine = () => {
    const { window: local, state } = heldWindow(clock);
    const window = new FallbackRateWindow({ shared, local, clock, onChange: () => undefined });
    return { state, ...demand(new AdaptiveRateLimiter(window, clock), clock) };
  };
  const machines = [machine(), machine()];
  for (let step = 0; step < 40; step++) {
    for (const [index, { state }] of machines.entries()) state.isHeld = (step + index * 3) % 9 > 5;
    await clock.advance(330);
  }
  for (const { stop } of machines) stop();
  const all = machines.flatMap(({ grants }) => grants).sort((one, other) => one - other);
  expect(mostIn(all, 1_000)).toBeLessThanOrEqual(5);
  // This shared window takes nothing back.
  expect(all.length).toBeGreaterThan(20);
});
