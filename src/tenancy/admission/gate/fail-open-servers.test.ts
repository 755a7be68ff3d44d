// Several servers while Redis is away: what they admit together.
import { describe, expect, it } from 'vitest';
import type { AdmissionWorld } from '../../../../test/support/tenancy/admission-world.ts';
import { admissionWorld, standardOptions } from '../../../../test/support/tenancy/admission-world.ts';
import { MemorySlotStore } from '../slots/memory-slot-store.ts';

const options = { defaultLimit: 20 };

/** Two servers on one store, one state store and one clock, which know of each other. */
async function twoServers(): Promise<readonly [AdmissionWorld, AdmissionWorld]> {
  const one = await admissionWorld({ options });
  const two = await admissionWorld({ options, beside: one });
  await one.clock.advance(2_500);
  return [one, two];
}

interface Burst {
  readonly tag: string;
  readonly count?: number;
  /** Are those who get in accepted at once, or still being read? */
  readonly isAccepted?: boolean;
}

/** As many as get in. */
async function burst(world: AdmissionWorld, { tag, count = 40, isAccepted = true }: Burst): Promise<number> {
  const enter = async (executionId: string) => {
    const slot = { organizationId: 'a', executionId };
    await world.admit('a', executionId);
    if (!isAccepted) return;
    world.executions.begin(slot, new Date(world.clock.now()));
    world.admission.gate.letGo(slot);
  };
  const tries = Array.from({ length: count }, (_, index) => enter(`${tag}-${index}`));
  const settled = await world.clock.run(Promise.allSettled(tries));
  return settled.filter(({ status }) => status === 'fulfilled').length;
}

/** The connection tells at once that Redis is down; that it hangs, a server finds out when it asks. */
function breakRedis(state: 'down' | 'hanging', ...worlds: readonly AdmissionWorld[]): void {
  for (const { faulty, admission } of worlds) {
    faulty.state = state;
    if (state === 'down') admission.redisChanged(false);
  }
}

const close = async (...worlds: readonly AdmissionWorld[]): Promise<void> => {
  for (const { admission } of worlds) await admission.close();
};

