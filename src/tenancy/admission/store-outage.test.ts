// A suspected and a confirmed outage of Redis, for one server.
import { describe, expect, it } from 'vitest';
import type { AdmissionWorld, StoreState } from '../../../test/support/tenancy/admission-world.ts';
import { admissionWorld, standardOptions } from '../../../test/support/tenancy/admission-world.ts';
import { MemorySlotStore } from './memory-slot-store.ts';
import { redisDownKind } from './open-admission.ts';

const slot = (organizationId: string, executionId: string) => ({ organizationId, executionId });
const { signal } = new AbortController();

/** Number of admitted requests of `count` concurrent ones. */
async function burst(
  world: AdmissionWorld,
  organizationId: string,
  count: number,
  tag = 'x',
): Promise<number> {
  const requests = Array.from({ length: count }, (_, index) =>
    world.acquire(organizationId, `${organizationId}-${tag}-${index}`),
  );
  const settled = await world.clock.run(Promise.allSettled(requests));
  return settled.filter(({ status }) => status === 'fulfilled').length;
}

const holders = async (world: AdmissionWorld) =>
  (await world.slots.holders()).map(({ executionId }) => executionId);

const stateOf = (world: AdmissionWorld) => world.admission.health().state;

/** Makes the store fail in a way that a request confirms. */
async function confirmOutage(world: AdmissionWorld, state: StoreState = 'down'): Promise<void> {
  world.faulty.state = state;
  world.admission.connectionChanged(false);
  await world.clock.advance(1_100);
  expect(stateOf(world)).toBe('down');
}

const repair = (world: AdmissionWorld) =>
  world.admission.repair.repair(
    { subject: 'redis.test:6379/0' } as Parameters<typeof world.admission.repair.repair>[0],
    signal,
  );

describe('a suspected outage', () => {
  it('lets a slow reply decide, without a local decision', async () => {
    const world = await admissionWorld({ options: { defaultLimit: 5 } });
    world.faulty.latencyMs = 400;
    world.faulty.state = 'slow';
    expect(await burst(world, 'a', 20)).toBe(5);
    expect(world.count('admission:outage-suspected')).toBeGreaterThan(0);
    expect(world.count('admission:outage-confirmed')).toBe(0);
    expect(world.payloads('admission:request-admitted')).toEqual(
      Array.from({ length: 5 }, () => expect.objectContaining({ decider: 'store' }) as unknown),
    );
    await world.admission.close();
  });

  it('makes requests wait a second at most, then rejects them as ADMISSION_UNAVAILABLE', async () => {
    const world = await admissionWorld();
    await world.acquire('a', '1');
    // The probe replies, so that the outage is never confirmed; the deciding connection hangs.
    world.faulty.probeState = 'up';
    world.faulty.state = 'hanging';
    const startedAt = world.clock.monotonic();
    const rejected = await world.clock.run(world.acquire('a', '2').catch((error: unknown) => error));
    expect(rejected).toMatchObject({
      code: 'ADMISSION_UNAVAILABLE',
      isRetryable: true,
      retryAfterMs: 2_000,
      message: 'Redis at redis.test:6379/0 did not decide within 1000 ms. Try again in a moment.',
    });
    expect(world.clock.monotonic() - startedAt).toBeLessThanOrEqual(1_000);
    await world.clock.advance(5_000);
    expect(stateOf(world)).toBe('suspected');
    expect(await burst(world, 'b', 3)).toBe(0);
    expect(world.count('admission:request-admitted')).toBe(1);
    await world.admission.close();
  });

  it('releases the slot of a call that was executed after its request gave up', async () => {
    const world = await admissionWorld();
    await world.acquire('a', '1');
    world.faulty.probeState = 'up';
    world.faulty.state = 'hanging';
    await world.clock.run(world.acquire('a', '2').catch(() => undefined));
    world.faulty.goUp();
    await world.clock.advance(2_000);
    expect(stateOf(world)).toBe('up');
    expect(await holders(world)).toEqual(['1']);
    await world.admission.close();
  });

  it('decides about requests that waited when the connection is established again within a second', async () => {
    const world = await admissionWorld({ options: { defaultLimit: 3 } });
    await world.acquire('a', '1');
    // Only our connection is lost: the probe replies.
    world.faulty.probeState = 'up';
    world.faulty.state = 'down';
    world.admission.connectionChanged(false);
    const requests = ['2', '3', '4'].map((id) => world.acquire('a', id));
    const settled = Promise.allSettled(requests);
    await world.clock.advance(300);
    expect(stateOf(world)).toBe('suspected');
    world.faulty.goUp();
    expect((await world.clock.run(settled)).map(({ status }) => status)).toEqual([
      'fulfilled',
      'fulfilled',
      'rejected',
    ]);
    expect(world.count('admission:outage-confirmed')).toBe(0);
    expect(stateOf(world)).toBe('up');
    await world.admission.close();
  });

  it('sends releases that came meanwhile', async () => {
    const world = await admissionWorld();
    await world.acquire('a', '1');
    world.faulty.probeState = 'up';
    world.faulty.state = 'down';
    world.admission.connectionChanged(false);
    await world.admission.controller.release(slot('a', '1'));
    expect(await holders(world)).toEqual(['1']);
    world.faulty.goUp();
    await world.clock.advance(500);
    expect(stateOf(world)).toBe('up');
    expect(await holders(world)).toEqual([]);
    await world.admission.close();
  });

  it('is confirmed at once when the connection is refused', async () => {
    const world = await admissionWorld();
    world.faulty.state = 'down';
    const startedAt = world.clock.monotonic();
    await world.clock.run(world.acquire('a', '1'));
    expect(stateOf(world)).toBe('down');
    expect(world.clock.monotonic() - startedAt).toBeLessThan(100);
    await world.admission.close();
  });

  it('is confirmed by a second without a reply of the probe', async () => {
    const world = await admissionWorld();
    world.faulty.state = 'hanging';
    world.admission.connectionChanged(false);
    await world.clock.advance(900);
    expect(stateOf(world)).toBe('suspected');
    await world.clock.advance(150);
    expect(stateOf(world)).toBe('down');
    await world.admission.close();
  });

  it('is not confirmed while the event loop itself is late', async () => {
    const world = await admissionWorld({ stallMs: 60 });
    world.faulty.state = 'hanging';
    world.admission.connectionChanged(false);
    await world.clock.advance(10_000);
    expect(stateOf(world)).toBe('suspected');
    world.stall.ms = 0;
    await world.clock.advance(1_200);
    expect(stateOf(world)).toBe('down');
    await world.admission.close();
  });

  it('is not confirmed by a probe that replies, however slowly requests are decided', async () => {
    const world = await admissionWorld();
    world.faulty.probeState = 'up';
    world.faulty.state = 'hanging';
    world.admission.connectionChanged(false);
    await world.clock.advance(30_000);
    expect(stateOf(world)).toBe('suspected');
    world.faulty.goUp();
    await world.clock.advance(1_500);
    expect(stateOf(world)).toBe('up');
    await world.admission.close();
  });
});

