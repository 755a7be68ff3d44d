import { describe, expect, it } from 'vitest';
import { AdmissionError } from '../errors.ts';
import type { AdmissionWorld } from '../../../test/support/tenancy/admission-world.ts';
import {
  admissionWorld,
  FakeExecutions,
  standardOptions,
} from '../../../test/support/tenancy/admission-world.ts';
import type { AcquireOptions } from './types.ts';
import { MemorySlotStore } from './memory-slot-store.ts';

const slot = (organizationId: string, executionId: string) => ({ organizationId, executionId });
const { signal } = new AbortController();

async function rejectionOf(admission: Promise<unknown>): Promise<AdmissionError> {
  const error: unknown = await admission.then(
    () => new Error('was admitted'),
    (thrown: unknown) => thrown,
  );
  if (error instanceof AdmissionError) return error;
  throw error;
}

/** A request that is accepted at once. */
const execute = async (world: AdmissionWorld, executionId: string, of: Partial<AcquireOptions> = {}) => {
  const request = { organizationId: 'a', executionId, waitMs: 0, signal, ...of };
  await world.admission.controller.acquire(request);
  world.admission.controller.detach(request);
};
/** An execution of this duration. */
const measure = async (world: AdmissionWorld, ms: number, of: Partial<AcquireOptions> = {}) => {
  await execute(world, 'measured', of);
  await world.clock.advance(ms);
  await world.admission.controller.release(slot(of.organizationId ?? 'a', 'measured'));
};
/** In milliseconds. */
const retryAfterOf = async (world: AdmissionWorld) =>
  (await rejectionOf(world.acquire('a', 'rejected'))).retryAfterMs;

