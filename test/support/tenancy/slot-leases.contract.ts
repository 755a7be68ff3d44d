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
      expect(await store.restore([])).toEqual({ wasEmpty: true });
      expect(await store.restore([])).toEqual({ wasEmpty: false });
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

  describe('servers', () => {
    it('counts servers with a heartbeat within a lease', async () => {
      const { store, advance } = await make();
      expect(await store.heartbeat('one')).toBe(1);
      expect(await store.heartbeat('one')).toBe(1);
      await advance(halfLeaseMs);
      expect(await store.heartbeat('two')).toBe(2);
      await advance(halfLeaseMs + 1_500);
      expect(await store.heartbeat('two')).toBe(1);
    });
  });
}
