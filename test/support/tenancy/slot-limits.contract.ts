// Contract of slot stores: limits and releases.
import { describe, expect, it } from 'vitest';
import type { SlotDecision } from '../../../src/tenancy/admission/types.ts';
import type { MakeSlotStore } from './slot-store-world.contract.ts';
import { acquireWith, restored, take, used } from './slot-store-world.contract.ts';

export function describeSlotLimits(make: MakeSlotStore): void {
  describe('limits', () => {
    it("admits up to the organization's limit, and counts what it admits", async () => {
      const { store } = await restored(make);
      const counted: unknown[] = [];
      for (const id of ['1', '2', '3']) counted.push(await acquireWith(store, 'a', id, { limit: 2 }));
      const usage = { organizationLimit: 2, globalLimit: 100 };
      expect(counted).toEqual([
        { kind: 'admitted', usage: { ...usage, organization: 1, global: 1 } },
        { kind: 'admitted', usage: { ...usage, organization: 2, global: 2 } },
        { kind: 'rejected', limitedBy: 'organization', usage: { ...usage, organization: 2, global: 2 } },
      ]);
      expect(await used(store, 'a')).toEqual([2, 2]);
    });

    it('admits up to the global limit across organizations', async () => {
      const { store } = await restored(make);
      const answers: SlotDecision[] = [];
      for (const id of ['a', 'b', 'c', 'd'])
        answers.push(await acquireWith(store, id, `of-${id}`, { globalLimit: 3 }));
      expect(answers.map(({ kind }) => kind)).toEqual(['admitted', 'admitted', 'admitted', 'rejected']);
      expect(answers[3]).toEqual({
        kind: 'rejected',
        limitedBy: 'global',
        usage: { organization: 0, organizationLimit: 20, global: 3, globalLimit: 3 },
      });
      expect(await used(store, 'a', 'd')).toEqual([3, 1, 0]);
    });

    it('names the organization when both limits are reached', async () => {
      const { store } = await restored(make);
      await take(store, 'a', ['1'], { limit: 1, globalLimit: 1 });
      const answer = await acquireWith(store, 'a', '2', { limit: 1, globalLimit: 1 });
      expect(answer).toMatchObject({ kind: 'rejected', limitedBy: 'organization' });
    });

    it('admits exactly the limit of a burst', async () => {
      const { store } = await restored(make);
      await take(store, 'a', ['first'], { limit: 7 });
      const burst = await Promise.all(
        Array.from({ length: 100 }, (_, number) => acquireWith(store, 'a', `${number}`)),
      );
      expect(burst.filter(({ kind }) => kind === 'admitted')).toHaveLength(6);
      expect(await used(store, 'a')).toEqual([7, 7]);
    });

    it('gives an execution one slot, however often it is requested, also at the limit', async () => {
      const { store } = await restored(make);
      await take(store, 'a', ['1', '2', '1'], { limit: 2, globalLimit: 2 });
      const again = await acquireWith(store, 'a', '1', { globalLimit: 2 });
      expect(again).toMatchObject({ kind: 'admitted', usage: { organization: 2, global: 2 } });
      expect(await used(store, 'a')).toEqual([2, 2]);
      await store.release({ organizationId: 'a', executionId: '1' });
      expect(await used(store, 'a')).toEqual([1, 1]);
    });

    it('rejects requests after a limit was lowered below the usage', async () => {
      const { store } = await restored(make);
      await take(store, 'a', ['1', '2', '3']);
      await store.invalidateLimits(['a']);
      expect(await take(store, 'a', ['4'], { limit: 2 })).toEqual(['rejected']);
      for (const executionId of ['1', '2']) await store.release({ organizationId: 'a', executionId });
      expect(await take(store, 'a', ['4', '5'])).toEqual(['admitted', 'rejected']);
    });

    it('isolates organizations, whatever characters their ids have', async () => {
      const { store } = await restored(make);
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
    it('releases a slot once', async () => {
      const { store } = await restored(make);
      await take(store, 'a', ['1', '2'], { limit: 2 });
      expect(await store.release({ organizationId: 'a', executionId: '1' })).toBe(true);
      expect(await store.release({ organizationId: 'a', executionId: '1' })).toBe(false);
      expect(await used(store, 'a')).toEqual([1, 1]);
      expect(await take(store, 'a', ['3', '4'])).toEqual(['admitted', 'rejected']);
    });

    it('releases nothing for an organization that does not hold the slot', async () => {
      const { store } = await restored(make);
      await take(store, 'a', ['1']);
      expect(await store.release({ organizationId: 'b', executionId: '1' })).toBe(false);
      expect(await store.release({ organizationId: 'a', executionId: 'never' })).toBe(false);
      expect(await used(store, 'a', 'b')).toEqual([1, 1, 0]);
    });
  });
}
