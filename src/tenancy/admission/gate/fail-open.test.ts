// What happens while Redis is away, and when it comes back.
import { describe, expect, it } from 'vitest';
import type { AdmissionWorld } from '../../../../test/support/tenancy/admission-world.ts';
import { admissionWorld, standardOptions } from '../../../../test/support/tenancy/admission-world.ts';
import { redisAwayKind } from './redis-away.ts';
import { MemorySlotStore } from '../slots/memory-slot-store.ts';

const slot = (organizationId: string, executionId: string) => ({ organizationId, executionId });

/** As many as get in, of `count` who try at once. */
async function burst(
  world: AdmissionWorld,
  organizationId: string,
  count: number,
  tag = 'x',
): Promise<number> {
  const tries = Array.from({ length: count }, (_, index) =>
    world.admit(organizationId, `${organizationId}-${tag}-${index}`),
  );
  const settled = world.clock.run(Promise.allSettled(tries));
  return (await settled).filter(({ status }) => status === 'fulfilled').length;
}

describe.each(['down', 'hanging'] as const)('while Redis is %s', (state) => {
  it('admits what is left of the limit, recorded once in the ledger, and asks Redis no more', async () => {
    const world = await admissionWorld({ options: { defaultLimit: 10 } });
    expect(await burst(world, 'a', 4, 'before')).toBe(4);
    world.faulty.state = state;
    expect(await burst(world, 'a', 20)).toBe(6);
    expect(world.recorded).toMatchObject([
      { kind: redisAwayKind, subject: 'redis.test:6379/0', cause: 'REDIS_UNAVAILABLE' },
    ]);
    const { calls } = world.faulty;
    expect(await burst(world, 'b', 3)).toBe(3);
    expect(world.faulty.calls).toBe(calls);
    await world.admission.close();
  });

  it('decides within 50 ms, and at once from the second request on', async () => {
    const world = await admissionWorld();
    await world.admit('a', '0');
    world.faulty.state = state;
    const startedAt = world.clock.monotonic();
    expect(await world.clock.run(world.admit('a', '1'))).toMatchObject({ decidedBy: 'local' });
    expect(world.clock.monotonic() - startedAt).toBeLessThan(50);
    const next = world.clock.monotonic();
    await world.admit('a', '2');
    expect(world.clock.monotonic()).toBe(next);
    await world.admission.close();
  });

  it('counts what it admitted when Redis is back, and frees what was released meanwhile', async () => {
    const world = await admissionWorld({ options: { defaultLimit: 10 } });
    await world.admit('a', 'before');
    world.faulty.state = state;
    await world.clock.run(world.admit('a', 'kept'));
    await world.admit('a', 'gone');
    await world.admission.gate.release(slot('a', 'gone'));
    await world.admission.gate.release(slot('a', 'before'));
    world.faulty.goUp();
    await world.clock.advance(2_500);
    expect(world.admission.isStoreUp()).toBe(true);
    expect((await world.slots.holders()).map(({ executionId }) => executionId)).toEqual(['kept']);
    expect(world.count('admission:redis-back')).toBe(1);
    expect(await world.admission.repair.repair(undefined as never, undefined as never)).toEqual({
      outcome: 'repaired',
    });
    await world.admission.close();
  });

  it('admits nobody when it is told to be closed', async () => {
    const world = await admissionWorld({ options: { whenRedisIsAway: 'closed' } });
    world.faulty.state = state;
    const refused = world.clock.run(world.admit('a', '1').catch((error: unknown) => error));
    expect(await refused).toMatchObject({
      code: 'ADMISSION_UNAVAILABLE',
      retryAfterMs: 2_000,
      isRetryable: true,
    });
    await world.admission.close();
  });
});

