// Deadlines travel with signals, only ever tighten, and leave nothing behind.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { deadlineOf, executeWithDeadline, withDeadline } from './deadline.ts';
import { VirtualClock } from '../../test/support/core/virtual-clock.ts';

describe('a deadline', () => {
  it('aborts its signal when the time is over, naming the budget', async () => {
    const clock = new VirtualClock();
    const deadline = withDeadline(undefined, 500, clock, 'graph expansion');
    const { signal } = deadline;
    await clock.advance(499);
    expect([signal.aborted, deadline.remainingMs()]).toEqual([false, 1]);
    await clock.advance(1);
    expect(signal.reason).toMatchObject({ code: 'DEADLINE_EXCEEDED', isRetryable: true });
    expect(String(signal.reason)).toContain('"graph expansion" timed out after 500 ms');
    expect(deadline.remainingMs()).toBe(0);
  });

  it('is found again from the signal', () => {
    const clock = new VirtualClock();
    const { signal } = withDeadline(undefined, 500, clock, 'x');
    expect(deadlineOf(signal)).toMatchObject({ budget: 'x' });
    expect(deadlineOf(signal)?.remainingMs()).toBe(500);
    expect(deadlineOf(new AbortController().signal)).toBeUndefined();
    expect(deadlineOf(undefined)).toBeUndefined();
  });

  it('takes its parent’s reason when that aborts first', () => {
    const parent = new AbortController();
    const { signal } = withDeadline(parent.signal, 500, new VirtualClock());
    parent.abort('left');
    expect(signal.reason).toBe('left');
  });

  it('is over at once when there is no time, and inherits an abort that was there', () => {
    expect(withDeadline(undefined, 0, new VirtualClock()).signal.aborted).toBe(true);
    expect(withDeadline(AbortSignal.abort('gone'), 10, new VirtualClock()).signal.reason).toBe('gone');
  });

  it('stops its timer and lets go of its parent when the work is over', async () => {
    const clock = new VirtualClock();
    const parent = new AbortController();
    const deadline = withDeadline(parent.signal, 500, clock);
    deadline.dispose();
    expect(clock.pending).toBe(0);
    parent.abort('late');
    expect(deadline.signal.aborted).toBe(false);
  });

  it('holds without a limit of its own only its parent’s', () => {
    const clock = new VirtualClock();
    expect(deadlineOf(withDeadline(undefined, Number.POSITIVE_INFINITY, clock).signal)).toBeUndefined();
    const parent = withDeadline(undefined, 300, clock, 'outer');
    const child = withDeadline(parent.signal, Number.POSITIVE_INFINITY, clock, 'inner');
    expect(deadlineOf(child.signal)?.budget).toBe('outer');
  });

  it.each([-1, Number.NaN])('refuses %d ms', (ms) => {
    expect(() => withDeadline(undefined, ms, new VirtualClock())).toThrow(RangeError);
  });

  it('ends no later than any ancestor, however deep and whenever made', async () => {
    const link = fc.record({
      ms: fc.integer({ min: 1, max: 1_000 }),
      laterMs: fc.integer({ min: 0, max: 50 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(link, { minLength: 1, maxLength: 8 }), async (chain) => {
        const clock = new VirtualClock();
        let parent: AbortSignal | undefined;
        let earliest = Number.POSITIVE_INFINITY;
        for (const { ms, laterMs } of chain) {
          await clock.advance(laterMs);
          earliest = Math.min(earliest, clock.monotonic() + ms);
          parent = withDeadline(parent, ms, clock).signal;
          expect(deadlineOf(parent)?.remainingMs()).toBe(Math.max(0, earliest - clock.monotonic()));
        }
        const left = earliest - clock.monotonic();
        if (left > 1) {
          await clock.advance(left - 1);
          expect(parent?.aborted).toBe(false);
        }
        await clock.advance(Math.max(1, left));
        expect(parent?.aborted).toBe(true);
      }),
    );
  });
});

describe('executeWithDeadline', () => {
  it('returns the result of work that ends in time and passes it a signal with the deadline', async () => {
    const clock = new VirtualClock();
    const options = { clock, timeoutMs: 500, operation: 'reading' };
    const left = executeWithDeadline(async (signal) => deadlineOf(signal)?.remainingMs(), options);
    expect(await left).toBe(500);
  });

  it('fails with DEADLINE_EXCEEDED when work ignores its signal', async () => {
    const clock = new VirtualClock();
    const never = executeWithDeadline(() => new Promise<never>(() => undefined), {
      clock,
      timeoutMs: 500,
      operation: 'reading',
    });
    const failure = expect(never).rejects.toMatchObject({
      code: 'DEADLINE_EXCEEDED',
      details: { budget: 'reading', budgetMs: 500 },
    });
    await clock.advance(500);
    await failure;
  });
});
