import { VirtualClock } from '../../../test/support/core/virtual-clock.ts';
import { describe, expect, it } from 'vitest';
import { RoutingWorld } from '../../../test/support/gateway/routing-world.ts';
import { FailureBackoff } from './availability.ts';

function backoffWorld() {
  const clock = new VirtualClock();
  const backoff = new FailureBackoff(clock, []);
  const fail = (times: number) => Array.from({ length: times }).forEach(() => backoff.failed(1));
  const backoffMs = () => (backoff.until(1) ?? clock.now()) - clock.now();
  return { clock, backoff, fail, backoffMs };
}

describe('a model that keeps failing', () => {
  it('is backed off after three failed requests in a row', () => {
    const { backoff, fail, backoffMs } = backoffWorld();
    fail(2);
    expect(backoff.isBackedOff(1)).toBe(false);
    expect(backoff.until(1)).toBeNull();
    fail(1);
    expect(backoff.isBackedOff(1)).toBe(true);
    expect(backoff.isBackedOff(2)).toBe(false);
    expect(backoffMs()).toBe(30_000);
  });

  it('is backed off twice as long after each further failure, up to ten minutes', async () => {
    const { clock, fail, backoffMs } = backoffWorld();
    fail(2);
    for (const expected of [30_000, 60_000, 120_000, 240_000, 480_000, 600_000, 600_000]) {
      fail(1);
      expect(backoffMs()).toBe(expected);
      await clock.advance(expected);
      expect(backoffMs()).toBe(0);
    }
  });

  it('is backed off once for simultaneous failures', () => {
    const { fail, backoffMs } = backoffWorld();
    fail(100);
    expect(backoffMs()).toBe(30_000);
  });

  it('is reset by one success', async () => {
    const { clock, backoff, fail, backoffMs } = backoffWorld();
    fail(3);
    backoff.succeeded(1);
    expect(backoff.isBackedOff(1)).toBe(false);
    fail(2);
    expect(backoff.isBackedOff(1)).toBe(false);
    fail(1);
    expect(backoffMs()).toBe(30_000);
    await clock.advance(30_000);
    expect(backoff.isBackedOff(1)).toBe(false);
  });
});

describe('backoff in the router', () => {
  it('puts a model behind the others after three failed requests, and back after a success', async () => {
    const script = (call: number) => (call < 3 ? 'server-error' : 'respond');
    const world = new RoutingWorld([{ name: 'a', script, score: 0.9 }, { name: 'b' }]);
    for (let index = 0; index < 4; index++) await world.complete();
    expect(world.called).toEqual(['a', 'b', 'a', 'b', 'a', 'b', 'b']);
    await world.clock.advance(30_000);
    await world.complete();
    await world.complete();
    expect(world.called.slice(7)).toEqual(['a', 'a']);
  });

  it('counts a request once, however often it was tried', async () => {
    const world = new RoutingWorld([{ name: 'a', script: 'server-error' }]);
    await world.failure();
    expect(world.callsOf('a')).toBe(11);
    expect(world.backoff.isBackedOff(1)).toBe(false);
  });

  it('is reset by a response, also in a later round', async () => {
    const script = (call: number) => (call % 4 === 3 ? 'respond' : 'server-error');
    const world = new RoutingWorld([{ name: 'a', script }], { maxRetries: 0 });
    await world.failure();
    await world.failure();
    await world.complete('auto', { maxRetries: 1 });
    await world.failure();
    await world.failure();
    expect(world.called).toHaveLength(6);
    expect(world.backoff.isBackedOff(1)).toBe(false);
    await world.failure();
    expect(world.backoff.isBackedOff(1)).toBe(true);
  });

  it('does not exclude the only model', async () => {
    const world = new RoutingWorld([{ name: 'a' }]);
    for (let index = 0; index < 3; index++) world.backoff.failed(1);
    expect(await world.complete()).toMatchObject({ model: { name: 'a' } });
  });

  it.each(['rate-limit', 'validation', 'authentication'] as const)(
    'does not start after %s',
    async (failureClass) => {
      const world = new RoutingWorld([{ name: 'a', script: failureClass, isLocal: true }]);
      for (let index = 0; index < 5; index++) await world.failure();
      expect(world.backoff.isBackedOff(1)).toBe(false);
    },
  );
});
