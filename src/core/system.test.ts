import { describe, expect, it } from 'vitest';
import { isUuid } from './ids.ts';
import { systemClock, systemIds, systemRandom } from './system.ts';

const tenYearsMs = 10 * 365 * 86_400_000;

describe('systemClock', () => {
  it('returns the wall-clock time, and a time that never runs backwards', () => {
    expect(Math.abs(systemClock.now() - Date.now())).toBeLessThan(1_000);
    const first = systemClock.monotonic();
    expect(systemClock.monotonic()).toBeGreaterThanOrEqual(first);
  });

  it('sleeps at least the given time', async () => {
    const started = performance.now();
    await systemClock.sleep(15);
    // Timers may fire up to a millisecond early by the finer clock.
    expect(performance.now() - started).toBeGreaterThanOrEqual(14);
    await systemClock.sleep(-5);
  });

  it('wakes with the reason when the signal aborts, before or during', async () => {
    const controller = new AbortController();
    const sleeping = systemClock.sleep(tenYearsMs, controller.signal);
    controller.abort(new Error('wake up'));
    await expect(sleeping).rejects.toThrow('wake up');
    await expect(systemClock.sleep(1, AbortSignal.abort(new Error('no')))).rejects.toThrow('no');
  });

  it('does not fire at once for a wait beyond the longest timer of Node', async () => {
    const fired: string[] = [];
    const cancel = systemClock.after(tenYearsMs, () => fired.push('far'));
    systemClock.after(1, () => fired.push('near'));
    await systemClock.sleep(20);
    cancel();
    expect(fired).toEqual(['near']);
  });

  it('cancels a timer', async () => {
    let hasRun = false;
    systemClock.after(1, () => (hasRun = true))();
    await systemClock.sleep(10);
    expect(hasRun).toBe(false);
  });
});

describe('systemRandom and systemIds', () => {
  it('create different numbers, ids and tokens', () => {
    const number = systemRandom.next();
    expect(number >= 0 && number < 1).toBe(true);
    expect(isUuid(systemIds.uuid())).toBe(true);
    expect(systemIds.uuid()).not.toBe(systemIds.uuid());
    expect(Buffer.from(systemIds.token(24), 'base64url')).toHaveLength(24);
    expect(systemIds.token(24)).not.toBe(systemIds.token(24));
  });
});
