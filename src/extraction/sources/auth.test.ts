import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../test/support/core/virtual-clock.ts';
import { TokenAuthorizer } from './http-source.ts';

/** A server that issues tokens after 100 ms; tests set which of them are still valid. */
function server(clock: VirtualClock, lifetimeMs: number | null = null) {
  const state = { logins: 0, inFlight: 0, maxConcurrent: 0, aborted: 0 };
  const authorizer = new TokenAuthorizer({
    clock,
    headersFor: (token) => ({ authorization: token }),
    login: async (signal) => {
      state.inFlight += 1;
      state.maxConcurrent = Math.max(state.maxConcurrent, state.inFlight);
      const value = String(++state.logins);
      try {
        await clock.sleep(100, signal);
        return { value, lifetimeMs };
      } catch (error) {
        state.aborted += 1;
        throw error;
      } finally {
        state.inFlight -= 1;
      }
    },
  });
  return { state, authorizer };
}

const never = new AbortController().signal;

describe('a token that all calls share', () => {
  it('is requested once, however many callers need it', async () => {
    const clock = new VirtualClock();
    const { state, authorizer } = server(clock);
    const grants = await clock.run(
      Promise.all(Array.from({ length: 20 }, () => authorizer.authorize(never))),
    );
    expect(grants.map(({ headers }) => headers['authorization'])).toEqual(Array(20).fill('1'));
    expect(state.logins).toBe(1);
  });

  it('is not renewed after a 401 of an older token', async () => {
    const clock = new VirtualClock();
    const { state, authorizer } = server(clock);
    const old = await clock.run(authorizer.authorize(never));
    expect(old.reject()).toBe(true);
    await clock.run(authorizer.authorize(never));
    expect(old.reject()).toBe(true);
    await authorizer.authorize(never);
    expect(state.logins).toBe(2);
  });

  it('continues for the callers that still wait when one of them leaves', async () => {
    const clock = new VirtualClock();
    const { state, authorizer } = server(clock);
    const leaver = new AbortController();
    const leaving = expect(authorizer.authorize(leaver.signal)).rejects.toThrow('left');
    const staying = authorizer.authorize(never);
    leaver.abort(new Error('left'));
    await leaving;
    await clock.run(staying);
    expect(state).toMatchObject({ logins: 1, aborted: 0 });
  });

  it('is canceled when no caller waits for it any more, and requested again by the next', async () => {
    const clock = new VirtualClock();
    const { state, authorizer } = server(clock);
    const leaver = new AbortController();
    const leaving = expect(authorizer.authorize(leaver.signal)).rejects.toThrow('left');
    await clock.advance(50);
    leaver.abort(new Error('left'));
    await leaving;
    const { headers } = await clock.run(authorizer.authorize(never));
    expect(headers).toEqual({ authorization: '2' });
    expect(state).toMatchObject({ logins: 2, aborted: 1, maxConcurrent: 1 });
  });

  it('fails for waiting callers when the source is closed', async () => {
    const { authorizer } = server(new VirtualClock());
    const waiting = expect(authorizer.authorize(never)).rejects.toThrow(/closed/);
    authorizer.close();
    await waiting;
  });

  it('is never requested twice at once, and never more often than it was rejected or expired', async () => {
    const step = fc.constantFrom('call', 'refused call', 'wait');
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const clock = new VirtualClock();
        const { state, authorizer } = server(clock, 10_000);
        const calls: Promise<unknown>[] = [];
        let reasons = 1;
        for (const what of steps) {
          if (what === 'wait') await clock.advance(3_000);
          else
            calls.push(
              authorizer.authorize(never).then((authorize) => what === 'refused call' && authorize.reject()),
            );
          if (what !== 'call') reasons += 1;
        }
        await clock.run(Promise.all(calls));
        expect(state.maxConcurrent).toBeLessThanOrEqual(1);
        expect(state.logins).toBeLessThanOrEqual(reasons);
      }),
      { numRuns: 50 },
    );
  });
});
