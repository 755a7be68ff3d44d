// Waiting for a slot through the admission controller.
import { describe, expect, it } from 'vitest';
import type { AdmissionWorld } from '../../../test/support/tenancy/admission-world.ts';
import { admissionWorld } from '../../../test/support/tenancy/admission-world.ts';
import { maxQueueLength } from './fair-queue.ts';

const slot = (executionId: string) => ({ organizationId: executionId.slice(0, 1), executionId });

/** Queues these requests in order, and logs when each is admitted or rejected. The first letter is the organization. */
async function waitAll(world: AdmissionWorld, ids: readonly string[], waitMs = 60_000): Promise<string[]> {
  const log: string[] = [];
  for (const id of ids) {
    void world.acquire(id.slice(0, 1), id, waitMs).then(
      () => log.push(id),
      () => log.push(`${id} rejected`),
    );
    await world.clock.advance(1);
  }
  return log;
}

async function full(limits: { defaultLimit?: number; globalLimit?: number }, ids: readonly string[]) {
  const world = await admissionWorld({ options: limits });
  for (const id of ids) await world.acquire(id.slice(0, 1), id);
  return world;
}

async function free(world: AdmissionWorld, id: string): Promise<void> {
  await world.admission.controller.release(slot(id));
  await world.clock.advance(1);
}

