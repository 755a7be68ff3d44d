// Contract of slot stores: leases, a new store, servers.
import { describe, expect, it } from 'vitest';
import type { MakeSlotStore } from './slot-store-world.contract.ts';
import {
  acquireWith,
  halfLeaseMs,
  leaseMs,
  overLeaseMs,
  restored,
  take,
  token,
  used,
} from './slot-store-world.contract.ts';

export function describeSlotLeases(make: MakeSlotStore): void {
  describe('leases', () => {
    it('releases a slot that is not renewed within its lease, and not before', async () => {
      const { store, advance } = await restored(make);
      await take(store, 'a', ['1'], { limit: 1, globalLimit: 1 });
      await advance(leaseMs - 1_500);
      expect(await take(store, 'a', ['2'], { globalLimit: 1 })).toEqual(['rejected']);
      await advance(3_000);
      const answer = await acquireWith(store, 'a', '2', { globalLimit: 1 });
      expect(answer).toMatchObject({ kind: 'admitted', usage: { organization: 1, global: 1 } });
    });

    it('neither counts nor lists expired slots of any organization', async () => {
      const { store, advance } = await restored(make);
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

    it('keeps a slot for as long as it is renewed', async () => {
      const { store, advance } = await restored(make);
      await take(store, 'a', ['1', '2'], { limit: 2 });
      for (let third = 0; third < 6; third++) {
        await advance(leaseMs / 3);
        expect(await store.renew([{ organizationId: 'a', executionId: '1' }])).toEqual([]);
      }
      expect(await used(store, 'a')).toEqual([1, 1]);
      expect(await store.holders()).toMatchObject([{ executionId: '1' }]);
    });

    it('renews the lease of an execution that is admitted again', async () => {
      const { store, advance } = await restored(make);
      await take(store, 'a', ['1'], { limit: 1 });
      await advance(halfLeaseMs);
      await take(store, 'a', ['1']);
      await advance(halfLeaseMs + 1_500);
      expect(await used(store, 'a')).toEqual([1, 1]);
    });

    it('restores missing or expired slots on renewal, beyond any limit, and returns which', async () => {
      const { store, advance } = await restored(make);
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

    it('renews thousands of slots in one call', async () => {
      const { store } = await restored(make);
      const slots = Array.from({ length: 5_000 }, (_, number) => ({
        organizationId: `org_${number % 50}`,
        executionId: `execution ${number}`,
      }));
      expect(await store.renew(slots)).toHaveLength(5_000);
      expect(await store.renew(slots)).toEqual([]);
      expect(await used(store, 'org_0')).toEqual([5_000, 100]);
      expect(await store.holders()).toHaveLength(5_000);
    });
  });

  describe('a new store', () => {
    it('admits no request before it was restored', async () => {
      const { store } = await make();
      const request = { organizationId: 'a', executionId: '1', globalLimit: 100 };
      expect(await store.acquire(request)).toEqual({ kind: 'not-restored' });
      const limit = { value: 20, token: 'of another time' };
      expect(await store.acquire({ ...request, limit })).toEqual({ kind: 'not-restored' });
      expect(await store.renew([{ organizationId: 'a', executionId: 'running' }])).toEqual(['running']);
      expect(await store.acquire(request)).toEqual({ kind: 'not-restored' });
      await store.invalidateLimits('all');
      expect(await store.acquire(request)).toEqual({ kind: 'not-restored' });
      expect(await used(store, 'a')).toEqual([1, 1]);
      expect(await store.restore([])).toEqual({ wasEmpty: true, isComplete: true });
      expect(await store.restore([])).toEqual({ wasEmpty: false, isComplete: true });
      expect(await take(store, 'a', ['1'])).toEqual(['admitted']);
    });

    it('counts restored slots against the limits', async () => {
      const { store } = await make();
      await store.restore(['1', '2', '3'].map((executionId) => ({ organizationId: 'a', executionId })));
      expect(await take(store, 'a', ['4'], { limit: 3 })).toEqual(['rejected']);
      expect(await take(store, 'b', ['5'], { globalLimit: 3 })).toEqual(['rejected']);
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

  describe('a store that has lost its data', () => {
    const slot = (executionId: string) => ({ organizationId: 'a', executionId });
    const none = { awaited: [], unreachable: [] };

    it('admits no request before every awaited server has restored its slots (L5)', async () => {
      const { store } = await make();
      const waiting = { wasEmpty: true, isComplete: false };
      expect(
        await store.restore([slot('1')], { ...none, serverId: 'one', awaited: ['two', 'three'] }),
      ).toEqual(waiting);
      expect(await store.heartbeat('three')).toBeNull();
      expect(
        await store.restore([slot('2')], { ...none, serverId: 'two', awaited: ['one', 'three'] }),
      ).toEqual(waiting);
      expect(await store.acquire({ ...slot('4'), globalLimit: 100 })).toEqual({ kind: 'not-restored' });
      expect(
        await store.restore([slot('3')], { ...none, serverId: 'three', awaited: ['one', 'two'] }),
      ).toEqual({ wasEmpty: true, isComplete: true });
      expect(await store.heartbeat('three')).toBe(3);
      expect(await take(store, 'a', ['4', '5'], { limit: 4 })).toEqual(['admitted', 'rejected']);
    });

    it('gets the slots of servers that do not reach it, unless these reach it again', async () => {
      const { store, advance } = await make();
      const unreachable = [{ serverId: 'two', slots: [slot('1'), slot('2')] }];
      await store.restore([], { serverId: 'one', awaited: [], unreachable });
      expect(await used(store, 'a')).toEqual([2, 2]);
      await store.heartbeat('two');
      await store.release(slot('1'));
      await store.restore([], { serverId: 'one', awaited: [], unreachable });
      expect(await used(store, 'a')).toEqual([1, 1]);
      await advance(5_000);
      await store.restore([], { serverId: null, awaited: [], unreachable });
      expect(await used(store, 'a')).toEqual([2, 2]);
    });
  });

  describe('servers', () => {
    it('counts servers with a heartbeat within a lease', async () => {
      const { store, advance } = await make();
      await store.restore([]);
      expect(await store.heartbeat('one')).toBe(1);
      expect(await store.heartbeat('one')).toBe(1);
      await advance(halfLeaseMs);
      expect(await store.heartbeat('two')).toBe(2);
      await advance(halfLeaseMs + 1_500);
      expect(await store.heartbeat('two')).toBe(1);
    });
  });
}