describe('while Redis is away', () => {
  it('shares what is left among the servers that were last seen', async () => {
    const one = await admissionWorld({ options: { defaultLimit: 10 } });
    const two = await admissionWorld({ options: { defaultLimit: 10 }, beside: one });
    await one.clock.advance(20_000);
    expect(await burst(one, 'a', 2, 'one')).toBe(2);
    expect(await burst(two, 'a', 2, 'two')).toBe(2);
    await one.clock.advance(20_000);
    one.faulty.state = 'down';
    two.faulty.state = 'down';
    expect(await burst(one, 'a', 20, 'more')).toBe(3);
    expect(await burst(two, 'a', 20, 'even-more')).toBe(3);
    await Promise.all([one.admission.close(), two.admission.close()]);
  });

  it('keeps to the limit however long it lasts: dispatched executions count until they end', async () => {
    const world = await admissionWorld({ options: { defaultLimit: 4 } });
    world.faulty.state = 'down';
    for (let round = 0; round < 5; round++) {
      for (let index = 0; index < 3; index++) {
        const { organizationId, executionId } = slot('a', `${round}-${index}`);
        const isIn = await world.admit(organizationId, executionId).then(
          () => true,
          () => false,
        );
        if (!isIn) continue;
        world.executions.begin(slot(organizationId, executionId), new Date(world.clock.now()));
        world.admission.gate.letGo(slot(organizationId, executionId));
      }
      expect(world.executions.running.size).toBeLessThanOrEqual(4);
      await world.clock.advance(1_500);
    }
    expect(world.executions.running.size).toBe(4);
    world.executions.end('0-0');
    world.admission.gate.executionEnded('0-0');
    await world.admit('a', 'next');
    await expect(world.admit('a', 'last')).rejects.toMatchObject({ code: 'ADMISSION_ORG_LIMIT' });
    await world.admission.close();
  });

  it('lets others in when an execution ended elsewhere without a word', async () => {
    const world = await admissionWorld({ options: { defaultLimit: 1 } });
    world.faulty.state = 'down';
    await world.admit('a', '1');
    world.executions.begin(slot('a', '1'), new Date(world.clock.now()));
    world.admission.gate.letGo(slot('a', '1'));
    world.executions.end('1');
    await world.clock.advance(1_500);
    await world.admit('a', '2');
    await world.clock.advance(1_500);
    await expect(world.admit('a', '3')).rejects.toMatchObject({ code: 'ADMISSION_ORG_LIMIT' });
    await world.admission.close();
  });

  it('tells Redis what was admitted while it was being told, before it decides', async () => {
    const world = await admissionWorld();
    world.faulty.state = 'down';
    await world.admit('a', '1');
    const restore = world.slots.restore.bind(world.slots);
    world.slots.restore = async (slots) => {
      await world.admit('a', '2');
      return restore(slots);
    };
    const known: Promise<readonly { readonly executionId: string }[]>[] = [];
    world.onEvent('admission:redis-back', () => known.push(world.slots.holders()));
    world.faulty.goUp();
    await world.clock.advance(2_500);
    expect((await known[0])?.map(({ executionId }) => executionId)).toEqual(['1', '2']);
    await world.admission.close();
  });

  it('leaves no slot behind of an execution that ends while everything is restored', async () => {
    const world = await admissionWorld();
    await world.admit('a', '1');
    world.executions.begin(slot('a', '1'), new Date(world.clock.now()));
    world.admission.gate.letGo(slot('a', '1'));
    world.faulty.state = 'down';
    await world.admit('a', '2');
    const restore = world.slots.restore.bind(world.slots);
    world.slots.restore = async (slots) => {
      // It ends in another process, which can reach Redis.
      world.executions.end('1');
      await world.slots.release(slot('a', '1'));
      return restore(slots);
    };
    world.faulty.goUp();
    await world.clock.advance(2_500);
    expect((await world.slots.holders()).map(({ executionId }) => executionId)).toEqual(['2']);
    await world.admission.close();
  });

  it('uses limits that were changed meanwhile, before and after Redis is back', async () => {
    const world = await admissionWorld({ options: { defaultLimit: 2 } });
    expect(await burst(world, 'a', 5, 'before')).toBe(2);
    world.faulty.state = 'down';
    const { view } = await world.admission.limits.set('a', 4);
    expect(view).toMatchObject({ customLimit: 4, cachedLimit: null, isCacheKnown: false });
    await world.clock.advance(1_500);
    expect(await burst(world, 'a', 5, 'away')).toBe(2);
    await world.admission.limits.set('a', 5);
    world.faulty.goUp();
    await world.clock.advance(2_500);
    expect(await burst(world, 'a', 5, 'back')).toBe(1);
    await world.admission.close();
  });

  it('is repaired by a server that had not noticed its return yet', async () => {
    const world = await admissionWorld();
    world.faulty.state = 'down';
    await world.admit('a', '1');
    const { repair } = world.admission.repair;
    const tried = () => repair(undefined as never, undefined as never);
    expect(await tried()).toMatchObject({ outcome: 'still-broken' });
    world.faulty.goUp();
    expect(world.admission.isStoreUp()).toBe(false);
    expect(await tried()).toEqual({ outcome: 'repaired' });
    expect(world.admission.isStoreUp()).toBe(true);
    await world.admission.close();
  });

  it('is not back before it was told everything, and looks at most a second apart', async () => {
    const world = await admissionWorld();
    world.faulty.state = 'down';
    await world.admit('a', '1');
    world.faulty.calls = 0;
    await world.clock.advance(60_000);
    expect(world.faulty.calls).toBeGreaterThan(50);
    expect(world.faulty.calls).toBeLessThan(70);
    expect(world.recorded.length).toBeGreaterThan(1);
    world.executions.isAway = true;
    world.faulty.goUp();
    await world.clock.advance(5_000);
    expect(world.admission.isStoreUp()).toBe(false);
    expect(await world.admission.repair.repair(undefined as never, undefined as never)).toMatchObject({
      outcome: 'still-broken',
    });
    world.executions.isAway = false;
    await world.clock.advance(1_500);
    expect(world.admission.isStoreUp()).toBe(true);
    await world.admission.close();
  });

  it('restores everything when Redis comes back empty', async () => {
    const world = await admissionWorld({ options: { defaultLimit: 3 } });
    await world.admit('a', '1');
    world.executions.begin(slot('a', '1'), new Date(world.clock.now()));
    world.admission.gate.letGo(slot('a', '1'));
    world.faulty.state = 'down';
    await world.admit('a', '2');
    world.faulty.replace(new MemorySlotStore({ ...standardOptions, clock: world.clock }));
    world.faulty.goUp();
    await world.clock.advance(2_500);
    expect(world.payloads('admission:slots-restored')).toEqual([{ count: 2, why: 'store-was-empty' }]);
    expect(await burst(world, 'a', 5)).toBe(1);
    await world.admission.close();
  });

  it('says that Redis was away, not that it was empty, of what it had not heard of', async () => {
    const world = await admissionWorld();
    await world.admit('a', '1');
    world.faulty.state = 'down';
    await world.admit('a', '2');
    world.faulty.goUp();
    await world.clock.advance(2_500);
    expect(world.payloads('admission:slots-restored')).toEqual([{ count: 1, why: 'store-was-away' }]);
    await world.admission.close();
  });
});