describe.each(['down', 'hanging'] as const)('a confirmed outage with Redis %s', (state) => {
  it('admits the rest of the limit, recorded once in the ledger, without further calls to Redis', async () => {
    const world = await admissionWorld({ options: { defaultLimit: 10 } });
    expect(await burst(world, 'a', 4, 'before')).toBe(4);
    await confirmOutage(world, state);
    expect(await burst(world, 'a', 20)).toBe(6);
    expect(world.recorded).toMatchObject([
      { kind: redisDownKind, subject: 'redis.test:6379/0', cause: 'REDIS_UNAVAILABLE' },
    ]);
    const { calls } = world.faulty;
    expect(await burst(world, 'b', 3)).toBe(3);
    expect(world.faulty.calls).toBe(calls);
    world.faulty.goUp();
    await world.clock.advance(2_500);
    // The number of local decisions, before the entry is closed (L4).
    expect(world.recorded.at(-1)?.message).toContain('this one has admitted 9.');
    await world.admission.close();
  });

  it('decides at once', async () => {
    const world = await admissionWorld();
    await confirmOutage(world, state);
    const startedAt = world.clock.monotonic();
    await world.acquire('a', '1');
    expect(world.clock.monotonic()).toBe(startedAt);
    expect(world.payloads('admission:request-admitted')).toMatchObject([{ decider: 'local' }]);
    await world.admission.close();
  });

  it('replays what was admitted and released when Redis is up again', async () => {
    const world = await admissionWorld({ options: { defaultLimit: 10 } });
    await world.acquire('a', 'before');
    await confirmOutage(world, state);
    await world.acquire('a', 'kept');
    await world.acquire('a', 'gone');
    await world.admission.controller.release(slot('a', 'gone'));
    await world.admission.controller.release(slot('a', 'before'));
    world.faulty.goUp();
    await world.clock.advance(2_500);
    expect(stateOf(world)).toBe('up');
    expect(await holders(world)).toEqual(['kept']);
    expect(world.count('admission:outage-ended')).toBe(1);
    expect(await repair(world)).toEqual({ outcome: 'repaired' });
    await world.admission.close();
  });

  it('rejects requests as ADMISSION_UNAVAILABLE when the failure mode is closed', async () => {
    const world = await admissionWorld({ options: { redisFailureMode: 'closed' } });
    await confirmOutage(world, state);
    await expect(world.acquire('a', '1')).rejects.toMatchObject({
      code: 'ADMISSION_UNAVAILABLE',
      retryAfterMs: 2_000,
      isRetryable: true,
      message: expect.stringContaining('HEADWORKS_ADMISSION_REDIS_FAILURE_MODE') as string,
    });
    await world.admission.close();
  });
});

