// Contract of usage stores.
import { describe, expect, it } from 'vitest';
import type { UsageStore } from '../../../src/gateway/stores.ts';
import { exampleUsage } from './examples.ts';

/** `make` returns an empty store with models of these ids. */
export function describeUsageStoreContract(
  name: string,
  make: () => Promise<{ readonly store: UsageStore; readonly modelIds: readonly [number, number] }>,
): void {
  describe(`usage in ${name}`, () => {
    it('is added to stored rows, also within one call', async () => {
      const { store, modelIds } = await make();
      const [one, two] = modelIds;
      const line = exampleUsage({ modelId: one });
      await store.add([line, exampleUsage({ modelId: two }), { ...line, promptTokens: 3_000_000_000 }]);
      await store.add([line]);
      await store.add([]);
      expect(await store.list({ fromDay: '2026-03-01' })).toEqual([
        { ...line, requests: 3, promptTokens: 3_000_000_020, completionTokens: 15, unpricedRequests: 3 },
        exampleUsage({ modelId: two }),
      ]);
    });

    it('sums costs; what is unknown stays unknown until one is known', async () => {
      const { store, modelIds } = await make();
      const [modelId] = modelIds;
      const add = async (...costs: readonly (number | null)[]) => {
        await store.add(
          costs.map((costUsd) =>
            exampleUsage({ modelId, costUsd, unpricedRequests: costUsd === null ? 1 : 0 }),
          ),
        );
        const [row] = await store.list({ fromDay: '2026-03-01' });
        return [row?.costUsd, row?.unpricedRequests];
      };
      expect(await add(null, null)).toEqual([null, 2]);
      expect(await add(0.5, null)).toEqual([0.5, 3]);
      expect(await add(null)).toEqual([0.5, 4]);
      expect(await add(0.25, 0.25)).toEqual([1, 4]);
    });

    it('is added exactly under concurrent writes in any order', async () => {
      const { store, modelIds } = await make();
      const lines = modelIds.flatMap((modelId) =>
        ['a', 'b'].map((caller) => exampleUsage({ modelId, caller })),
      );
      await Promise.all(
        Array.from({ length: 20 }, (_, index) => store.add(index % 2 === 0 ? lines : lines.toReversed())),
      );
      expect((await store.list({ fromDay: '2026-03-01' })).map(({ requests }) => requests)).toEqual([
        20, 20, 20, 20,
      ]);
    });

    it('is listed from a day on, optionally of one caller', async () => {
      const { store, modelIds } = await make();
      const [modelId] = modelIds;
      const of = (day: string, caller: string) => exampleUsage({ modelId, day, caller });
      const lines = [
        of('2026-02-28', 'b'),
        of('2026-03-01', 'a'),
        of('2026-03-01', 'b'),
        of('2026-03-02', 'a'),
      ];
      await store.add(lines.toReversed());
      expect(await store.list({ fromDay: '2026-03-01' })).toEqual(lines.slice(1));
      expect(await store.list({ fromDay: '2026-02-01', caller: 'b' })).toEqual([lines[0], lines[2]]);
    });

    it('is purged by day, up to the limit', async () => {
      const { store, modelIds } = await make();
      const [modelId] = modelIds;
      await store.add(
        ['2026-01-01', '2026-01-02', '2026-01-03'].map((day) => exampleUsage({ modelId, day })),
      );
      expect(await store.purge('2026-01-01', 10)).toBe(0);
      expect(await store.purge('2026-01-03', 1)).toBe(1);
      expect(await store.purge('2026-01-03', 10)).toBe(1);
      expect(await store.list({ fromDay: '2025-01-01' })).toMatchObject([{ day: '2026-01-03' }]);
    });
  });
}
