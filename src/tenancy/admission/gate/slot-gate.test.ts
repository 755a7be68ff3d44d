import { describe, expect, it } from 'vitest';
import { AdmissionError } from '../errors.ts';
import type { AdmissionWorld } from '../../../../test/support/tenancy/admission-world.ts';
import {
  admissionWorld,
  FakeExecutions,
  standardOptions,
} from '../../../../test/support/tenancy/admission-world.ts';
import type { AdmitRequest } from '../ports.ts';
import { MemorySlotStore } from '../slots/memory-slot-store.ts';

const slot = (organizationId: string, executionId: string) => ({ organizationId, executionId });
const { signal } = new AbortController();

async function refusalOf(admission: Promise<unknown>): Promise<AdmissionError> {
  const error: unknown = await admission.then(
    () => new Error('was admitted'),
    (thrown: unknown) => thrown,
  );
  if (error instanceof AdmissionError) return error;
  throw error;
}

/** Lets in what is accepted right after. */
const execute = async (world: AdmissionWorld, executionId: string, of: Partial<AdmitRequest> = {}) => {
  const request = { organizationId: 'a', executionId, waitMs: 0, signal, ...of };
  await world.admission.gate.admit(request);
  world.admission.gate.letGo(request);
};
/** An execution that takes so long. */
const measure = async (world: AdmissionWorld, ms: number, of: Partial<AdmitRequest> = {}) => {
  await execute(world, 'measured', of);
  await world.clock.advance(ms);
  await world.admission.gate.release(slot(of.organizationId ?? 'a', 'measured'));
};
/** When it is told to come back, in milliseconds. */
const toldBy = async (world: AdmissionWorld) => (await refusalOf(world.admit('a', 'refused'))).retryAfterMs;