describe('waiting for a slot', () => {
  it('serves requests of an organization in the order they came', async () => {
    const world = await full({ defaultLimit: 1 }, ['a0']);
    const log = await waitAll(world, ['a1', 'a2', 'a3']);
    expect(log).toEqual([]);
    for (const id of ['a0', 'a1', 'a2']) await free(world, id);
    expect(log).toEqual(['a1', 'a2', 'a3']);
    await world.admission.close();
  });

  it('takes turns between organizations at the global limit', async () => {
    const world = await full({ globalLimit: 2 }, ['x0', 'x1']);
    const log = await waitAll(world, ['a1', 'a2', 'a3', 'b1', 'c1', 'b2']);
    for (const id of ['x0', 'x1', 'a1', 'b1', 'c1', 'a2']) await free(world, id);
    expect(log).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
    await world.admission.close();
  });

  it('does not let an organization at its own limit block others', async () => {
    const world = await full({ defaultLimit: 1, globalLimit: 2 }, ['a0', 'x0']);
    const log = await waitAll(world, ['a1', 'b1']);
    await free(world, 'x0');
    expect(log).toEqual(['b1']);
    await free(world, 'a0');
    expect(log).toEqual(['b1', 'a1']);
    await world.admission.close();
  });

  it('rejects a request after the requested wait', async () => {
    const world = await full({ defaultLimit: 1 }, ['a0']);
    const log = await waitAll(world, ['a1'], 5_000);
    await world.clock.advance(4_998);
    expect(log).toEqual([]);
    await world.clock.advance(2);
    expect(log).toEqual(['a1 rejected']);
    await free(world, 'a0');
    expect(await world.slots.holders()).toEqual([]);
    expect(world.admission.controller.queued).toBe(0);
    await world.admission.close();
  });

  it('removes a request whose caller leaves; the next one moves up', async () => {
    const world = await full({ defaultLimit: 1 }, ['a0']);
    const leaving = new AbortController();
    const left = expect(world.acquire('a', 'a1', 60_000, leaving.signal)).rejects.toMatchObject({
      code: 'CANCELED',
    });
    const log = await waitAll(world, ['a2']);
    leaving.abort();
    await left;
    await free(world, 'a0');
    expect(log).toEqual(['a2']);
    await world.admission.close();
  });

  it('releases a slot granted to a caller that has just left', async () => {
    const world = await full({ defaultLimit: 1 }, ['a0']);
    const leaving = new AbortController();
    const left = expect(world.acquire('a', 'a1', 60_000, leaving.signal)).rejects.toMatchObject({
      code: 'CANCELED',
    });
    const log = await waitAll(world, ['a2']);
    // The store replies only after the caller has disconnected.
    const freed = world.slots.release(slot('a0'));
    world.faulty.state = 'hanging';
    world.admission.controller.executionEnded('a0');
    await freed;
    leaving.abort();
    world.faulty.goUp();
    await left;
    await world.clock.advance(5);
    expect(log).toEqual(['a2']);
    expect((await world.slots.holders()).map(({ executionId }) => executionId)).toEqual(['a2']);
    await world.admission.close();
  });

  it('finds slots released in another process without a notification', async () => {
    const world = await full({ defaultLimit: 1 }, ['a0']);
    const log = await waitAll(world, ['a1']);
    await world.slots.release(slot('a0'));
    world.admission.controller.detach(slot('a0'));
    await world.clock.advance(251);
    expect(log).toEqual(['a1']);
    await world.admission.close();
  });

  it('does not miss a slot released while the request was being rejected', async () => {
    const world = await full({ defaultLimit: 1 }, ['a0']);
    const waiting = world.acquire('a', 'a1', 60_000);
    await world.admission.controller.release(slot('a0'));
    await waiting;
    expect(world.clock.monotonic()).toBe(0);
    await world.admission.close();
  });

  it('does not miss a slot released while the head of the queue was being rejected', async () => {
    const world = await full({ defaultLimit: 1 }, ['a0']);
    const log = await waitAll(world, ['a1']);
    world.faulty.state = 'hanging';
    world.admission.controller.executionEnded('something else');
    const released = world.admission.controller.release(slot('a0'));
    world.faulty.goUp();
    await released;
    await world.clock.advance(5);
    expect(log).toEqual(['a1']);
    await world.admission.close();
  });

  it('is not overtaken by requests that do not wait', async () => {
    const world = await full({ defaultLimit: 1, globalLimit: 2 }, ['a0', 'x0']);
    const log = await waitAll(world, ['a1', 'b1']);
    await expect(world.acquire('a', 'a9')).rejects.toMatchObject({ code: 'ADMISSION_ORG_LIMIT' });
    const other = world.acquire('c', 'c9');
    await expect(other).rejects.toMatchObject({
      code: 'ADMISSION_GLOBAL_LIMIT',
      usage: { organization: 0, organizationLimit: 1, global: 2, globalLimit: 2 },
    });
    await free(world, 'a0');
    expect(log).toHaveLength(1);
    await world.admission.close();
  });

  it('wakes one request per released slot, not all', async () => {
    const organizations = 'abcdefghij'.split('');
    const world = await full({ globalLimit: 1 }, ['x0']);
    await waitAll(world, [...organizations.map((id) => `${id}1`), ...organizations.map((id) => `${id}2`)]);
    world.faulty.calls = 0;
    await free(world, 'x0');
    // The release, the admitted request, and one (whose limit is not cached yet) that is rejected.
    expect(world.faulty.calls).toBe(4);
    await world.admission.close();
  });

  it('rejects a request when the queue is full', async () => {
    const world = await full({ defaultLimit: 1 }, ['a0']);
    for (let index = 0; index < maxQueueLength; index++)
      void world.acquire('a', `a-${index}`, 60_000).catch(() => undefined);
    await world.clock.advance(1);
    await expect(world.acquire('a', 'a-more', 60_000)).rejects.toMatchObject({ code: 'ADMISSION_ORG_LIMIT' });
    await world.admission.close();
  });

  it('rejects queued requests when no store can decide', async () => {
    const world = await full({ defaultLimit: 1 }, ['a0']);
    const log = await waitAll(world, ['a1']);
    await world.slots.invalidateLimits('all');
    world.limits.get = () => Promise.reject(new Error('gone'));
    await free(world, 'a0');
    expect(log).toEqual(['a1 rejected']);
    await world.admission.close();
  });
});
