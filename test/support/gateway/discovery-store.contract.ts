// Contract of stores of discoveries.
import { describe, expect, it } from 'vitest';
import type { DiscoveryStore } from '../../../src/gateway/stores.ts';
import type { Discovery } from '../../../src/gateway/types.ts';
import { moment } from './examples.ts';

const hourMs = 3_600_000;

const exampleDiscovery = (index: number, change: Partial<Discovery> = {}): Discovery => ({
  id: `0195a1b2-c3d4-7e5f-8a9b-00000000000${index}`,
  at: new Date(moment(index)),
  provider: 'demo',
  trigger: 'schedule',
  outcome: 'completed',
  message: null,
  listed: 3,
  changes: [{ model: 'demo/one', change: 'added', detail: 'chat' }],
  ...change,
});

/** `make` returns an empty store. */
export function describeDiscoveryStoreContract(name: string, make: () => Promise<DiscoveryStore>): void {
  describe(`discoveries in ${name}`, () => {
    it('are listed newest first, by provider and in pages', async () => {
      const store = await make();
      const all = [1, 2, 3, 4].map((index) =>
        exampleDiscovery(index, index === 2 ? { provider: 'other', outcome: 'failed', message: 'no' } : {}),
      );
      for (const each of all) await store.add(each);
      expect(await store.list({ limit: 10 })).toEqual(all.toReversed());
      expect(await store.list({ provider: 'demo', limit: 2 })).toEqual([all[3], all[2]]);
      expect(await store.list({ provider: 'demo', after: all[2]?.id, limit: 2 })).toEqual([all[0]]);
    });

    it('are deleted by age, oldest first', async () => {
      const store = await make();
      const all = [1, 2, 3].map((index) => exampleDiscovery(index));
      for (const each of all) await store.add(each);
      expect(await store.purge(new Date(moment(3)), 1)).toBe(1);
      expect(await store.list({ limit: 10 })).toEqual([all[2], all[1]]);
      expect(await store.purge(new Date(moment(3)), 10)).toBe(1);
      expect(await store.list({ limit: 10 })).toEqual([all[2]]);
    });

    it('are due at once for a new provider, then once per interval', async () => {
      const store = await make();
      expect(await store.claim(['a', 'b'], moment(0), hourMs)).toEqual(['a', 'b']);
      expect(await store.claim(['a', 'b', 'c'], moment(hourMs - 1), hourMs)).toEqual(['c']);
      expect(await store.claim(['a', 'b', 'c'], moment(hourMs), hourMs)).toEqual(['a', 'b']);
      expect(await store.claim([], moment(9 * hourMs), hourMs)).toEqual([]);
    });

    it('are claimed by one of several simultaneous processes', async () => {
      const store = await make();
      for (const round of [0, 1, 2]) {
        const claims = Array.from({ length: 10 }, () =>
          store.claim(['a', 'b'], moment(round * hourMs), hourMs),
        );
        expect((await Promise.all(claims)).flat().sort()).toEqual(['a', 'b']);
      }
    });
  });
}
