// Contract of slot stores: cached limits, and no stale ones.
import { describe, expect, it } from 'vitest';
import type { MakeSlotStore } from './slot-store-world.contract.ts';
import { restored, take, token, used } from './slot-store-world.contract.ts';

export function describeCachedLimits(make: MakeSlotStore): void {
  describe('cached limits', () => {
    it('requests a limit once, and then decides with it', async () => {
      const { store } = await restored(make);
      await take(store, 'a', ['1'], { limit: 5 });
      const answer = await store.acquire({ organizationId: 'a', executionId: '2', globalLimit: 100 });
      expect(answer).toMatchObject({ kind: 'admitted', usage: { organizationLimit: 5 } });
      expect(await store.cachedLimits(['a', 'b'])).toEqual(new Map([['a', 5]]));
      expect(await store.cachedLimits([])).toEqual(new Map());
    });

    it('caches a limit as long as it is used, and drops it after its TTL', async () => {
      const { store, advance } = await restored(make);
      await take(store, 'a', ['1'], { limit: 5 });
      await advance(400_000);
      expect(await take(store, 'a', ['2'], { limit: 1 })).toEqual(['admitted']);
      await advance(400_000);
      expect(await store.cachedLimits(['a'])).toEqual(new Map([['a', 5]]));
      await advance(201_000);
      expect(await store.cachedLimits(['a'])).toEqual(new Map());
      expect(await store.invalidateLimits(['a'])).toBe(0);
      await token(store);
    });

    it('does not extend the TTL of a limit that is only read', async () => {
      const { store, advance } = await restored(make);
      await take(store, 'a', ['1'], { limit: 5 });
      await advance(400_000);
      await store.cachedLimits(['a']);
      await advance(201_000);
      expect(await store.cachedLimits(['a'])).toEqual(new Map());
    });

    it('extends the TTL of a cached limit with rejections as well', async () => {
      const { store, advance } = await restored(make);
      await take(store, 'a', ['1'], { limit: 1, globalLimit: 1 });
      await advance(400_000);
      await store.renew([{ organizationId: 'a', executionId: '1' }]);
      expect(await take(store, 'a', ['2'], { globalLimit: 1 })).toEqual(['rejected']);
      await advance(400_000);
      expect(await store.cachedLimits(['a'])).toEqual(new Map([['a', 1]]));
    });

    it('caches the limit of a rejected request as well', async () => {
      const { store } = await restored(make);
      expect(await take(store, 'a', ['1'], { limit: 5, globalLimit: 0 })).toEqual(['rejected']);
      expect(await store.cachedLimits(['a'])).toEqual(new Map([['a', 5]]));
      expect(await used(store, 'a')).toEqual([0, 0]);
    });

    it('invalidates the limits of some organizations, and returns how many were cached', async () => {
      const { store } = await restored(make);
      for (const id of ['a', 'b', 'c']) await take(store, id, [`of ${id}`], { limit: 9 });
      expect(await store.invalidateLimits(['a', 'b', 'unknown'])).toBe(2);
      expect(await store.cachedLimits(['a', 'b', 'c'])).toEqual(new Map([['c', 9]]));
      expect(await store.invalidateLimits([])).toBe(0);
    });

    it('invalidates all limits, and keeps slots', async () => {
      const { store } = await restored(make);
      for (const id of ['a', 'b', 'c']) await take(store, id, [`of ${id}`], { limit: 9 });
      expect(await store.invalidateLimits('all')).toBe(3);
      expect(await store.invalidateLimits('all')).toBe(0);
      expect(await store.cachedLimits(['a', 'b', 'c'])).toEqual(new Map());
      expect(await used(store, 'a')).toEqual([3, 1]);
      expect(await store.holders()).toHaveLength(3);
    });

    it.each(['all', ['a'], ['b']] as const)(
      'does not cache a limit that was read before an invalidation (%j)',
      async (invalidated) => {
        const { store } = await restored(make);
        const old = { value: 50, token: await token(store) };
        await store.invalidateLimits(invalidated);
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

    it('decides with the newer cached limit when an older one arrives late', async () => {
      const { store } = await restored(make);
      const old = { value: 50, token: await token(store) };
      await store.invalidateLimits(['a']);
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
}
