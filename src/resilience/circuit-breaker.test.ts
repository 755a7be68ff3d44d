// The circuit breaker on virtual time.
import { VirtualClock } from '../../test/support/core/virtual-clock.ts';
import { describe, expect, it } from 'vitest';
import { CircuitBreaker } from './circuit-breaker.ts';

function setUp(isFailure?: (error: unknown) => boolean) {
  const clock = new VirtualClock();
  const breaker = new CircuitBreaker({ clock, failureThreshold: 2, resetTimeoutMs: 1_000, isFailure });
  let calls = 0;
  const call = (outcome: 'ok' | Error, signal?: AbortSignal) =>
    breaker
      .execute(async () => {
        calls++;
        if (outcome !== 'ok') throw outcome;
        return 'ok';
      }, signal)
      .catch((error: unknown) => error);
  return { clock, breaker, call, calls: () => calls };
}

const down = new Error('down');

describe('CircuitBreaker', () => {
  it('opens after the threshold and then fails at once with the last error', async () => {
    const { breaker, call, calls } = setUp();
    await call(down);
    expect(breaker.state).toEqual({ is: 'closed' });
    await call(down);
    expect(breaker.state).toEqual({ is: 'open', error: down, retryAfterMs: 1_000 });
    expect(await call('ok')).toBe(down);
    expect(calls()).toBe(2);
  });

  it('makes one call as a probe after the reset timeout, and closes when it succeeds', async () => {
    const { clock, breaker, call, calls } = setUp();
    await call(down);
    await call(down);
    await clock.advance(1_000);
    expect(breaker.state).toEqual({ is: 'half-open' });
    const [probe, other] = await Promise.all([call('ok'), call('ok')]);
    expect([probe, other]).toEqual(['ok', down]);
    expect(breaker.state).toEqual({ is: 'closed' });
    expect(calls()).toBe(3);
  });

  it('stays open for another reset timeout when the probe fails', async () => {
    const { clock, breaker, call } = setUp();
    await call(down);
    await call(down);
    await clock.advance(1_000);
    await call(down);
    expect(breaker.state).toMatchObject({ is: 'open', retryAfterMs: 1_000 });
  });

  it('resets the count of failures after a success', async () => {
    const { breaker, call } = setUp();
    await call(down);
    await call('ok');
    await call(down);
    expect(breaker.state).toEqual({ is: 'closed' });
  });

  it('counts an error that isFailure excludes as a success', async () => {
    const unusable = new Error('unusable reply');
    const { breaker, call } = setUp((error) => error !== unusable);
    await call(down);
    await call(unusable);
    await call(down);
    expect(breaker.state).toEqual({ is: 'closed' });
  });

  it('does not count calls that the caller aborted', async () => {
    const { breaker, call } = setUp();
    await call(down, AbortSignal.abort());
    await call(down, AbortSignal.abort());
    expect(breaker.state).toEqual({ is: 'closed' });
  });

  it('waits for the calls in flight when one more failure would open it', async () => {
    const { clock, breaker, call, calls } = setUp();
    const slow = breaker
      .execute(() => clock.sleep(500).then(() => Promise.reject(down)))
      .catch((error: unknown) => error);
    await call(down);
    const waiting = call('ok');
    await clock.advance(500);
    expect([await slow, await waiting]).toEqual([down, down]);
    expect(calls()).toBe(1);
  });
});
