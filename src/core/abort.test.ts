import { getEventListeners } from 'node:events';
import * as fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { abortable, linkSignals, onAbort, remainingMs, withTimeout } from './abort.ts';
import { VirtualClock } from '../../test/support/core/virtual-clock.ts';

const listeners = (signal: AbortSignal) => getEventListeners(signal, 'abort').length;

describe('onAbort', () => {
  it('calls back once with the reason', () => {
    const controller = new AbortController();
    const run = vi.fn();
    onAbort(controller.signal, run);
    controller.abort('why');
    controller.abort('again');
    expect(run.mock.calls).toEqual([['why']]);
    expect(listeners(controller.signal)).toBe(0);
  });

  it('calls back at once when the signal has aborted already', () => {
    const run = vi.fn();
    onAbort(AbortSignal.abort('before'), run)();
    expect(run.mock.calls).toEqual([['before']]);
  });

  it('can be removed', () => {
    const controller = new AbortController();
    const run = vi.fn();
    onAbort(controller.signal, run)();
    controller.abort();
    expect(run).not.toHaveBeenCalled();
    expect(listeners(controller.signal)).toBe(0);
  });

  it('does nothing without a signal', () => {
    const run = vi.fn();
    onAbort(undefined, run)();
    expect(run).not.toHaveBeenCalled();
  });
});

describe('linkSignals', () => {
  it('aborts with the first of its parents', () => {
    const [one, two] = [new AbortController(), new AbortController()];
    const linked = linkSignals(one.signal, undefined, two.signal);
    two.abort('two');
    one.abort('one');
    expect(linked.signal.reason).toBe('two');
  });

  it('is aborted from the start when a parent is', () => {
    expect(linkSignals(undefined, AbortSignal.abort('old')).signal.reason).toBe('old');
  });

  it('aborts on its own without aborting its parents', () => {
    const parent = new AbortController();
    const linked = linkSignals(parent.signal);
    linked.abort('mine');
    expect(linked.signal.reason).toBe('mine');
    expect(parent.signal.aborted).toBe(false);
  });

  it('removes its listeners when disposed', () => {
    const parent = new AbortController();
    const linked = linkSignals(parent.signal, parent.signal);
    linked.dispose();
    expect(listeners(parent.signal)).toBe(0);
    parent.abort();
    expect(linked.signal.aborted).toBe(false);
  });
});

describe('abortable', () => {
  it('returns the result of the work and leaves no listener', async () => {
    const { signal } = new AbortController();
    expect(await abortable(Promise.resolve(1), signal)).toBe(1);
    await expect(abortable(Promise.reject(new Error('no')), signal)).rejects.toThrow('no');
    expect(await abortable(Promise.resolve(2), undefined)).toBe(2);
    expect(listeners(signal)).toBe(0);
  });

  it('stops waiting with the reason, also when the work fails later', async () => {
    const controller = new AbortController();
    const work = Promise.withResolvers<never>();
    const waiting = abortable(work.promise, controller.signal);
    controller.abort(new Error('stop'));
    await expect(waiting).rejects.toThrow('stop');
    work.reject(new Error('late'));
    await new Promise((resolve) => setImmediate(resolve));
    expect(listeners(controller.signal)).toBe(0);
  });

  it('does not wait at all for a signal that has aborted', async () => {
    const never = new Promise<never>(() => undefined);
    await expect(abortable(never, AbortSignal.abort(new Error('before')))).rejects.toThrow('before');
  });
});

