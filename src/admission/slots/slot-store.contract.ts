// What every store of slots must do. Run by each adapter.
import { describe, expect, it } from 'vitest';
import type { Acquired, SlotStore } from '../ports.ts';

export const slotStoreSettings = { leaseSeconds: 60, cacheTtlSeconds: 600 };

export interface SlotStoreWorld {
  readonly store: SlotStore;
  /** Lets time pass for everything the store holds, on a virtual clock or by making all of it older. */
  readonly advance: (ms: number) => Promise<void>;
}

/** As the gate does: reads the limit when the store asks for it. */
export async function acquireWith(
  store: SlotStore,
  organizationId: string,
  executionId: string,
  { limit = 20, globalLimit = 100 }: { readonly limit?: number; readonly globalLimit?: number } = {},
): Promise<Acquired> {
  const request = { organizationId, executionId, globalLimit };
  const first = await store.acquire(request);
  if (first.kind !== 'limit-unknown') return first;
  return await store.acquire({ ...request, limit: { value: limit, token: first.token } });
}

/** A second more than the lease, for adapters that count whole seconds. */
const leaseMs = slotStoreSettings.leaseSeconds * 1_000;
const overLeaseMs = leaseMs + 1_500;
const halfLeaseMs = leaseMs / 2;

export function describeSlotStoreContract(name: string, make: () => Promise<SlotStoreWorld>): void {
  const restored = async (): Promise<SlotStoreWorld> => {
    const world = await make();
    await world.store.restore([]);
    return world;
  };
  const take = async (
    store: SlotStore,
    organizationId: string,
    executionIds: readonly string[],
    limits = {},
  ) => {
    const kinds: string[] = [];
    for (const id of executionIds) kinds.push((await acquireWith(store, organizationId, id, limits)).kind);
    return kinds;
  };
  const token = async (store: SlotStore, organizationId = 'a'): Promise<string> => {
    const answer = await store.acquire({ organizationId, executionId: 'asks', globalLimit: 100 });
    if (answer.kind !== 'limit-unknown') throw new Error(`A limit is cached: ${JSON.stringify(answer)}`);
    return answer.token;
  };
  const used = async (store: SlotStore, ...organizationIds: readonly string[]) => {
    const { global, organizations } = await store.usage(organizationIds);
    return [global, ...organizationIds.map((id) => organizations.get(id))];
  };

  describe(`slot store: ${name}`, () => {
    describe('limits', () => {
      it("admits up to the organization's limit, and counts what it admits", async () => {
        const { store } = await restored();
        const counted: unknown[] = [];
        for (const id of ['1', '2', '3']) counted.push(await acquireWith(store, 'a', id, { limit: 2 }));
        const usage = { organizationLimit: 2, globalLimit: 100 };
        expect(counted).toEqual([
          { kind: 'admitted', usage: { ...usage, organization: 1, global: 1 } },
          { kind: 'admitted', usage: { ...usage, organization: 2, global: 2 } },
          { kind: 'refused', layer: 'organization', usage: { ...usage, organization: 2, global: 2 } },
        ]);
        expect(await used(store, 'a')).toEqual([2, 2]);
      });

      it('admits up to the global limit, whoever asks', async () => {
        const { store } = await restored();
        const answers: Acquired[] = [];
        for (const id of ['a', 'b', 'c', 'd'])
          answers.push(await acquireWith(store, id, `of-${id}`, { globalLimit: 3 }));
        expect(answers.map(({ kind }) => kind)).toEqual(['admitted', 'admitted', 'admitted', 'refused']);
        expect(answers[3]).toEqual({
          kind: 'refused',
          layer: 'global',
          usage: { organization: 0, organizationLimit: 20, global: 3, globalLimit: 3 },
        });
        expect(await used(store, 'a', 'd')).toEqual([3, 1, 0]);
      });

      it('names the organization when both layers are full', async () => {
        const { store } = await restored();
        await take(store, 'a', ['1'], { limit: 1, globalLimit: 1 });
        const answer = await acquireWith(store, 'a', '2', { limit: 1, globalLimit: 1 });
        expect(answer).toMatchObject({ kind: 'refused', layer: 'organization' });
      });

      it('admits exactly the limit of a burst', async () => {
        const { store } = await restored();
        await take(store, 'a', ['first'], { limit: 7 });
        const burst = await Promise.all(
          Array.from({ length: 100 }, (_, number) => acquireWith(store, 'a', `${number}`)),
        );
        expect(burst.filter(({ kind }) => kind === 'admitted')).toHaveLength(6);
        expect(await used(store, 'a')).toEqual([7, 7]);
      });

      it('gives an execution one slot, however often it asks, also when everything is full', async () => {
        const { store } = await restored();
        await take(store, 'a', ['1', '2', '1'], { limit: 2, globalLimit: 2 });
        const again = await acquireWith(store, 'a', '1', { globalLimit: 2 });
        expect(again).toMatchObject({ kind: 'admitted', usage: { organization: 2, global: 2 } });
        expect(await used(store, 'a')).toEqual([2, 2]);
        await store.release({ organizationId: 'a', executionId: '1' });
        expect(await used(store, 'a')).toEqual([1, 1]);
      });

      it('keeps to a limit that became smaller than what is held', async () => {
        const { store } = await restored();
        await take(store, 'a', ['1', '2', '3']);
        await store.forgetLimits(['a']);
        expect(await take(store, 'a', ['4'], { limit: 2 })).toEqual(['refused']);
        for (const executionId of ['1', '2']) await store.release({ organizationId: 'a', executionId });
        expect(await take(store, 'a', ['4', '5'])).toEqual(['admitted', 'refused']);
      });

      it('keeps organizations apart, whatever is in their ids', async () => {
        const { store } = await restored();
        const ids = [
          'global',
          'a',
          'a:b',
          'a:',
          ':',
          '',
          '*',
          '{a}',
          '日本 ☂',
          'a\r\nb',
          'a\0b',
          'A',
          'x'.repeat(10_000),
        ];
        for (const id of ids) await take(store, id, [`of ${id}`], { limit: 1 });
        expect(await used(store, ...ids)).toEqual([ids.length, ...ids.map(() => 1)]);
        const holders = await store.holders();
        expect(holders.map(({ organizationId }) => organizationId).sort()).toEqual(ids.toSorted());
        expect(await store.cachedLimits(ids)).toEqual(new Map(ids.map((id) => [id, 1])));
        for (const id of ids)
          expect(await store.release({ organizationId: id, executionId: `of ${id}` })).toBe(true);
        expect(await store.holders()).toEqual([]);
      });
    });

    describe('release', () => {
      it('frees a slot once', async () => {
        const { store } = await restored();
        await take(store, 'a', ['1', '2'], { limit: 2 });
        expect(await store.release({ organizationId: 'a', executionId: '1' })).toBe(true);
        expect(await store.release({ organizationId: 'a', executionId: '1' })).toBe(false);
        expect(await used(store, 'a')).toEqual([1, 1]);
        expect(await take(store, 'a', ['3', '4'])).toEqual(['admitted', 'refused']);
      });

      it('frees nothing for somebody who does not hold it', async () => {
        const { store } = await restored();
        await take(store, 'a', ['1']);
        expect(await store.release({ organizationId: 'b', executionId: '1' })).toBe(false);
        expect(await store.release({ organizationId: 'a', executionId: 'never' })).toBe(false);
        expect(await used(store, 'a', 'b')).toEqual([1, 1, 0]);
      });
    });

    describe('leases', () => {
      it('frees a slot that nobody renews for a lease, and not before', async () => {
        const { store, advance } = await restored();
        await take(store, 'a', ['1'], { limit: 1, globalLimit: 1 });
        await advance(leaseMs - 1_500);
        expect(await take(store, 'a', ['2'], { globalLimit: 1 })).toEqual(['refused']);
        await advance(3_000);
        const answer = await acquireWith(store, 'a', '2', { globalLimit: 1 });
        expect(answer).toMatchObject({ kind: 'admitted', usage: { organization: 1, global: 1 } });
      });

      it("neither counts nor lists what expired, be it the asking organization's or another's", async () => {
        const { store, advance } = await restored();
        await take(store, 'a', ['1', '2']);
        await take(store, 'b', ['3']);
        await advance(halfLeaseMs);
        await take(store, 'b', ['4']);
        await advance(halfLeaseMs + 1_500);
        expect(await used(store, 'a', 'b')).toEqual([1, 0, 1]);
        expect(await store.holders()).toMatchObject([{ organizationId: 'b', executionId: '4' }]);
        const answer = await acquireWith(store, 'a', '5');
        expect(answer).toMatchObject({ kind: 'admitted', usage: { organization: 1, global: 2 } });
      });

      it('keeps a slot that is renewed, for as long as it is', async () => {
        const { store, advance } = await restored();
        await take(store, 'a', ['1', '2'], { limit: 2 });
        for (let third = 0; third < 6; third++) {
          await advance(leaseMs / 3);
          expect(await store.renew([{ organizationId: 'a', executionId: '1' }])).toEqual([]);
        }
        expect(await used(store, 'a')).toEqual([1, 1]);
        expect(await store.holders()).toMatchObject([{ executionId: '1' }]);
      });

      it('renews the lease of an execution that is admitted again', async () => {
        const { store, advance } = await restored();
        await take(store, 'a', ['1'], { limit: 1 });
        await advance(halfLeaseMs);
        await take(store, 'a', ['1']);
        await advance(halfLeaseMs + 1_500);
        expect(await used(store, 'a')).toEqual([1, 1]);
      });

      it('restores what is missing or expired when it is renewed, and says which, beyond any limit', async () => {
        const { store, advance } = await restored();
        await take(store, 'a', ['expired'], { limit: 1, globalLimit: 1 });
        await advance(overLeaseMs);
        await take(store, 'a', ['held'], { globalLimit: 1 });
        const missing = await store.renew([
          { organizationId: 'a', executionId: 'held' },
          { organizationId: 'a', executionId: 'expired' },
          { organizationId: 'b', executionId: 'lost' },
        ]);
        expect(missing.toSorted()).toEqual(['expired', 'lost']);
        expect(await used(store, 'a', 'b')).toEqual([3, 2, 1]);
        expect(await store.renew([])).toEqual([]);
        expect((await store.holders()).map(({ executionId }) => executionId).sort()).toEqual([
          'expired',
          'held',
          'lost',
        ]);
      });

      it('renews thousands at once', async () => {
        const { store } = await restored();
        const slots = Array.from({ length: 5_000 }, (_, number) => ({
          organizationId: `org_${number % 50}`,
          executionId: `execution ${number}`,
        }));
        expect(await store.renew(slots)).toHaveLength(5_000);
        expect(await store.renew(slots)).toEqual([]);
        expect(await used(store, 'org_0')).toEqual([5_000, 100]);
        expect(await store.holders()).toHaveLength(5_000);
      });

      it('tells when a slot was renewed', async () => {
        const { store, advance } = await restored();
        await take(store, 'a', ['older']);
        await advance(10_000);
        await take(store, 'a', ['younger']);
        const holders = await store.holders();
        const at = (id: string) =>
          holders.find(({ executionId }) => executionId === id)?.renewedAt.getTime() ?? Number.NaN;
        const apartMs = at('younger') - at('older');
        expect(apartMs).toBeGreaterThanOrEqual(9_000);
        expect(apartMs).toBeLessThan(30_000);
      });
    });

    describe('a new store', () => {
      it('admits nobody before it was restored', async () => {
        const { store } = await make();
        const request = { organizationId: 'a', executionId: '1', globalLimit: 100 };
        expect(await store.acquire(request)).toEqual({ kind: 'unrestored' });
        const limit = { value: 20, token: 'of another time' };
        expect(await store.acquire({ ...request, limit })).toEqual({ kind: 'unrestored' });
        expect(await store.renew([{ organizationId: 'a', executionId: 'running' }])).toEqual(['running']);
        expect(await store.acquire(request)).toEqual({ kind: 'unrestored' });
        await store.forgetLimits('all');
        expect(await store.acquire(request)).toEqual({ kind: 'unrestored' });
        expect(await used(store, 'a')).toEqual([1, 1]);
        await store.restore([]);
        expect(await take(store, 'a', ['1'])).toEqual(['admitted']);
      });

      it('counts what was restored against the limits', async () => {
        const { store } = await make();
        await store.restore(['1', '2', '3'].map((executionId) => ({ organizationId: 'a', executionId })));
        expect(await take(store, 'a', ['4'], { limit: 3 })).toEqual(['refused']);
        expect(await take(store, 'b', ['5'], { globalLimit: 3 })).toEqual(['refused']);
        expect(await used(store, 'a')).toEqual([3, 3]);
      });

      it('can be restored twice, by two servers at once', async () => {
        const { store } = await make();
        const slots = [{ organizationId: 'a', executionId: '1' }];
        await store.restore(slots);
        const before = await token(store, 'b');
        await store.restore(slots);
        expect(await token(store, 'b')).toBe(before);
        expect(await used(store, 'a')).toEqual([1, 1]);
      });
    });

    describe('cached limits', () => {
      it('asks for a limit once, and then decides by what it was told', async () => {
        const { store } = await restored();
        await take(store, 'a', ['1'], { limit: 5 });
        const answer = await store.acquire({ organizationId: 'a', executionId: '2', globalLimit: 100 });
        expect(answer).toMatchObject({ kind: 'admitted', usage: { organizationLimit: 5 } });
        expect(await store.cachedLimits(['a', 'b'])).toEqual(new Map([['a', 5]]));
        expect(await store.cachedLimits([])).toEqual(new Map());
      });

      it('remembers a limit as long as it is used, and forgets it a while after', async () => {
        const { store, advance } = await restored();
        await take(store, 'a', ['1'], { limit: 5 });
        await advance(400_000);
        expect(await take(store, 'a', ['2'], { limit: 1 })).toEqual(['admitted']);
        await advance(400_000);
        expect(await store.cachedLimits(['a'])).toEqual(new Map([['a', 5]]));
        await advance(201_000);
        expect(await store.cachedLimits(['a'])).toEqual(new Map());
        expect(await store.forgetLimits(['a'])).toBe(0);
        await token(store);
      });

      it('does not remember a limit longer because somebody looked at it', async () => {
        const { store, advance } = await restored();
        await take(store, 'a', ['1'], { limit: 5 });
        await advance(400_000);
        await store.cachedLimits(['a']);
        await advance(201_000);
        expect(await store.cachedLimits(['a'])).toEqual(new Map());
      });

      it('refreshes a limit by refusals, too', async () => {
        const { store, advance } = await restored();
        await take(store, 'a', ['1'], { limit: 1, globalLimit: 1 });
        await advance(400_000);
        await store.renew([{ organizationId: 'a', executionId: '1' }]);
        expect(await take(store, 'a', ['2'], { globalLimit: 1 })).toEqual(['refused']);
        await advance(400_000);
        expect(await store.cachedLimits(['a'])).toEqual(new Map([['a', 1]]));
      });

      it('forgets those of some, and tells how many there were', async () => {
        const { store } = await restored();
        for (const id of ['a', 'b', 'c']) await take(store, id, [`of ${id}`], { limit: 9 });
        expect(await store.forgetLimits(['a', 'b', 'unknown'])).toBe(2);
        expect(await store.cachedLimits(['a', 'b', 'c'])).toEqual(new Map([['c', 9]]));
        expect(await store.forgetLimits([])).toBe(0);
      });

      it('forgets all, and keeps slots', async () => {
        const { store } = await restored();
        for (const id of ['a', 'b', 'c']) await take(store, id, [`of ${id}`], { limit: 9 });
        expect(await store.forgetLimits('all')).toBe(3);
        expect(await store.forgetLimits('all')).toBe(0);
        expect(await store.cachedLimits(['a', 'b', 'c'])).toEqual(new Map());
        expect(await used(store, 'a')).toEqual([3, 1]);
        expect(await store.holders()).toHaveLength(3);
      });

      it.each(['all', ['a'], ['b']] as const)(
        'does not take a limit that was read before limits were forgotten (%j)',
        async (forgotten) => {
          const { store } = await restored();
          const old = { value: 50, token: await token(store) };
          await store.forgetLimits(forgotten);
          const request = { organizationId: 'a', executionId: '1', globalLimit: 100 };
          const answer = await store.acquire({ ...request, limit: old });
          expect(answer).toMatchObject({ kind: 'limit-unknown' });
          expect(await store.cachedLimits(['a'])).toEqual(new Map());
          expect(await used(store, 'a')).toEqual([0, 0]);
          const fresh = { value: 5, token: answer.kind === 'limit-unknown' ? answer.token : '' };
          expect(await store.acquire({ ...request, limit: fresh })).toMatchObject({
            kind: 'admitted',
            usage: { organizationLimit: 5 },
          });
          expect(await store.cachedLimits(['a'])).toEqual(new Map([['a', 5]]));
        },
      );

      it('decides by the newer limit that is cached when an older one arrives late', async () => {
        const { store } = await restored();
        const old = { value: 50, token: await token(store) };
        await store.forgetLimits(['a']);
        await take(store, 'a', ['1'], { limit: 5 });
        const late = await store.acquire({
          organizationId: 'a',
          executionId: '2',
          globalLimit: 100,
          limit: old,
        });
        expect(late).toMatchObject({ kind: 'admitted', usage: { organizationLimit: 5 } });
        expect(await store.cachedLimits(['a'])).toEqual(new Map([['a', 5]]));
      });
    });

    describe('servers', () => {
      it('counts those that were heard of within a lease', async () => {
        const { store, advance } = await make();
        expect(await store.heartbeat('one')).toBe(1);
        expect(await store.heartbeat('one')).toBe(1);
        await advance(halfLeaseMs);
        expect(await store.heartbeat('two')).toBe(2);
        await advance(halfLeaseMs + 1_500);
        expect(await store.heartbeat('two')).toBe(1);
      });
    });
  });
}
