import { describe, expect, it } from 'vitest';
import { CoreError } from '../../core/errors.ts';
import { VirtualClock } from '../../../test/support/core/virtual-clock.ts';
import { retryWhileBusy } from './open-sqlite.ts';

/** Locked until `freeAtMs`; counts the tries. */
function file(clock: VirtualClock, freeAtMs: number) {
  const state = { tries: 0 };
  const work = () => {
    state.tries++;
    if (clock.monotonic() < freeAtMs)
      throw new CoreError('SQLITE_BUSY', '/x.sqlite: another process holds it');
    return 'done';
  };
  return { state, work };
}

const timeoutMs = 10_000;

describe('retryWhileBusy', () => {
  it('returns at once, without a promise, when the file is not locked', () => {
    const clock = new VirtualClock();
    expect(retryWhileBusy(file(clock, 0).work, { clock, timeoutMs })).toBe('done');
  });

  it('retries until the file is unlocked, and reports the wait once', async () => {
    const clock = new VirtualClock();
    const { work, state } = file(clock, 3_000);
    let waits = 0;
    const onWait = () => (waits += 1);
    expect(await clock.run(Promise.resolve(retryWhileBusy(work, { clock, timeoutMs, onWait })))).toBe('done');
    expect(clock.monotonic()).toBe(3_000);
    expect(state.tries).toBe(31);
    expect(waits).toBe(1);
  });

  it('does not report a short wait', async () => {
    const clock = new VirtualClock();
    let waits = 0;
    const wait = { clock, timeoutMs, onWait: () => (waits += 1) };
    await clock.run(Promise.resolve(retryWhileBusy(file(clock, 400).work, wait)));
    expect(waits).toBe(0);
  });

  it('fails with the last error after the timeout', async () => {
    const clock = new VirtualClock();
    const waiting = Promise.resolve(
      retryWhileBusy(file(clock, Number.POSITIVE_INFINITY).work, { clock, timeoutMs }),
    );
    await expect(clock.run(waiting)).rejects.toMatchObject({
      code: 'SQLITE_BUSY',
      message: expect.stringContaining('/x.sqlite'),
    });
    expect(clock.monotonic()).toBe(timeoutMs);
  });

  it('stops when its signal aborts', async () => {
    const clock = new VirtualClock();
    const stop = new AbortController();
    const { work, state } = file(clock, 3_000);
    const waiting = Promise.resolve(retryWhileBusy(work, { clock, timeoutMs, signal: stop.signal }));
    waiting.catch(() => undefined);
    await clock.advance(250);
    stop.abort(new Error('stopped by us'));
    await expect(waiting).rejects.toThrow('stopped by us');
    expect(state.tries).toBe(3);
    expect(clock.pending).toBe(0);
  });

  it('passes on every other failure, at once and later', async () => {
    const clock = new VirtualClock();
    const broken = () => {
      throw new TypeError('a bug');
    };
    expect(() => retryWhileBusy(broken, { clock, timeoutMs })).toThrow('a bug');
    let tries = 0;
    const later = () => {
      if (tries++ === 0) throw new CoreError('SQLITE_BUSY', 'held');
      return broken();
    };
    await expect(clock.run(Promise.resolve(retryWhileBusy(later, { clock, timeoutMs })))).rejects.toThrow(
      'a bug',
    );
  });
});
