// Retry on virtual time: how often, how long, and when not.
import { VirtualClock } from '../../test/support/core/virtual-clock.ts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HeadworksError } from '../core/errors.ts';
import { seededRandom } from '../core/ids.ts';
import type { RetryPolicy } from './retry.ts';
import { withTimeout } from '../core/abort.ts';
import { exponentialBackoff, retry } from './retry.ts';

class Flaky extends HeadworksError<'FLAKY'> {
  constructor(message: string, options: { isRetryable?: boolean; retryAfterMs?: number } = {}) {
    super('FLAKY', message, { isRetryable: true, ...options });
  }
}

/** Fails with these errors in order, then succeeds; records the times of its calls. */
function script(clock: VirtualClock, errors: readonly unknown[]) {
  const calledAt: number[] = [];
  const work = async (attempt: number) => {
    calledAt.push(clock.monotonic());
    if (attempt <= errors.length) throw errors[attempt - 1];
    return `done in attempt ${attempt}`;
  };
  return { calledAt, work };
}

const fixed = (retries: number, more: Partial<RetryPolicy> = {}): RetryPolicy => ({
  retries,
  backoff: { delayMs: () => 100 },
  ...more,
});
const context = (clock: VirtualClock, signal?: AbortSignal) => ({ clock, signal, random: seededRandom(1) });
const failure = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

describe('retry', () => {
  it('makes `retries` attempts after the first and fails with the last error', async () => {
    const clock = new VirtualClock();
    const errors = [1, 2, 3, 4].map((n) => new Flaky(`failure ${n}`));
    const { work, calledAt } = script(clock, errors);
    const error = await clock.run(failure(retry(work, fixed(3), context(clock))));
    expect(calledAt).toEqual([0, 100, 200, 300]);
    expect(error).toBe(errors[3]);
  });

  it('makes one attempt without retries, and does not sleep after the last attempt', async () => {
    const clock = new VirtualClock();
    const { work } = script(clock, [new Flaky('x')]);
    expect(await failure(retry(work, fixed(0), context(clock)))).toMatchObject({ message: 'x' });
    expect([clock.monotonic(), clock.pending]).toEqual([0, 0]);
  });

  it('returns the first success', async () => {
    const clock = new VirtualClock();
    const { work } = script(clock, [new Flaky('x'), new Flaky('y')]);
    expect(await clock.run(retry(work, fixed(5), context(clock)))).toBe('done in attempt 3');
  });

  it('does not retry a permanent error', async () => {
    const clock = new VirtualClock();
    const permanent = new Flaky('no', { isRetryable: false });
    const { work, calledAt } = script(clock, [permanent]);
    expect(await failure(retry(work, fixed(5), context(clock)))).toBe(permanent);
    expect(calledAt).toHaveLength(1);
  });

  it('stops at a permanent error after a transient one', async () => {
    const clock = new VirtualClock();
    const errors = [new Flaky('first'), new TypeError('bug')];
    const { work } = script(clock, errors);
    const error = await clock.run(failure(retry(work, fixed(5), context(clock))));
    expect(error).toBe(errors[1]);
  });

  it('lets the policy decide what is retryable', async () => {
    const clock = new VirtualClock();
    const { work } = script(clock, [new Error('any')]);
    const policy = fixed(1, { isRetryable: () => true });
    expect(await clock.run(retry(work, policy, context(clock)))).toBe('done in attempt 2');
  });

  it('waits at least as long as retryAfterMs of the error', async () => {
    const clock = new VirtualClock();
    const { work, calledAt } = script(clock, [
      new Flaky('long', { retryAfterMs: 5_000 }),
      new Flaky('short', { retryAfterMs: 1 }),
    ]);
    await clock.run(retry(work, fixed(2), context(clock)));
    expect(calledAt).toEqual([0, 5_000, 5_100]);
  });

  it('fails at once when the hint is longer than maxDelayMs', async () => {
    const clock = new VirtualClock();
    const { work } = script(clock, [new Flaky('tomorrow', { retryAfterMs: 86_400_000 })]);
    const error = await failure(retry(work, fixed(3, { maxDelayMs: 60_000 }), context(clock)));
    expect(error).toMatchObject({ retryAfterMs: 86_400_000 });
    expect(clock.monotonic()).toBe(0);
  });

  it('fails at once when the next delay would pass the deadline', async () => {
    const clock = new VirtualClock();
    const { work, calledAt } = script(clock, [new Flaky('a'), new Flaky('b'), new Flaky('c')]);
    const retried = withTimeout((signal) => retry(work, fixed(9), context(clock, signal)), {
      clock,
      timeoutMs: 250,
    });
    const error = await clock.run(failure(retried));
    expect(calledAt).toEqual([0, 100, 200]);
    expect(clock.monotonic()).toBe(200);
    expect(error).toMatchObject({ message: 'c' });
  });

  it('fails with DEADLINE_EXCEEDED when the deadline passes during an attempt', async () => {
    const clock = new VirtualClock();
    const work = async (attempt: number, signal: AbortSignal | undefined) => {
      if (attempt === 1) throw new Flaky('first');
      return await clock.sleep(1_000, signal);
    };
    const retried = withTimeout((signal) => retry(work, fixed(9), context(clock, signal)), {
      clock,
      timeoutMs: 250,
    });
    const error = await clock.run(failure(retried));
    expect(error).toMatchObject({ code: 'DEADLINE_EXCEEDED' });
  });

  it.each(['before', 'during an attempt', 'during a delay'])(
    'fails with the abort reason: %s',
    async (when) => {
      const clock = new VirtualClock();
      const controller = new AbortController();
      const reason = new Error('caller left');
      if (when === 'before') controller.abort(reason);
      const work = async () => {
        if (when === 'during an attempt') controller.abort(reason);
        throw new Flaky('x');
      };
      const result = failure(retry(work, fixed(3), context(clock, controller.signal)));
      await clock.advance(50);
      controller.abort(reason);
      expect(await result).toBe(reason);
      expect(clock.pending).toBe(0);
    },
  );

  it('reports each delay', async () => {
    const clock = new VirtualClock();
    const { work } = script(clock, [new Flaky('x'), new Flaky('y')]);
    const seen: unknown[] = [];
    const onRetry = ({ attempt, delayMs }: { attempt: number; delayMs: number }) =>
      seen.push([attempt, delayMs]);
    await clock.run(retry(work, fixed(2), { ...context(clock), onRetry }));
    expect(seen).toEqual([
      [1, 100],
      [2, 100],
    ]);
  });

  it.each([-1, 1.5, Number.NaN])('rejects %d retries', async (retries) => {
    await expect(retry(async () => 1, fixed(retries), context(new VirtualClock()))).rejects.toThrow(
      `retries must be a whole number from 0, not ${retries}`,
    );
  });

  it('makes exactly min(failures, retries) + 1 attempts', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(8), fc.nat(8), async (failures, retries) => {
        const clock = new VirtualClock();
        const { work, calledAt } = script(
          clock,
          Array.from({ length: failures }, () => new Flaky('x')),
        );
        const error = await clock.run(failure(retry(work, fixed(retries), context(clock))));
        expect(calledAt).toHaveLength(Math.min(failures, retries) + 1);
        expect(error === undefined).toBe(failures <= retries);
        expect(clock.monotonic()).toBe(100 * (calledAt.length - 1));
      }),
    );
  });
});

