// Several servers during an outage of Redis: what they admit together.
import { describe, expect, it } from 'vitest';
import type { AdmissionWorld } from '../../../test/support/tenancy/admission-world.ts';
import { admissionWorld, standardOptions } from '../../../test/support/tenancy/admission-world.ts';
import { MemorySlotStore } from './memory-slot-store.ts';

const options = { defaultLimit: 20 };

/** Two servers on one store, one state store and one clock, after their heartbeats. */
async function twoServers(): Promise<readonly [AdmissionWorld, AdmissionWorld]> {
  const one = await admissionWorld({ options });
  const two = await admissionWorld({ options, beside: one });
  await one.clock.advance(2_500);
  return [one, two];
}

interface Burst {
  readonly tag: string;
  readonly count?: number;
  /** Whether admitted requests are accepted at once, or their bodies are still being received. */
  readonly isAccepted?: boolean;
}

/** Number of admitted requests. */
async function burst(world: AdmissionWorld, { tag, count = 40, isAccepted = true }: Burst): Promise<number> {
  const request = async (executionId: string) => {
    const slot = { organizationId: 'a', executionId };
    await world.acquire('a', executionId);
    if (!isAccepted) return;
    world.executions.begin(slot, new Date(world.clock.now()));
    world.admission.controller.detach(slot);
  };
  const requests = Array.from({ length: count }, (_, index) => request(`${tag}-${index}`));
  const settled = await world.clock.run(Promise.allSettled(requests));
  return settled.filter(({ status }) => status === 'fulfilled').length;
}

/** Ends with a confirmed outage. */
async function breakRedis(
  state: 'down' | 'hanging',
  ...worlds: readonly [AdmissionWorld, ...AdmissionWorld[]]
): Promise<void> {
  for (const { faulty, admission } of worlds) {
    faulty.state = state;
    admission.connectionChanged(false);
  }
  await worlds[0].clock.advance(state === 'down' ? 0 : 1_100);
  expect(worlds.map(({ admission }) => admission.health().state)).toEqual(worlds.map(() => 'down'));
}

const close = async (...worlds: readonly AdmissionWorld[]): Promise<void> => {
  for (const { admission } of worlds) await admission.close();
};