describe('withTimeout', () => {
  const never = new Promise<never>(() => undefined);

  it('returns the result and clears its timer and listener', async () => {
    const clock = new VirtualClock();
    const { signal } = new AbortController();
    expect(await withTimeout(Promise.resolve(1), { clock, timeoutMs: 10, signal })).toBe(1);
    expect(await withTimeout(() => 2, { clock, timeoutMs: 10, signal })).toBe(2);
    await expect(
      withTimeout(() => Promise.reject(new Error('no')), { clock, timeoutMs: 10 }),
    ).rejects.toThrow('no');
    expect([clock.pending, listeners(signal)]).toEqual([0, 0]);
  });

  it('fails with DEADLINE_EXCEEDED after the timeout', async () => {
    const clock = new VirtualClock();
    const waiting = withTimeout(never, { clock, timeoutMs: 10 });
    waiting.catch(() => undefined);
    await clock.advance(9);
    expect(clock.pending).toBe(1);
    await clock.advance(1);
    await expect(waiting).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED', isRetryable: true });
    expect(clock.pending).toBe(0);
  });

  it('fails with the error of onTimeout and aborts the work with it', async () => {
    const clock = new VirtualClock();
    const late = new Error('late');
    let seen: AbortSignal | undefined;
    const waiting = withTimeout((signal) => ((seen = signal), never), {
      clock,
      timeoutMs: 10,
      onTimeout: () => late,
    });
    waiting.catch(() => undefined);
    await clock.advance(10);
    await expect(waiting).rejects.toBe(late);
    expect(seen?.reason).toBe(late);
  });

  it('accepts a reply that arrived while the process was busy past the timeout', async () => {
    const reply = Promise.withResolvers<string>();
    let expire: () => void = () => undefined;
    let expireAgain: () => void = () => undefined;
    const clock = Object.assign(new VirtualClock(), {
      after: (ms: number, run: () => void) => {
        if (ms > 0) expire = run;
        else expireAgain = run;
        return () => undefined;
      },
    });
    const waiting = withTimeout(reply.promise, { clock, timeoutMs: 10 });
    expire();
    reply.resolve('in time');
    expect(await waiting).toBe('in time');
    expireAgain();
  });

  it('reports the timeout when the work fails at the same time', async () => {
    const clock = new VirtualClock();
    const work = async () => {
      await clock.sleep(10);
      throw new Error('an inner timeout');
    };
    const waiting = withTimeout(work, { clock, timeoutMs: 10 });
    await expect(clock.run(waiting)).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
  });

  it('ends with the reason of the parent signal and aborts the work', async () => {
    const clock = new VirtualClock();
    const parent = new AbortController();
    let seen: AbortSignal | undefined;
    const waiting = withTimeout((signal) => ((seen = signal), never), {
      clock,
      timeoutMs: 10,
      signal: parent.signal,
    });
    parent.abort(new Error('stop'));
    await expect(waiting).rejects.toThrow('stop');
    expect(seen?.aborted).toBe(true);
    expect([clock.pending, listeners(parent.signal)]).toEqual([0, 0]);
  });

  it('does not start work for a signal that has aborted', async () => {
    const work = vi.fn();
    const signal = AbortSignal.abort(new Error('before'));
    const clock = new VirtualClock();
    await expect(withTimeout(work, { clock, timeoutMs: 1, signal })).rejects.toThrow('before');
    await expect(withTimeout(never, { clock, timeoutMs: 1, signal })).rejects.toThrow('before');
    expect(work).not.toHaveBeenCalled();
    expect(clock.pending).toBe(0);
  });

  it('ignores a failure of the work after the timeout', async () => {
    const clock = new VirtualClock();
    const work = Promise.withResolvers<never>();
    const waiting = withTimeout(work.promise, { clock, timeoutMs: 1 });
    waiting.catch(() => undefined);
    await clock.advance(1);
    await expect(waiting).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    work.reject(new Error('late'));
    await new Promise((resolve) => setImmediate(resolve));
  });

  it('names the operation in its error', async () => {
    const clock = new VirtualClock();
    const waiting = withTimeout(never, { clock, timeoutMs: 500, operation: 'graph expansion' });
    waiting.catch(() => undefined);
    await clock.advance(500);
    await expect(waiting).rejects.toThrow('"graph expansion" did not complete within 500 ms.');
  });

  it('lets work read the remaining time from its signal', async () => {
    const clock = new VirtualClock();
    const work = async (signal: AbortSignal) => {
      await clock.sleep(200);
      return remainingMs(signal);
    };
    expect(await clock.run(withTimeout(work, { clock, timeoutMs: 500 }))).toBe(300);
    expect(remainingMs(new AbortController().signal)).toBeUndefined();
    expect(remainingMs(undefined)).toBeUndefined();
  });

  it('ends no later than any enclosing timeout, however deep and whenever started', async () => {
    const level = fc.record({
      timeoutMs: fc.integer({ min: 1, max: 1_000 }),
      laterMs: fc.integer({ min: 0, max: 50 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(level, { minLength: 1, maxLength: 8 }), async (levels) => {
        const clock = new VirtualClock();
        let earliest = Number.POSITIVE_INFINITY;
        const nest = async (depth: number, parent?: AbortSignal): Promise<void> => {
          const inner = levels[depth];
          if (!inner) return clock.sleep(10_000, parent);
          await clock.sleep(inner.laterMs, parent);
          earliest = Math.min(earliest, clock.monotonic() + inner.timeoutMs);
          await withTimeout(
            (signal) => {
              expect(remainingMs(signal)).toBe(earliest - clock.monotonic());
              return nest(depth + 1, signal);
            },
            { clock, timeoutMs: inner.timeoutMs, signal: parent },
          );
        };
        await expect(clock.run(nest(0))).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
        expect(clock.monotonic()).toBe(earliest);
      }),
    );
  });
});
