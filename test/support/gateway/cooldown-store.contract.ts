// Contract of cooldown stores.
import { array, assert, asyncProperty, integer, record } from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CooldownStore } from '../../../src/gateway/stores.ts';
import { exampleCooldown, moment } from './examples.ts';

/** `make` returns an empty store with models of these ids. */
export function describeCooldownStoreContract(
  name: string,
  make: () => Promise<{ readonly store: CooldownStore; readonly modelIds: readonly [number, number] }>,
): void {
  describe(`cooldowns in ${name}`, () => {
    it('are returned as they were set until they expire', async () => {
      const { store, modelIds } = await make();
      const [one, two] = modelIds;
      const mine = exampleCooldown({ modelId: one, reason: 'too "loud"', cause: 'manual', source: 'admin' });
      const other = exampleCooldown({ modelId: two, keyId: '*', until: moment(10) });
      await store.extend(mine);
      await store.extend(other);
      expect(await store.active(moment(9))).toEqual({ cooldowns: [mine, other], clearedAt: new Map() });
      expect((await store.active(moment(10))).cooldowns).toEqual([mine]);
      expect((await store.active(moment(60_000))).cooldowns).toEqual([]);
    });

    it('are never shortened and keep the cause of the longer one', async () => {
      const { store, modelIds } = await make();
      const long = exampleCooldown({ modelId: modelIds[0], until: moment(3_600_000), source: 'default' });
      await store.extend(long);
      await store.extend({ ...long, until: moment(1_000), source: 'retry-after', setAt: moment(500) });
      expect((await store.active(moment(0))).cooldowns).toEqual([long]);
      const longer = { ...long, until: moment(3_600_001), source: 'body', setAt: moment(600) };
      await store.extend(longer);
      expect((await store.active(moment(0))).cooldowns).toEqual([longer]);
    });

    it('keep the longest of concurrent ones', async () => {
      const { store, modelIds } = await make();
      const times = Array.from({ length: 24 }, (_, index) => ((index * 7) % 24) + 1);
      await Promise.all(
        times.map((time) =>
          store.extend(
            exampleCooldown({ modelId: modelIds[0], until: moment(time * 1_000), source: `${time}` }),
          ),
        ),
      );
      expect((await store.active(moment(0))).cooldowns).toMatchObject([
        { until: moment(24_000), source: '24' },
      ]);
    });

    it('are cleared for one model, whatever clock set them', async () => {
      const { store, modelIds } = await make();
      const [one, two] = modelIds;
      const ahead = exampleCooldown({ modelId: one, keyId: 'fast clock', setAt: moment(5_000) });
      await store.extend(exampleCooldown({ modelId: one }));
      await store.extend(ahead);
      await store.extend(exampleCooldown({ modelId: two }));
      const clearedAt = await store.clear(one, moment(100));
      expect(clearedAt).toBeGreaterThanOrEqual(moment(5_000));
      const { cooldowns, clearedAt: cleared } = await store.active(moment(0));
      expect(cooldowns.map(({ modelId }) => modelId)).toEqual([two]);
      expect(cleared).toEqual(new Map([[one, clearedAt]]));
    });

    it('are not restored by a late older one, and accept a newer one even if it is shorter', async () => {
      const { store, modelIds } = await make();
      const [modelId] = modelIds;
      const old = exampleCooldown({ modelId, until: moment(3_600_000), setAt: moment(50) });
      await store.extend(old);
      await store.clear(modelId, moment(100));
      await store.extend({ ...old, until: moment(7_200_000) });
      expect((await store.active(moment(100))).cooldowns).toEqual([]);
      const fresh = exampleCooldown({ modelId, until: moment(1_000), setAt: moment(101) });
      await store.extend(fresh);
      await store.extend({ ...old, until: moment(9_000_000) });
      expect((await store.active(moment(101))).cooldowns).toEqual([fresh]);
    });

    it('are never cleared to an earlier time than before', async () => {
      const { store, modelIds } = await make();
      const [modelId] = modelIds;
      await store.clear(modelId, moment(100));
      expect(await store.clear(modelId, moment(50))).toBe(moment(100));
      expect((await store.active(moment(0))).clearedAt).toEqual(new Map([[modelId, moment(100)]]));
    });

    it('do not survive a clear that came after them, in any order of arrival', async () => {
      const { store, modelIds } = await make();
      const [modelId] = modelIds;
      for (let round = 0; round < 20; round += 1) {
        const start = moment(round * 1_000);
        const old = [1, 2, 3].map((ms) =>
          exampleCooldown({ modelId, keyId: `k${ms}`, setAt: start + ms, until: start + 3_600_000 }),
        );
        const writes = old.map((cooldown) => () => store.extend(cooldown));
        writes.splice(round % 4, 0, async () => void (await store.clear(modelId, start + 3)));
        await Promise.all(writes.map((write) => write()));
        expect((await store.active(start)).cooldowns).toEqual([]);
      }
    });

    it('end with the longest one set after the clear under concurrency', async () => {
      const { store, modelIds } = await make();
      const [modelId] = modelIds;
      const given = record({ setAt: integer({ min: 1, max: 20 }), until: integer({ min: 100, max: 120 }) });
      let start = moment(0);
      const check = async (cooldowns: readonly { setAt: number; until: number }[], clearedAt: number) => {
        start += 1_000;
        await store.clear(modelId, start + clearedAt);
        await Promise.all(
          cooldowns.map(({ setAt, until }) =>
            store.extend(exampleCooldown({ modelId, setAt: start + setAt, until: start + until })),
          ),
        );
        const longest = Math.max(
          ...cooldowns.filter(({ setAt }) => setAt > clearedAt).map(({ until }) => start + until),
        );
        const active = (await store.active(start)).cooldowns.map(({ until }) => until);
        expect(active).toEqual(longest > 0 ? [longest] : []);
      };
      await assert(
        asyncProperty(array(given, { minLength: 1, maxLength: 8 }), integer({ min: 0, max: 21 }), check),
        { numRuns: 25 },
      );
    });
  });
}
