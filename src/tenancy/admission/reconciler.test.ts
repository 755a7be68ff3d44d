// Slots follow executions: renewed while they run, released when they ended, restored when they were lost.
import { describe, expect, it } from 'vitest';
import type { AdmissionWorld } from '../../../test/support/tenancy/admission-world.ts';
import { admissionWorld } from '../../../test/support/tenancy/admission-world.ts';

const slot = (executionId: string) => ({ organizationId: 'a', executionId });

const holders = async ({ slots }: AdmissionWorld): Promise<readonly string[]> =>
  (await slots.holders()).map(({ executionId }) => executionId).sort();

describe('a slot', () => {
  it('is renewed by the process that acquired it until it is detached', async () => {
    const world = await admissionWorld();
    await world.acquire('a', '1');
    await world.acquire('a', '2');
    world.admission.controller.detach(slot('2'));
    await world.clock.advance(59_000);
    expect(await holders(world)).toEqual(['1', '2']);
    await world.clock.advance(2_000);
    expect(await holders(world)).toEqual(['1']);
    await world.clock.advance(600_000);
    expect(await holders(world)).toEqual(['1']);
    await world.admission.close();
  });

  it('is renewed by the process that runs the execution', async () => {
    const world = await admissionWorld();
    world.admission.controller.attach(slot('1'));
    await world.clock.advance(600_000);
    expect(await holders(world)).toEqual(['1']);
    await world.admission.controller.release(slot('1'));
    expect(await holders(world)).toEqual([]);
    await world.admission.close();
  });

  it('is renewed for a queued execution that no process holds', async () => {
    const world = await admissionWorld();
    await world.acquire('a', '1');
    world.executions.begin(slot('1'), new Date(world.clock.now()));
    world.admission.controller.detach(slot('1'));
    await world.clock.advance(600_000);
    expect(await holders(world)).toEqual(['1']);
    expect(world.count('admission:slots-restored')).toBe(0);
    await world.admission.close();
  });

  it('is restored and counted when it was lost', async () => {
    const world = await admissionWorld();
    for (const id of ['held', 'queued']) await world.acquire('a', id);
    world.executions.begin(slot('queued'), new Date(world.clock.now()));
    world.admission.controller.detach(slot('queued'));
    for (const id of ['held', 'queued']) await world.slots.release(slot(id));
    await world.clock.advance(20_001);
    expect(await holders(world)).toEqual(['held', 'queued']);
    expect(world.payloads('admission:slots-restored')).toEqual([
      { count: 1, reason: 'missing' },
      { count: 1, reason: 'missing' },
    ]);
    await world.admission.close();
  });

  it('of an ended execution is released, counted, and given to a queued request', async () => {
    const world = await admissionWorld({ options: { defaultLimit: 1 } });
    await world.acquire('a', '1');
    world.executions.end('1');
    world.admission.controller.detach(slot('1'));
    const waiting = world.acquire('a', '2', 60_000);
    await world.clock.advance(21_100);
    await waiting;
    expect(await holders(world)).toEqual(['2']);
    expect(world.emitted.find(({ name }) => name === 'admission:slots-released')?.payload).toEqual({
      count: 1,
    });
    await world.admission.close();
  });

  it('of an execution that is just ending is left to the process that ends it', async () => {
    const world = await admissionWorld();
    for (const id of ['held', 'released']) await world.acquire('a', id);
    for (const id of ['held', 'released']) world.executions.end(id);
    world.admission.controller.detach(slot('released'));
    const round = world.admission.reconcile();
    await world.clock.advance(500);
    await world.admission.controller.release(slot('released'));
    await world.clock.advance(1_000);
    await round;
    expect(await holders(world)).toEqual(['held']);
    expect(world.count('admission:slots-released')).toBe(0);
    await world.admission.close();
  });

  it('of an unknown execution is kept until its lease expires', async () => {
    const world = await admissionWorld();
    await world.slots.renew([slot('of another process')]);
    await world.clock.advance(45_000);
    expect(await holders(world)).toEqual(['of another process']);
    await world.clock.advance(20_000);
    expect(await holders(world)).toEqual([]);
    await world.admission.close();
  });

  it('of an execution that ends while it is being restored is released', async () => {
    const world = await admissionWorld();
    world.executions.begin(slot('1'), new Date(world.clock.now()));
    const unfinished = world.executions.unfinished.bind(world.executions);
    world.executions.unfinished = async () => {
      const found = await unfinished();
      world.executions.end('1');
      return found;
    };
    await world.admission.reconcile();
    expect(await holders(world)).toEqual([]);
    expect(world.count('admission:slots-restored')).toBe(0);
    await world.admission.close();
  });

  it('is held for six hours at most; then the execution is ended', async () => {
    const world = await admissionWorld({ options: { leaseSeconds: 600 } });
    for (const id of ['held', 'queued']) await world.acquire('a', id);
    world.executions.begin(slot('queued'), new Date(world.clock.now()));
    world.admission.controller.detach(slot('queued'));
    await world.clock.advance(6 * 3_600_000 - 1);
    expect(world.overdue).toEqual([]);
    await world.clock.advance(400_000);
    expect(world.overdue.map(({ executionId }) => executionId).sort()).toEqual(['held', 'queued']);
    expect(await holders(world)).toEqual([]);
    await world.admission.close();
  });

  it('is renewed while the state store is down, and reconciled when it is up', async () => {
    const world = await admissionWorld();
    await world.acquire('a', '1');
    world.executions.isDown = true;
    await world.clock.advance(300_000);
    expect(await holders(world)).toEqual(['1']);
    expect(world.count('admission:reconcile-failed')).toBeGreaterThan(5);
    expect(world.admission.health().state === 'up').toBe(true);
    await world.admission.close();
  });

  it('can be released manually', async () => {
    const world = await admissionWorld();
    await world.slots.renew([slot('stuck')]);
    expect(await world.admission.releaseSlotOf('stuck')).toBe(true);
    expect(await world.admission.releaseSlotOf('stuck')).toBe(false);
    expect(await holders(world)).toEqual([]);
    await world.admission.close();
  });
});

describe('servers', () => {
  it('send heartbeats', async () => {
    const one = await admissionWorld();
    const two = await admissionWorld({ beside: one });
    expect(await one.slots.heartbeat('server-1')).toBe(2);
    await two.admission.close();
    await one.clock.advance(61_000);
    expect(await one.slots.heartbeat('server-1')).toBe(1);
    await one.admission.close();
  });
});