describe('SlotGate', () => {
  it('admits up to the limit of the organization and refuses in the words of the document', async () => {
    const world = await admissionWorld({ options: { defaultLimit: 2 } });
    expect(await world.admit('a', '1')).toMatchObject({
      decidedBy: 'store',
      usage: { organization: 1, organizationLimit: 2, global: 1, globalLimit: 100 },
    });
    await world.admit('a', '2');
    const error = await refusalOf(world.admit('a', '3'));
    expect(error).toMatchObject({
      code: 'ADMISSION_ORG_LIMIT',
      message:
        'Organization has reached the maximum concurrent API requests limit (2/2). Please try again later.',
      isRetryable: true,
      usage: { organization: 2, organizationLimit: 2, global: 2, globalLimit: 100 },
    });
    await world.admit('b', '4');
  });

  it('refuses everybody at the global limit, in the words of the document', async () => {
    const world = await admissionWorld({ options: { globalLimit: 2 } });
    await world.admit('a', '1');
    await world.admit('b', '2');
    expect(await refusalOf(world.admit('c', '3'))).toMatchObject({
      code: 'ADMISSION_GLOBAL_LIMIT',
      message: 'Our system is currently experiencing high load. Please try again in a few moments.',
    });
    await world.admission.gate.release(slot('a', '1'));
    await world.admit('c', '3');
  });

  it('reads the limit of the organization once and remembers it', async () => {
    const world = await admissionWorld({ options: { defaultLimit: 1 } });
    await world.limits.set('a', 3, new Date(0));
    for (const id of ['1', '2', '3']) await world.admit('a', id);
    await refusalOf(world.admit('a', '4'));
    const hits = world.emitted.map(({ payload }) => payload['cacheHits']).filter((hit) => hit !== undefined);
    expect(hits).toEqual([0, 1, 1, 1]);
  });

  it('restores what is under way before it admits anybody to an empty store', async () => {
    const executions = new FakeExecutions();
    executions.begin(slot('a', '1'), new Date());
    executions.begin(slot('a', '2'), new Date());
    const world = await admissionWorld({ options: { defaultLimit: 2 }, executions });
    await refusalOf(world.admit('a', '3'));
    await world.admit('b', '4');
    // Flushed: a store that knows nothing at all.
    world.faulty.replace(new MemorySlotStore({ ...standardOptions, clock: world.clock }));
    await refusalOf(world.admit('a', '5'));
    expect(world.payloads('admission:slots-restored')).toEqual([
      { count: 2, why: 'store-was-empty' },
      { count: 3, why: 'store-was-empty' },
    ]);
    const held = await world.faulty.store.holders();
    expect(held.map(({ executionId }) => executionId).sort()).toEqual(['1', '2', '4']);
  });

  it('tells when to come back from how long executions take', async () => {
    const world = await admissionWorld({ options: { defaultLimit: 2 } });
    for (let count = 0; count < 4; count++) await measure(world, 20_000);
    await execute(world, '5');
    await execute(world, '6');
    expect(await toldBy(world)).toBe(20_000);
    await world.clock.advance(15_000);
    expect(await toldBy(world)).toBe(5_000);
    await world.admission.close();
  });

  it('tells when to come back from what the slots are held for', async () => {
    const world = await admissionWorld({ options: { defaultLimit: 2 } });
    await measure(world, 2_000, { work: 'quick' });
    await measure(world, 50_000, { work: 'slow' });
    await measure(world, 2_000, { work: 'quick' });
    await execute(world, '1', { work: 'slow' });
    await world.clock.advance(10_000);
    await execute(world, '2', { work: 'slow' });
    expect(await toldBy(world)).toBe(40_000);
    await world.admission.gate.release(slot('a', '2'));
    await world.clock.advance(1_000);
    await execute(world, '3', { work: 'quick' });
    expect(await toldBy(world)).toBe(2_000);
    await world.admission.close();
  });

  it('measures no request that never became an execution', async () => {
    const world = await admissionWorld({ options: { defaultLimit: 1 } });
    await measure(world, 30_000);
    for (let count = 0; count < 20; count++) {
      await world.admit('a', 'wrong');
      await world.clock.advance(5);
      await world.admission.gate.release(slot('a', 'wrong'));
    }
    await execute(world, '1');
    expect(await toldBy(world)).toBe(30_000);
    await world.admission.close();
  });

  it('measures nothing for a deployment by those of other organizations', async () => {
    const world = await admissionWorld({ options: { defaultLimit: 1 } });
    await measure(world, 60_000, { organizationId: 'b', work: 'slow' });
    await execute(world, '1', { work: 'new' });
    expect(await toldBy(world)).toBe(5_000);
    await world.clock.advance(12_000);
    await world.admission.gate.release(slot('a', '1'));
    await execute(world, '2', { work: 'newer' });
    expect(await toldBy(world)).toBe(12_000);
    await world.admission.close();
  });

  it('tells to come back soon while requests are still being read', async () => {
    const world = await admissionWorld({ options: { defaultLimit: 2 } });
    await measure(world, 30_000);
    await execute(world, '1');
    await world.admit('a', '2');
    expect(await toldBy(world)).toBe(1_000);
    await world.clock.advance(8_000);
    expect(await toldBy(world)).toBe(8_000);
    world.admission.gate.letGo(slot('a', '2'));
    await world.clock.advance(2_000);
    expect(await toldBy(world)).toBe(20_000);
    await world.admission.close();
  });

  it('counts those who wait already when it tells when to come back', async () => {
    const world = await admissionWorld({ options: { defaultLimit: 2 } });
    for (let count = 0; count < 2; count++) await measure(world, 10_000);
    await execute(world, '3');
    await world.clock.advance(4_000);
    await execute(world, '4');
    const line = ['5', '6'].map((id) => world.admit('a', id, 60_000).catch(() => undefined));
    await world.clock.advance(300);
    // Slots are free in 6 and 10 s, which are for those who wait, and then again 10 s later.
    expect(await toldBy(world)).toBe(15_700);
    await world.admission.close();
    await Promise.all(line);
  });

  it.each([
    ['never under a second', 1, 1_000],
    ['never over a minute', 3_600_000, 60_000],
  ])('tells to come back %s', async (_, heldMs, expected) => {
    const world = await admissionWorld({ options: { defaultLimit: 1 } });
    await measure(world, heldMs);
    await execute(world, '2');
    expect(await toldBy(world)).toBe(expected);
    await world.admission.close();
  });

  it('holds nothing for a caller that has left, and for a state store that is away', async () => {
    const world = await admissionWorld();
    const left = new AbortController();
    left.abort();
    await expect(world.admit('a', '1', 0, left.signal)).rejects.toMatchObject({ code: 'CANCELED' });
    const leaving = new AbortController();
    const admission = world.admit('a', '2', 0, leaving.signal);
    leaving.abort();
    await expect(admission).rejects.toMatchObject({ code: 'CANCELED' });
    world.limits.get = () => new Promise(() => undefined);
    const slow = expect(world.admit('b', '3')).rejects.toMatchObject({
      code: 'STATE_UNAVAILABLE',
      retryAfterMs: 2_000,
    });
    await world.clock.advance(3_000);
    await slow;
    expect(await world.slots.holders()).toEqual([]);
    expect(world.count('admission:unavailable')).toBe(1);
    await world.admission.close();
  });

  it('turns away whoever comes when it is closed', async () => {
    const world = await admissionWorld({ options: { defaultLimit: 1 } });
    await world.admit('a', '1');
    const waiting = world.admit('a', '2', 10_000);
    await world.admission.close();
    await expect(waiting).rejects.toMatchObject({ code: 'SHUTTING_DOWN' });
    await expect(world.admit('a', '3')).rejects.toMatchObject({ code: 'SHUTTING_DOWN' });
    expect(world.clock.pending).toBe(0);
  });
});