describe('two servers without Redis', () => {
  it('divide what is free, and keep to their shares however long it lasts', async () => {
    const [one, two] = await twoServers();
    await breakRedis('down', one, two);
    expect(await burst(one, { tag: 'first' })).toBe(10);
    for (let round = 0; round < 5; round++) {
      await one.clock.advance(1_100);
      expect(await burst(one, { tag: `again-${round}` })).toBe(0);
    }
    expect(await burst(two, { tag: 'second' })).toBe(10);
    await close(one, two);
  });

  it('reuse released slots within each share', async () => {
    const [one, two] = await twoServers();
    await breakRedis('down', one, two);
    expect(await burst(one, { tag: 'one' })).toBe(10);
    expect(await burst(two, { tag: 'two' })).toBe(10);
    for (const id of ['one-0', 'one-1', 'two-0']) one.executions.end(id);
    await one.clock.advance(1_500);
    expect(await burst(one, { tag: 'more' })).toBe(2);
    expect(await burst(two, { tag: 'more-two' })).toBe(1);
    await close(one, two);
  });

  it('divide slots from before the outage that are released during it', async () => {
    const [one, two] = await twoServers();
    expect(await burst(one, { tag: 'before' })).toBe(20);
    await breakRedis('down', one, two);
    expect(await burst(two, { tag: 'full' })).toBe(0);
    for (let index = 0; index < 4; index++) {
      one.executions.end(`before-${index}`);
      for (const { admission } of [one, two]) admission.controller.executionEnded(`before-${index}`);
    }
    expect(await burst(one, { tag: 'one' })).toBe(2);
    expect(await burst(two, { tag: 'two' })).toBe(2);
    await close(one, two);
  });

  it('count what Redis admitted for the other one since their last snapshot', async () => {
    const [one, two] = await twoServers();
    expect(await burst(one, { tag: 'by-redis' })).toBe(20);
    await breakRedis('hanging', one, two);
    expect(await burst(two, { tag: 'local' })).toBe(0);
    await close(one, two);
  });

  it('count requests whose body the other one is still receiving, from the snapshot of the last heartbeat', async () => {
    const [one, two] = await twoServers();
    expect(await burst(one, { tag: 'receiving', count: 12, isAccepted: false })).toBe(12);
    await one.clock.advance(2_000);
    await breakRedis('down', one, two);
    expect(await burst(two, { tag: 'local' })).toBe(4);
    await one.clock.advance(1_500);
    expect(await burst(two, { tag: 'later' })).toBe(0);
    // Also when their leases would have expired.
    await one.clock.advance(70_000);
    expect(await burst(two, { tag: 'much-later' })).toBe(0);
    await close(one, two);
  });

  it('count requests that Redis admitted for the other one right before the outage (L4)', async () => {
    const [one, two] = await twoServers();
    expect(await burst(one, { tag: 'receiving', count: 12, isAccepted: false })).toBe(12);
    await breakRedis('down', one, two);
    expect(await burst(two, { tag: 'two' })).toBe(4);
    expect(await burst(one, { tag: 'one' })).toBe(4);
    await close(one, two);
  });

  it('admit nothing on a server that starts during the outage, until it is the only one (L4)', async () => {
    const [one, two] = await twoServers();
    await breakRedis('down', one, two);
    expect(await burst(one, { tag: 'one', isAccepted: false })).toBe(10);
    const late = await admissionWorld({ options, beside: one, isDown: true });
    expect(await burst(late, { tag: 'late' })).toBe(0);
    expect(await burst(two, { tag: 'two', isAccepted: false })).toBe(10);
    await close(one, two);
    await late.clock.advance(1_500);
    expect(await burst(late, { tag: 'alone' })).toBe(20);
    await close(late);
  });

  it('count them from a decision of Redis since that heartbeat', async () => {
    const [one, two] = await twoServers();
    expect(await burst(one, { tag: 'receiving', count: 12, isAccepted: false })).toBe(12);
    expect(await burst(two, { tag: 'own', count: 1 })).toBe(1);
    await breakRedis('down', one, two);
    expect(await burst(two, { tag: 'local' })).toBe(3);
    await close(one, two);
  });

  it('count each other within two seconds', async () => {
    const one = await admissionWorld({ options });
    const two = await admissionWorld({ options, beside: one });
    await one.clock.advance(2_500);
    await breakRedis('down', one, two);
    expect(await burst(one, { tag: 'one' })).toBe(10);
    await close(one, two);
  });

  it('exceed a limit by at most a share when only one of them lost Redis, until that is released', async () => {
    const [one, two] = await twoServers();
    await breakRedis('hanging', two);
    expect(await burst(two, { tag: 'early' })).toBe(0);
    // By then the other one has reported that Redis replies to it.
    await one.clock.advance(3_000);
    expect(await burst(two, { tag: 'local', isAccepted: false })).toBe(10);
    expect(await burst(one, { tag: 'by-redis', isAccepted: false })).toBe(20);
    two.faulty.goUp();
    await one.clock.advance(2_500);
    expect((await one.slots.usage(['a'])).organizations.get('a')).toBe(30);
    for (let index = 0; index < 10; index++) {
      expect(await burst(one, { tag: `early-${index}`, count: 1 })).toBe(0);
      await two.admission.controller.release({ organizationId: 'a', executionId: `local-${index}` });
    }
    expect(await burst(one, { tag: 'still', count: 1 })).toBe(0);
    await one.admission.controller.release({ organizationId: 'a', executionId: 'by-redis-0' });
    expect(await burst(two, { tag: 'next' })).toBe(1);
    await close(one, two);
  });

  it('admit no request where less than one slot per server is free', async () => {
    const [one, two] = await twoServers();
    expect(await burst(one, { tag: 'before', count: 19 })).toBe(19);
    await breakRedis('down', one, two);
    expect(await burst(one, { tag: 'one' })).toBe(0);
    expect(await burst(two, { tag: 'two' })).toBe(0);
    await close(one, two);
  });

  it('count each other also when Redis was flushed just before', async () => {
    const [one, two] = await twoServers();
    const flushed = new MemorySlotStore({ ...standardOptions, clock: one.clock });
    for (const { faulty } of [one, two]) faulty.replace(flushed);
    await flushed.restore([]);
    // Only one of them has sent a heartbeat since.
    await flushed.heartbeat('server-1');
    await one.clock.advance(1_900);
    await breakRedis('down', one, two);
    expect(await burst(one, { tag: 'one' })).toBe(10);
    await close(one, two);
  });

  it('stop counting a server without heartbeats', async () => {
    const [one, two] = await twoServers();
    await two.admission.close();
    await one.clock.advance(130_000);
    await breakRedis('down', one);
    expect(await burst(one, { tag: 'one' })).toBe(20);
    await close(one);
  });

  it('reject as at the limit: the rest belongs to the other one', async () => {
    const [one, two] = await twoServers();
    await breakRedis('down', one, two);
    await burst(one, { tag: 'one', count: 10 });
    await expect(one.acquire('a', 'next')).rejects.toMatchObject({
      message: expect.stringContaining('(20/20)') as string,
      usage: { organization: 20, organizationLimit: 20, global: 10 },
    });
    await close(one, two);
  });

  it('have no share for a process that accepts no requests', async () => {
    const one = await admissionWorld({ options });
    const worker = await admissionWorld({ options, beside: one, serverId: null });
    await one.clock.advance(2_500);
    await breakRedis('down', one, worker);
    expect(await burst(one, { tag: 'one' })).toBe(20);
    for (const each of [one, worker]) each.faulty.goUp();
    await one.clock.advance(2_500);
    expect([one, worker].map(({ admission }) => admission.health().state)).toEqual(['up', 'up']);
    await close(one, worker);
  });
});
