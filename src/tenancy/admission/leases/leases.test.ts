// Slots follow executions: kept alive while they run, freed when they were forgotten, restored when they were lost.
import { describe, expect, it } from 'vitest';
import type { AdmissionWorld } from '../../../../test/support/tenancy/admission-world.ts';
import { admissionWorld } from '../../../../test/support/tenancy/admission-world.ts';

const slot = (executionId: string) => ({ organizationId: 'a', executionId });

const holders = async ({ slots }: AdmissionWorld): Promise<readonly string[]> =>
  (await slots.holders()).map(({ executionId }) => executionId).sort();

describe('a slot', () => {
  it('is kept alive by the process that admitted it, until that lets go of it', async () => {
    const world = await admissionWorld();
    await world.admit('a', '1');
    await world.admit('a', '2');
    world.admission.gate.letGo(slot('2'));
    await world.clock.advance(59_000);
    expect(await holders(world)).toEqual(['1', '2']);
    await world.clock.advance(2_000);
    expect(await holders(world)).toEqual(['1']);
    await world.clock.advance(600_000);
    expect(await holders(world)).toEqual(['1']);
    await world.admission.close();
  });

  it('is kept alive by the process that runs the execution', async () => {
    const world = await admissionWorld();
    world.admission.gate.hold(slot('1'));
    await world.clock.advance(600_000);
    expect(await holders(world)).toEqual(['1']);
    await world.admission.gate.release(slot('1'));
    expect(await holders(world)).toEqual([]);
    await world.admission.close();
  });

  it('is kept alive for an execution that is queued and that nobody holds', async () => {
    const world = await admissionWorld();
    await world.admit('a', '1');
    world.executions.begin(slot('1'), new Date(world.clock.now()));
    world.admission.gate.letGo(slot('1'));
    await world.clock.advance(600_000);
    expect(await holders(world)).toEqual(['1']);
    expect(world.count('admission:slots-restored')).toBe(0);
    await world.admission.close();
  });

  it('comes back when it was lost, and that is counted', async () => {
    const world = await admissionWorld();
    for (const id of ['held', 'queued']) await world.admit('a', id);
    world.executions.begin(slot('queued'), new Date(world.clock.now()));
    world.admission.gate.letGo(slot('queued'));
    for (const id of ['held', 'queued']) await world.slots.release(slot(id));
    await world.clock.advance(20_001);
    expect(await holders(world)).toEqual(['held', 'queued']);
    expect(world.payloads('admission:slots-restored')).toEqual([
      { count: 1, why: 'missing' },
      { count: 1, why: 'missing' },
    ]);
    await world.admission.close();
  });

  it('of an ended execution is freed, that is counted, and whoever waits gets it', async () => {
    const world = await admissionWorld({ options: { defaultLimit: 1 } });
    await world.admit('a', '1');
    world.executions.end('1');
    world.admission.gate.letGo(slot('1'));
    const waiting = world.admit('a', '2', 60_000);
    await world.clock.advance(21_100);
    await waiting;
    expect(await holders(world)).toEqual(['2']);
    expect(world.emitted.find(({ name }) => name === 'admission:slots-freed')?.payload).toEqual({ count: 1 });
    await world.admission.close();
  });

  it('of an execution that ends just now is left to whoever ends it', async () => {
    const world = await admissionWorld();
    for (const id of ['held', 'released']) await world.admit('a', id);
    for (const id of ['held', 'released']) world.executions.end(id);
    world.admission.gate.letGo(slot('released'));
    const round = world.admission.reconcile();
    await world.clock.advance(500);
    await world.admission.gate.release(slot('released'));
    await world.clock.advance(1_000);
    await round;
    expect(await holders(world)).toEqual(['held']);
    expect(world.count('admission:slots-freed')).toBe(0);
    await world.admission.close();
  });

  it('of an execution that nobody knows is left to its lease', async () => {
    const world = await admissionWorld();
    await world.slots.renew([slot('of another process')]);
    await world.clock.advance(45_000);
    expect(await holders(world)).toEqual(['of another process']);
    await world.clock.advance(20_000);
    expect(await holders(world)).toEqual([]);
    await world.admission.close();
  });

  it('of an execution that ends while it is being restored is not left behind', async () => {
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

  it('is held for six hours at most: the execution is ended then', async () => {
    const world = await admissionWorld({ options: { leaseSeconds: 600 } });
    for (const id of ['held', 'queued']) await world.admit('a', id);
    world.executions.begin(slot('queued'), new Date(world.clock.now()));
    world.admission.gate.letGo(slot('queued'));
    await world.clock.advance(6 * 3_600_000 - 1);
    expect(world.overdue).toEqual([]);
    await world.clock.advance(400_000);
    expect(world.overdue.map(({ executionId }) => executionId).sort()).toEqual(['held', 'queued']);
    expect(await holders(world)).toEqual([]);
    await world.admission.close();
  });

  it('is renewed although the state store is away, and compared with executions when it is back', async () => {
    const world = await admissionWorld();
    await world.admit('a', '1');
    world.executions.isAway = true;
    await world.clock.advance(300_000);
    expect(await holders(world)).toEqual(['1']);
    expect(world.count('admission:reconcile-failed')).toBeGreaterThan(5);
    expect(world.admission.isStoreUp()).toBe(true);
    await world.admission.close();
  });

  it('can be freed by hand', async () => {
    const world = await admissionWorld();
    await world.slots.renew([slot('stuck')]);
    expect(await world.admission.freeSlotOf('stuck')).toBe(true);
    expect(await world.admission.freeSlotOf('stuck')).toBe(false);
    expect(await holders(world)).toEqual([]);
    await world.admission.close();
  });
});

describe('servers', () => {
  it('say that they are alive', async () => {
    const one = await admissionWorld();
    const two = await admissionWorld({ beside: one });
    expect(await one.slots.heartbeat('server-1')).toBe(2);
    await two.admission.close();
    await one.clock.advance(61_000);
    expect(await one.slots.heartbeat('server-1')).toBe(1);
    await one.admission.close();
  });
});
