// When a cooldown has ended, one call goes first.
import { describe, expect, it } from 'vitest';
import type { RequestOptions } from '../../../test/support/gateway/routing-world.ts';
import { RoutingWorld } from '../../../test/support/gateway/routing-world.ts';
import { allKeys } from '../types.ts';

const limited = (hintMs: number) => ({ does: 'rate-limit', hintMs, afterMs: 100 }) as const;

/** Sends requests at once; how each ends: the name of the model, or the code of the error. */
const together = (world: RoutingWorld, count: number, options: RequestOptions = {}, model = 'auto') =>
  world.clock.run(
    Promise.all(
      Array.from({ length: count }, () =>
        world.begin(model, options).then(
          (result) => result.model.name,
          (error: { readonly code: string }) => error.code,
        ),
      ),
    ),
  );

describe('when a cooldown has ended', () => {
  it('one of many requests calls the model, and the others share its fate when it is rejected', async () => {
    const world = new RoutingWorld([{ name: 'a', script: limited(5_000) }]);
    await world.failure();
    for (let round = 2; round <= 4; round++) {
      await world.clock.advance(5_000);
      expect(new Set(await together(world, 24))).toEqual(new Set(['GATEWAY_ALL_RATE_LIMITED']));
      expect(world.calls).toHaveLength(round);
    }
  });

  it('the others follow when it succeeds', async () => {
    const world = new RoutingWorld([{ name: 'a', script: { does: 'respond', afterMs: 300 } }]);
    world.cool('a', 1_000);
    await world.clock.advance(1_000);
    expect(new Set(await together(world, 24))).toEqual(new Set(['a']));
    const times = world.calls.map(({ atMs }) => atMs);
    expect(times.filter((atMs) => atMs === 1_000)).toHaveLength(1);
    expect(times.filter((atMs) => atMs >= 1_300 && atMs <= 1_350)).toHaveLength(23);
    await together(world, 5);
    expect(world.calls.slice(-5).map(({ atMs }) => atMs)).toEqual(Array(5).fill(world.calls.at(-1)?.atMs));
  });

  it('the others use another model meanwhile, without waiting', async () => {
    const world = new RoutingWorld([
      { name: 'a', script: { does: 'respond', afterMs: 3_000 }, score: 0.9 },
      { name: 'b', script: { does: 'respond', afterMs: 10 } },
    ]);
    world.cool('a', 1_000);
    await world.clock.advance(1_000);
    const results = await together(world, 6);
    expect(results.toSorted()).toEqual(['a', 'b', 'b', 'b', 'b', 'b']);
    expect(world.calls.map(({ atMs }) => atMs)).toEqual(Array(6).fill(1_000));
  });

  it('the others use another key meanwhile', async () => {
    const world = new RoutingWorld([{ name: 'a', keys: 2, script: { does: 'respond', afterMs: 1_000 } }]);
    world.cool('a', 1_000, 'rate-limit', 'key-1');
    await world.clock.advance(1_000);
    await together(world, 5);
    expect(world.calls.map(({ key }) => key)).toEqual(['key-1', 'key-2', 'key-2', 'key-2', 'key-2']);
  });

  it('of the whole model, one request goes first whatever the number of keys', async () => {
    const world = new RoutingWorld([{ name: 'a', keys: 3, script: { does: 'not-found', afterMs: 100 } }]);
    world.cool('a', 1_000, 'not-found', allKeys);
    await world.clock.advance(1_000);
    await together(world, 5);
    expect(world.calls).toHaveLength(1);
  });

  it('requests that waited for it call the model once', async () => {
    const world = new RoutingWorld([{ name: 'a', script: limited(4_000) }]);
    await together(world, 6, { waitMs: 15_000 });
    // All were sent before the first was rejected; then one after each cooldown.
    expect(world.calls.map(({ atMs }) => atMs)).toEqual([...Array<number>(6).fill(0), 4_100, 8_200, 12_300]);
  });

  it('a trial whose caller disconnects is followed by the next request', async () => {
    const script = ['hang', 'respond'] as const;
    const world = new RoutingWorld([{ name: 'a', script }]);
    world.cool('a', 1_000);
    await world.clock.advance(1_000);
    const caller = new AbortController();
    const trial = world.begin('a', { signal: caller.signal });
    const next = world.begin('a');
    await world.clock.advance(200);
    caller.abort();
    await expect(trial).rejects.toMatchObject({ code: 'CANCELED' });
    expect((await world.clock.run(next)).model.name).toBe('a');
    expect(world.calls.at(-1)?.atMs).toBeLessThanOrEqual(1_250);
  });

  it('a trial that hangs delays the others by five seconds, not longer', async () => {
    const world = new RoutingWorld([{ name: 'a', script: ['hang', { does: 'respond', afterMs: 500 }] }]);
    world.cool('a', 1_000);
    await world.clock.advance(1_000);
    const hanging = world.begin();
    expect(new Set(await together(world, 3))).toEqual(new Set(['a']));
    expect(world.calls.slice(1).map(({ atMs }) => atMs)).toEqual([6_000, 6_000, 6_000]);
    await together(world, 2);
    expect(world.calls.slice(-2).map(({ atMs }) => atMs)).toEqual([6_500, 6_500]);
    await world.clock.run(hanging.catch(() => undefined));
    expect(world.clock.pending).toBe(0);
  });

  it.each(['server-error', 'timeout', 'context-too-long'] as const)(
    'a trial that ends with another failure (%s) is the last one',
    async (failureClass) => {
      const script = [{ does: failureClass, afterMs: 100 }, 'respond'] as const;
      const world = new RoutingWorld([{ name: 'a', script }], { maxRetries: 0 });
      world.cool('a', 1_000);
      await world.clock.advance(1_000);
      const results = await together(world, 4);
      expect(results.filter((result) => result === 'a')).toHaveLength(3);
      const times = world.calls.slice(1).map(({ atMs }) => atMs);
      expect(new Set(times).size).toBe(1);
    },
  );

  it('a model that rejected requests gets one trial until another model has decided whose fault it was', async () => {
    const world = new RoutingWorld([
      { name: 'picky', script: { does: 'validation', afterMs: 10 }, score: 0.9 },
      { name: 'b', script: { does: 'respond', afterMs: 2_000 } },
    ]);
    for (let request = 0; request < 3; request++) await world.complete();
    expect(world.callsOf('picky')).toBe(3);
    await world.clock.advance(60_000);
    await together(world, 8);
    expect(world.callsOf('picky')).toBeLessThanOrEqual(4);
  });

  it('a request whose deadline ends while it waits fails without a call', async () => {
    const world = new RoutingWorld([{ name: 'a', script: 'hang' }]);
    world.cool('a', 1_000);
    await world.clock.advance(1_000);
    const hanging = world.begin();
    expect(await world.failure('a', { deadlineMs: 500 })).toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    expect(world.calls).toHaveLength(1);
    await world.clock.run(hanging.catch(() => undefined));
  });

  it('a trial that ends in a defect of ours does not block the model', async () => {
    const script = (call: number) => {
      if (call === 0) throw new TypeError('defect');
      return 'respond' as const;
    };
    const world = new RoutingWorld([{ name: 'a', script }]);
    world.cool('a', 1_000);
    await world.clock.advance(1_000);
    expect(await world.failure()).toBeInstanceOf(TypeError);
    expect(world.cooldowns.trials.isRunning(1, 'key-1')).toBe(false);
    expect(await world.complete()).toMatchObject({ model: { name: 'a' } });
  });

  it('a trial that has no quota is none', async () => {
    const quotas = { take: async () => ({ availableAt: world.clock.now() + 10 }) };
    const world: RoutingWorld = new RoutingWorld([{ name: 'a' }], {}, quotas);
    world.cool('a', 1_000);
    await world.clock.advance(1_000);
    await world.failure();
    expect(world.cooldowns.trials.isRunning(1, 'key-1')).toBe(false);
  });
});