describe('AdmissionController', () => {
  it("admits up to the organization's limit and rejects with the founding document's text", async () => {
    const world = await admissionWorld({ options: { defaultLimit: 2 } });
    await world.acquire('a', '1');
    expect(world.payloads('admission:request-admitted')).toMatchObject([{ decider: 'store' }]);
    await world.acquire('a', '2');
    const error = await rejectionOf(world.acquire('a', '3'));
    expect(error).toMatchObject({
      code: 'ADMISSION_ORG_LIMIT',
      message:
        'Organization has reached the maximum concurrent API requests limit (2/2). Please try again later.',
      isRetryable: true,
      usage: { organization: 2, organizationLimit: 2, global: 2, globalLimit: 100 },
    });
    await world.acquire('b', '4');
  });

  it("rejects all organizations at the global limit with the founding document's text", async () => {
    const world = await admissionWorld({ options: { globalLimit: 2 } });
    await world.acquire('a', '1');
    await world.acquire('b', '2');
    expect(await rejectionOf(world.acquire('c', '3'))).toMatchObject({
      code: 'ADMISSION_GLOBAL_LIMIT',
      message: 'Our system is currently experiencing high load. Please try again in a few moments.',
    });
    await world.admission.controller.release(slot('a', '1'));
    await world.acquire('c', '3');
  });

  it("reads the organization's limit once and caches it", async () => {
    const world = await admissionWorld({ options: { defaultLimit: 1 } });
    await world.limits.set('a', 3, new Date(0));
    for (const id of ['1', '2', '3']) await world.acquire('a', id);
    await rejectionOf(world.acquire('a', '4'));
    const hits = world.emitted.map(({ payload }) => payload['cacheHits']).filter((hit) => hit !== undefined);
    expect(hits).toEqual([0, 1, 1, 1]);
  });

  it('restores unfinished executions before it admits requests to an empty store', async () => {
    const executions = new FakeExecutions();
    executions.begin(slot('a', '1'), new Date());
    executions.begin(slot('a', '2'), new Date());
    const world = await admissionWorld({ options: { defaultLimit: 2 }, executions });
    await rejectionOf(world.acquire('a', '3'));
    await world.acquire('b', '4');
    // Flushed: an empty store.
    world.faulty.replace(new MemorySlotStore({ ...standardOptions, clock: world.clock }));
    await rejectionOf(world.acquire('a', '5'));
    expect(world.payloads('admission:slots-restored')).toEqual([
      { count: 2, reason: 'store-was-empty' },
      { count: 3, reason: 'store-was-empty' },
    ]);
    const held = await world.faulty.store.holders();
    expect(held.map(({ executionId }) => executionId).sort()).toEqual(['1', '2', '4']);
  });

  it('estimates Retry-After from the duration of executions', async () => {
    const world = await admissionWorld({ options: { defaultLimit: 2 } });
    for (let count = 0; count < 4; count++) await measure(world, 20_000);
    await execute(world, '5');
    await execute(world, '6');
    expect(await retryAfterOf(world)).toBe(20_000);
    await world.clock.advance(15_000);
    expect(await retryAfterOf(world)).toBe(5_000);
    await world.admission.close();
  });

  it('estimates Retry-After from the workloads that hold slots', async () => {
    const world = await admissionWorld({ options: { defaultLimit: 2 } });
    await measure(world, 2_000, { workload: 'quick' });
    await measure(world, 50_000, { workload: 'slow' });
    await measure(world, 2_000, { workload: 'quick' });
    await execute(world, '1', { workload: 'slow' });
    await world.clock.advance(10_000);
    await execute(world, '2', { workload: 'slow' });
    expect(await retryAfterOf(world)).toBe(40_000);
    await world.admission.controller.release(slot('a', '2'));
    await world.clock.advance(1_000);
    await execute(world, '3', { workload: 'quick' });
    expect(await retryAfterOf(world)).toBe(2_000);
    await world.admission.close();
  });

  it('does not measure requests that never became executions', async () => {
    const world = await admissionWorld({ options: { defaultLimit: 1 } });
    await measure(world, 30_000);
    for (let count = 0; count < 20; count++) {
      await world.acquire('a', 'wrong');
      await world.clock.advance(5);
      await world.admission.controller.release(slot('a', 'wrong'));
    }
    await execute(world, '1');
    expect(await retryAfterOf(world)).toBe(30_000);
    await world.admission.close();
  });

  it('does not use durations of other organizations', async () => {
    const world = await admissionWorld({ options: { defaultLimit: 1 } });
    await measure(world, 60_000, { organizationId: 'b', workload: 'slow' });
    await execute(world, '1', { workload: 'new' });
    expect(await retryAfterOf(world)).toBe(5_000);
    await world.clock.advance(12_000);
    await world.admission.controller.release(slot('a', '1'));
    await execute(world, '2', { workload: 'newer' });
    expect(await retryAfterOf(world)).toBe(12_000);
    await world.admission.close();
  });

  it('estimates a short Retry-After while bodies are being received', async () => {
    const world = await admissionWorld({ options: { defaultLimit: 2 } });
    await measure(world, 30_000);
    await execute(world, '1');
    await world.acquire('a', '2');
    expect(await retryAfterOf(world)).toBe(1_000);
    await world.clock.advance(8_000);
    expect(await retryAfterOf(world)).toBe(8_000);
    world.admission.controller.detach(slot('a', '2'));
    await world.clock.advance(2_000);
    expect(await retryAfterOf(world)).toBe(20_000);
    await world.admission.close();
  });

  it('includes queued requests in Retry-After', async () => {
    const world = await admissionWorld({ options: { defaultLimit: 2 } });
    for (let count = 0; count < 2; count++) await measure(world, 10_000);
    await execute(world, '3');
    await world.clock.advance(4_000);
    await execute(world, '4');
    const queued = ['5', '6'].map((id) => world.acquire('a', id, 60_000).catch(() => undefined));
    await world.clock.advance(300);
    // Slots are released in 6 and 10 s, for the two queued requests, and then again 10 s later.
    expect(await retryAfterOf(world)).toBe(15_700);
    await world.admission.close();
    await Promise.all(queued);
  });

  it.each([
    ['never under a second', 1, 1_000],
    ['never over a minute', 3_600_000, 60_000],
  ])('estimates Retry-After %s', async (_, heldMs, expected) => {
    const world = await admissionWorld({ options: { defaultLimit: 1 } });
    await measure(world, heldMs);
    await execute(world, '2');
    expect(await retryAfterOf(world)).toBe(expected);
    await world.admission.close();
  });

  it('holds nothing for a caller that has left, or when the state store is down', async () => {
    const world = await admissionWorld();
    const left = new AbortController();
    left.abort();
    await expect(world.acquire('a', '1', 0, left.signal)).rejects.toMatchObject({ code: 'CANCELED' });
    const leaving = new AbortController();
    const admission = world.acquire('a', '2', 0, leaving.signal);
    leaving.abort();
    await expect(admission).rejects.toMatchObject({ code: 'CANCELED' });
    world.limits.get = () => new Promise(() => undefined);
    const slow = expect(world.acquire('b', '3')).rejects.toMatchObject({
      code: 'STATE_UNAVAILABLE',
      retryAfterMs: 2_000,
    });
    await world.clock.advance(3_000);
    await slow;
    expect(await world.slots.holders()).toEqual([]);
    expect(world.count('admission:decision-failed')).toBe(1);
    await world.admission.close();
  });

  it('rejects requests when it is closed', async () => {
    const world = await admissionWorld({ options: { defaultLimit: 1 } });
    await world.acquire('a', '1');
    const waiting = world.acquire('a', '2', 10_000);
    await world.admission.close();
    await expect(waiting).rejects.toMatchObject({ code: 'SHUTTING_DOWN' });
    await expect(world.acquire('a', '3')).rejects.toMatchObject({ code: 'SHUTTING_DOWN' });
    expect(world.clock.pending).toBe(0);
  });
});