describe('backoff', () => {
  it('doubles up to the longest delay without jitter', () => {
    const backoff = exponentialBackoff({ initialMs: 100, maxMs: 1_000, jitter: 'none' });
    expect([1, 2, 3, 4, 5, 500].map((retry) => backoff.delayMs(retry, seededRandom(1)))).toEqual([
      100, 200, 400, 800, 1_000, 1_000,
    ]);
  });

  it('stays between 0 (full) or half (equal) and the whole delay', () => {
    fc.assert(
      fc.property(fc.integer(), fc.integer({ min: 1, max: 100 }), (seed, retry) => {
        const whole = exponentialBackoff({ initialMs: 10, maxMs: 5_000, jitter: 'none' });
        const max = whole.delayMs(retry, seededRandom(0));
        const full = exponentialBackoff({ initialMs: 10, maxMs: 5_000 }).delayMs(retry, seededRandom(seed));
        const equal = exponentialBackoff({ initialMs: 10, maxMs: 5_000, jitter: 'equal' });
        const half = equal.delayMs(retry, seededRandom(seed));
        expect(full >= 0 && full <= max && half >= max / 2 && half <= max).toBe(true);
      }),
    );
  });

  it.each([
    [() => exponentialBackoff({ initialMs: Number.NaN, maxMs: 1 }), 'initialMs must be 0 or more, not NaN'],
    [() => exponentialBackoff({ initialMs: 1, maxMs: 1, factor: 0.5 }), 'factor must be 1 or more, not 0.5'],
  ])('names an invalid option', (make, message) => {
    expect(make).toThrow(new RangeError(message));
  });
});