describe('two servers without Redis', () => {
  it('share what is free, and keep to their shares however long it lasts', async () => {
    const [one, two] = await twoServers();
    breakRedis('down', one, two);
    expect(await burst(one, { tag: 'first' })).toBe(10);
    // One sees its own again and again; two has not admitted anybody yet, and may.
    for (let round = 0; round < 5; round++) {
      await one.clock.advance(1_100);
      expect(await burst(one, { tag: `again-${round}` })).toBe(0);
    }
    expect(await burst(two, { tag: 'second' })).toBe(10);
    await close(one, two);
  });

  it('hand on what becomes free within each share', async () => {
    const [one, two] = await twoServers();
    breakRedis('down', one, two);
    expect(await burst(one, { tag: 'one' })).toBe(10);
    expect(await burst(two, { tag: 'two' })).toBe(10);
    for (const id of ['one-0', 'one-1', 'two-0']) one.executions.end(id);
    await one.clock.advance(1_500);
    expect(await burst(one, { tag: 'more' })).toBe(2);
    expect(await burst(two, { tag: 'more-two' })).toBe(1);
    await close(one, two);
  });

  it('know what Redis admitted for the other one since they last looked', async () => {
    const [one, two] = await twoServers();
    expect(await burst(one, { tag: 'by-redis' })).toBe(20);
    breakRedis('hanging', one, two);
    expect(await burst(two, { tag: 'alone' })).toBe(0);
    await close(one, two);
  });

  it('do not take slots of requests that the other one is still reading', async () => {
    const [one, two] = await twoServers();
    expect(await burst(one, { tag: 'read', count: 12, isAccepted: false })).toBe(12);
    expect(await burst(two, { tag: 'own', count: 1 })).toBe(1);
    breakRedis('down', one, two);
    expect(await burst(two, { tag: 'alone' })).toBe(3);
    await one.clock.advance(1_500);
    expect(await burst(two, { tag: 'later' })).toBe(0);
    await close(one, two);
  });

  it('know of each other within two seconds', async () => {
    const one = await admissionWorld({ options });
    const two = await admissionWorld({ options, beside: one });
    await one.clock.advance(2_500);
    breakRedis('down', one, two);
    expect(await burst(one, { tag: 'one' })).toBe(10);
    await close(one, two);
  });

  it('admit at most a share too many when only one of them lost Redis, and nobody until that is made up for', async () => {
    const [one, two] = await twoServers();
    breakRedis('hanging', two);
    // Two finds out first and takes its share of twenty; Redis, which one can reach, never heard of it.
    expect(await burst(two, { tag: 'alone', isAccepted: false })).toBe(10);
    expect(await burst(one, { tag: 'by-redis', isAccepted: false })).toBe(20);
    two.faulty.goUp();
    await one.clock.advance(2_500);
    expect((await one.slots.usage(['a'])).organizations.get('a')).toBe(30);
    for (let index = 0; index < 10; index++) {
      expect(await burst(one, { tag: `early-${index}`, count: 1 })).toBe(0);
      await two.admission.gate.release({ organizationId: 'a', executionId: `alone-${index}` });
    }
    expect(await burst(one, { tag: 'still', count: 1 })).toBe(0);
    await one.admission.gate.release({ organizationId: 'a', executionId: 'by-redis-0' });
    expect(await burst(two, { tag: 'next' })).toBe(1);
    await close(one, two);
  });

  it('admit one each where less than one each is free', async () => {
    const [one, two] = await twoServers();
    expect(await burst(one, { tag: 'before', count: 19 })).toBe(19);
    breakRedis('down', one, two);
    expect(await burst(one, { tag: 'one', isAccepted: false })).toBe(1);
    expect(await burst(two, { tag: 'two', isAccepted: false })).toBe(1);
    await close(one, two);
  });

  it('do not, if one of them sees that the other has', async () => {
    const [one, two] = await twoServers();
    expect(await burst(one, { tag: 'before', count: 19 })).toBe(19);
    breakRedis('down', one, two);
    expect(await burst(one, { tag: 'one' })).toBe(1);
    await one.clock.advance(1_100);
    expect(await burst(two, { tag: 'two' })).toBe(0);
    await close(one, two);
  });

  it('know of each other also when Redis was flushed just before', async () => {
    const [one, two] = await twoServers();
    const flushed = new MemorySlotStore({ ...standardOptions, clock: one.clock });
    for (const { faulty } of [one, two]) faulty.replace(flushed);
    await flushed.restore([]);
    // Only one of them has said that it is alive since.
    await flushed.heartbeat('server-1');
    await one.clock.advance(1_900);
    breakRedis('down', one, two);
    expect(await burst(one, { tag: 'one' })).toBe(10);
    await close(one, two);
  });

  it('forget a server that was not heard of for a while', async () => {
    const [one, two] = await twoServers();
    await two.admission.close();
    await one.clock.advance(130_000);
    breakRedis('down', one);
    expect(await burst(one, { tag: 'one' })).toBe(20);
    await close(one);
  });

  it('refuse as at the limit: what is left is for the other one', async () => {
    const [one, two] = await twoServers();
    breakRedis('down', one, two);
    await burst(one, { tag: 'one', count: 10 });
    await expect(one.admit('a', 'next')).rejects.toMatchObject({
      message: expect.stringContaining('(20/20)') as string,
      usage: { organization: 20, organizationLimit: 20, global: 10 },
    });
    await close(one, two);
  });

  it('take no share for a process that lets nobody in', async () => {
    const one = await admissionWorld({ options });
    const worker = await admissionWorld({ options, beside: one, serverId: null });
    await one.clock.advance(2_500);
    breakRedis('down', one, worker);
    expect(await burst(one, { tag: 'one' })).toBe(20);
    for (const each of [one, worker]) each.faulty.goUp();
    await one.clock.advance(2_500);
    expect([one, worker].map(({ admission }) => admission.isStoreUp())).toEqual([true, true]);
    await close(one, worker);
  });
});
