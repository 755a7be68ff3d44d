import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { VirtualClock } from './virtual-clock.ts';

describe('VirtualClock', () => {
  it('does not advance by itself', async () => {
    const clock = new VirtualClock(1_000);
    expect([clock.now(), clock.monotonic()]).toEqual([1_000, 0]);
    await clock.advance(5);
    expect([clock.now(), clock.monotonic()]).toEqual([1_005, 5]);
  });

  it('runs what falls due in order of time, then of arrival, at its own time', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(50), { maxLength: 20 }), async (delays) => {
        const clock = new VirtualClock(0);
        const ran: (readonly [at: number, index: number])[] = [];
        delays.forEach((delay, index) => clock.after(delay, () => ran.push([clock.now(), index])));
        await clock.advance(25);
        const expected = delays
          .map((delay, index) => [delay, index] as const)
          .filter(([delay]) => delay <= 25)
          .sort((a, b) => a[0] - b[0] || a[1] - b[1]);
        expect(ran).toEqual(expected);
        expect(clock.pending).toBe(delays.length - expected.length);
        expect(clock.now()).toBe(25);
      }),
      { numRuns: 50 },
    );
  });

  it('runs timers that are set by timers, within the same advance', async () => {
    const clock = new VirtualClock(0);
    const ran: number[] = [];
    const again = () => {
      ran.push(clock.now());
      clock.after(10, again);
    };
    clock.after(10, again);
    await clock.advance(35);
    expect(ran).toEqual([10, 20, 30]);
  });

  it('lets promises settle between two timers', async () => {
    const clock = new VirtualClock(0);
    const ran: string[] = [];
    const steps = async (name: string, ms: number) => {
      await clock.sleep(ms);
      for (let step = 0; step < 10; step += 1) await Promise.resolve();
      ran.push(`${name} at ${clock.now()}`);
    };
    const all = Promise.all([steps('a', 1), steps('b', 2)]);
    await clock.advance(2);
    await all;
    expect(ran).toEqual(['a at 1', 'b at 2']);
  });

  it('cancels a timer', async () => {
    const clock = new VirtualClock(0);
    let hasRun = false;
    const cancel = clock.after(5, () => (hasRun = true));
    cancel();
    cancel();
    await clock.advance(10);
    expect([hasRun, clock.pending]).toEqual([false, 0]);
  });

  it('does not fire a timer that another one of the same moment cancels', async () => {
    const clock = new VirtualClock(0);
    let hasRun = false;
    clock.after(5, () => cancel());
    const cancel = clock.after(5, () => (hasRun = true));
    await clock.advance(5);
    expect(hasRun).toBe(false);
  });

  it('wakes a sleeper when its signal aborts, and leaves nothing behind', async () => {
    const clock = new VirtualClock(0);
    const controller = new AbortController();
    const sleeping = clock.sleep(100, controller.signal);
    controller.abort(new Error('wake up'));
    await expect(sleeping).rejects.toThrow('wake up');
    await expect(clock.sleep(1, AbortSignal.abort(new Error('no')))).rejects.toThrow('no');
    expect(clock.pending).toBe(0);
  });

  it('jumps as far as the work needs', async () => {
    const clock = new VirtualClock(0);
    const work = async () => {
      for (let day = 0; day < 30; day += 1) await clock.sleep(86_400_000);
      return 'done';
    };
    expect(await clock.run(work())).toBe('done');
    expect(clock.now()).toBe(30 * 86_400_000);
  });

  it('fails when the work can never end, and passes its failure on', async () => {
    const clock = new VirtualClock(0);
    await expect(clock.run(new Promise(() => undefined))).rejects.toThrow(/no timer is pending/);
    await expect(clock.run(Promise.reject(new Error('broken')))).rejects.toThrow('broken');
  });
});