describe('a confirmed outage', () => {
  it('lets requests wait for it that came while it was suspected', async () => {
    const world = await admissionWorld({ options: { defaultLimit: 2 } });
    await world.acquire('a', '0');
    world.faulty.state = 'hanging';
    world.admission.connectionChanged(false);
    await world.clock.advance(500);
    const requests = ['1', '2'].map((id) => world.acquire('a', id));
    const settled = await world.clock.run(Promise.allSettled(requests));
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    await world.admission.close();
  });

  it('admits no request before all executions were read', async () => {
    const world = await admissionWorld();
    world.executions.isDown = true;
    await confirmOutage(world);
    const rejected = await world.clock.run(world.acquire('a', '1').catch((error: unknown) => error));
    expect(rejected).toMatchObject({ code: 'ADMISSION_UNAVAILABLE' });
    world.executions.isDown = false;
    await world.clock.advance(300);
    await world.acquire('a', '2');
    await world.admission.close();
  });

  it('discards a reply that arrives after the confirmation, and releases its slot later', async () => {
    const world = await admissionWorld({ options: { defaultLimit: 1 } });
    world.faulty.state = 'hanging';
    const late = world.acquire('a', 'late');
    const settled = Promise.allSettled([late]);
    await world.clock.advance(1_300);
    expect(stateOf(world)).toBe('down');
    await settled;
    await world.admission.controller.release(slot('a', 'late'));
    await world.acquire('a', 'local');
    world.faulty.goUp();
    await world.clock.advance(2_500);
    expect(await holders(world)).toEqual(['local']);
    await world.admission.close();
  });

  it('keeps to the limit however long it lasts: dispatched executions count until they end', async () => {
    const world = await admissionWorld({ options: { defaultLimit: 4 } });
    await confirmOutage(world);
    for (let round = 0; round < 5; round++) {
      for (let index = 0; index < 3; index++) {
        const { organizationId, executionId } = slot('a', `${round}-${index}`);
        const isAdmitted = await world.acquire(organizationId, executionId).then(
          () => true,
          () => false,
        );
        if (!isAdmitted) continue;
        world.executions.begin(slot(organizationId, executionId), new Date(world.clock.now()));
        world.admission.controller.detach(slot(organizationId, executionId));
      }
      expect(world.executions.running.size).toBeLessThanOrEqual(4);
      await world.clock.advance(1_500);
    }
    expect(world.executions.running.size).toBe(4);
    world.executions.end('0-0');
    world.admission.controller.executionEnded('0-0');
    await world.acquire('a', 'next');
    await expect(world.acquire('a', 'last')).rejects.toMatchObject({ code: 'ADMISSION_ORG_LIMIT' });
    await world.admission.close();
  });

  it('admits again when an execution ended in another process without a notification', async () => {
    const world = await admissionWorld({ options: { defaultLimit: 1 } });
    await confirmOutage(world);
    await world.acquire('a', '1');
    world.executions.begin(slot('a', '1'), new Date(world.clock.now()));
    world.admission.controller.detach(slot('a', '1'));
    world.executions.end('1');
    await world.clock.advance(1_500);
    await world.acquire('a', '2');
    await world.clock.advance(1_500);
    await expect(world.acquire('a', '3')).rejects.toMatchObject({ code: 'ADMISSION_ORG_LIMIT' });
    await world.admission.close();
  });

  it('gives the slots of executions from before the outage to later requests when they end', async () => {
    const world = await admissionWorld({ options: { defaultLimit: 1 } });
    await world.acquire('a', 'before');
    world.executions.begin(slot('a', 'before'), new Date(world.clock.now()));
    world.admission.controller.detach(slot('a', 'before'));
    await confirmOutage(world);
    await expect(world.acquire('a', '1')).rejects.toMatchObject({ code: 'ADMISSION_ORG_LIMIT' });
    world.executions.end('before');
    world.admission.controller.executionEnded('before');
    await world.acquire('a', '2');
    await world.admission.close();
  });

  it('is recovering while the store is brought up to date, and replays what is admitted meanwhile', async () => {
    const world = await admissionWorld();
    await confirmOutage(world);
    await world.acquire('a', '1');
    const restore = world.slots.restore.bind(world.slots);
    const states: unknown[] = [];
    world.slots.restore = async (slots) => {
      states.push(world.admission.health());
      await world.acquire('a', '2');
      return restore(slots);
    };
    const known: Promise<readonly string[]>[] = [];
    world.onEvent('admission:outage-ended', () => known.push(holders(world)));
    world.faulty.goUp();
    await world.clock.advance(2_500);
    expect(states).toMatchObject([{ state: 'down', isRecovering: true }]);
    expect(await known[0]).toEqual(['1', '2']);
    await world.admission.close();
  });

  it('leaves no slot of an execution that ends while slots are restored', async () => {
    const world = await admissionWorld();
    await world.acquire('a', '1');
    world.executions.begin(slot('a', '1'), new Date(world.clock.now()));
    world.admission.controller.detach(slot('a', '1'));
    await confirmOutage(world);
    await world.acquire('a', '2');
    const restore = world.slots.restore.bind(world.slots);
    world.slots.restore = async (slots) => {
      // It ends in another process, which can reach Redis.
      world.executions.end('1');
      await world.slots.release(slot('a', '1'));
      return restore(slots);
    };
    world.faulty.goUp();
    await world.clock.advance(2_500);
    expect(await holders(world)).toEqual(['2']);
    await world.admission.close();
  });

  it('releases what was released while slots were restored', async () => {
    const world = await admissionWorld();
    await confirmOutage(world);
    await world.acquire('a', '1');
    const restore = world.slots.restore.bind(world.slots);
    world.slots.restore = async (slots) => {
      await world.admission.controller.release(slot('a', '1'));
      return restore(slots);
    };
    world.faulty.goUp();
    await world.clock.advance(2_500);
    expect(await holders(world)).toEqual([]);
    await world.admission.close();
  });

  it('applies limits that change during and after it', async () => {
    const world = await admissionWorld({ options: { defaultLimit: 2 } });
    expect(await burst(world, 'a', 5, 'before')).toBe(2);
    await confirmOutage(world);
    const { view } = await world.admission.limits.set('a', 4);
    expect(view).toMatchObject({ customLimit: 4, cachedLimit: null, isCacheKnown: false });
    await world.clock.advance(1_500);
    expect(await burst(world, 'a', 5, 'during')).toBe(2);
    await world.admission.limits.set('a', 5);
    world.faulty.goUp();
    await world.clock.advance(2_500);
    expect(await burst(world, 'a', 5, 'after')).toBe(1);
    await world.admission.close();
  });

  it('is repaired by a server that had not noticed its end yet', async () => {
    const world = await admissionWorld();
    await confirmOutage(world);
    expect(await repair(world)).toMatchObject({ outcome: 'still-broken' });
    world.faulty.goUp();
    expect(stateOf(world)).toBe('down');
    expect(await repair(world)).toEqual({ outcome: 'repaired' });
    expect(stateOf(world)).toBe('up');
    await world.admission.close();
  });

  it('is probed at most a second apart, and lasts until the store is up to date', async () => {
    const world = await admissionWorld();
    await confirmOutage(world);
    world.faulty.pings = 0;
    await world.clock.advance(60_000);
    expect(world.faulty.pings).toBeGreaterThan(50);
    expect(world.faulty.pings).toBeLessThan(70);
    expect(world.recorded.length).toBeGreaterThan(1);
    world.executions.isDown = true;
    world.faulty.goUp();
    await world.clock.advance(5_000);
    expect(stateOf(world)).toBe('down');
    expect(await repair(world)).toMatchObject({ outcome: 'still-broken' });
    world.executions.isDown = false;
    await world.clock.advance(1_500);
    expect(stateOf(world)).toBe('up');
    await world.admission.close();
  });

  it('restores all slots when Redis comes back empty', async () => {
    const world = await admissionWorld({ options: { defaultLimit: 3 } });
    await world.acquire('a', '1');
    world.executions.begin(slot('a', '1'), new Date(world.clock.now()));
    world.admission.controller.detach(slot('a', '1'));
    await confirmOutage(world);
    await world.acquire('a', '2');
    world.faulty.replace(new MemorySlotStore({ ...standardOptions, clock: world.clock }));
    world.faulty.goUp();
    await world.clock.advance(2_500);
    expect(world.payloads('admission:slots-restored')).toEqual([{ count: 2, reason: 'store-was-empty' }]);
    expect(await burst(world, 'a', 5)).toBe(1);
    await world.admission.close();
  });

  it('names the outage as the reason of restored slots', async () => {
    const world = await admissionWorld();
    await world.acquire('a', '1');
    await confirmOutage(world);
    await world.acquire('a', '2');
    world.faulty.goUp();
    await world.clock.advance(2_500);
    expect(world.payloads('admission:slots-restored')).toEqual([{ count: 1, reason: 'store-was-down' }]);
    await world.admission.close();
  });
});
