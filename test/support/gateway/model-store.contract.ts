// Contract of model stores.
import { describe, expect, it } from 'vitest';
import type { ModelStore } from '../../../src/gateway/stores.ts';
import { exampleModel } from './examples.ts';

const noEffects = { definitions: [], facts: [], states: [] } as const;

/** `make` returns an empty store. */
export function describeModelStoreContract(name: string, make: () => Promise<ModelStore>): void {
  describe(`models in ${name}`, () => {
    it('are returned as added, active, with an id', async () => {
      const store = await make();
      const quiet = exampleModel('b/quiet', { envVar: null, quotas: {}, headers: {}, isLocal: true });
      const first = await store.add(exampleModel('a/loud'));
      await store.add(quiet);
      expect(first).toEqual({
        ...exampleModel('a/loud'),
        id: expect.any(Number),
        isActive: true,
        origin: 'custom',
        createdAt: expect.any(Date),
        missedLists: 0,
        retiredAt: null,
      });
      const models = await store.list();
      expect(models).toMatchObject([first, { ...quiet, isActive: true }]);
      expect(models[1]?.id).toBeGreaterThan(first.id);
    });

    it('need a unique name', async () => {
      const store = await make();
      await store.sync([exampleModel('a/one')], 'built-in');
      await expect(store.add(exampleModel('a/one'))).rejects.toMatchObject({ code: 'GATEWAY_MODEL_EXISTS' });
      expect(await store.list()).toHaveLength(1);
    });

    it('are synced by name, keeping id, is_active and other models', async () => {
      const store = await make();
      await store.sync([exampleModel('a/one'), exampleModel('a/two')], 'built-in');
      const [one, two] = await store.list();
      await store.setActive(one?.id ?? 0, false);
      const changed = exampleModel('a/one', { baseUrl: 'https://new.example/v1', quotas: {}, envVar: null });
      await store.sync([changed], 'config');
      expect(await store.list()).toEqual([{ ...one, ...changed, isActive: false, origin: 'config' }, two]);
    });

    it('get ids in the order of their names', async () => {
      const store = await make();
      await store.sync(
        ['b/two', 'a/one', 'c/three'].map((name) => exampleModel(name)),
        'built-in',
      );
      const models = await store.list();
      expect(models.map(({ name }) => name)).toEqual(['a/one', 'b/two', 'c/three']);
    });

    it('consume no id when nothing is new', async () => {
      const store = await make();
      for (let start = 0; start < 3; start += 1) await store.sync([exampleModel('a/one')], 'built-in');
      const [one] = await store.list();
      expect((await store.add(exampleModel('a/two'))).id).toBe((one?.id ?? 0) + 1);
    });

    it('that were added are not overwritten by built-in ones, but by configured ones', async () => {
      const store = await make();
      const own = await store.add(exampleModel('a/one', { baseUrl: 'https://own.example/v1' }));
      await store.sync([exampleModel('a/one')], 'built-in');
      expect(await store.list()).toEqual([own]);
      await store.sync([exampleModel('a/one')], 'config');
      expect(await store.list()).toEqual([{ ...own, ...exampleModel('a/one'), origin: 'config' }]);
    });

    it('are created once when several processes start together', async () => {
      const store = await make();
      const models = ['a/1', 'a/2', 'a/3'].map((each) => exampleModel(each));
      await Promise.all([
        store.sync(models, 'built-in'),
        store.sync(models.toReversed(), 'built-in'),
        store.sync(models, 'built-in'),
      ]);
      expect((await store.list()).map((model) => model.name).sort()).toEqual(['a/1', 'a/2', 'a/3']);
    });

    it('can be replaced only if they were added', async () => {
      const store = await make();
      const own = await store.add(exampleModel('a/own'));
      await store.setActive(own.id, false);
      await store.sync([exampleModel('a/built-in')], 'built-in');
      const other = exampleModel('a/own', { baseUrl: 'https://new.example/v1', quotas: {}, envVar: null });
      expect(await store.replace(own.id, other)).toEqual({ ...own, ...other, isActive: false });
      const [, builtIn] = await store.list();
      expect(
        await store.replace(builtIn?.id ?? 0, exampleModel('a/built-in', { quotas: {} })),
      ).toBeUndefined();
      expect(await store.replace(own.id + 99, other)).toBeUndefined();
      expect(await store.list()).toEqual([{ ...own, ...other, isActive: false }, builtIn]);
    });

    it('can be removed if they were added, which frees the name and keeps it for history', async () => {
      const store = await make();
      const own = await store.add(exampleModel('a/own'));
      await store.sync([exampleModel('a/built-in')], 'built-in');
      const [, builtIn] = await store.list();
      expect(await store.remove(builtIn?.id ?? 0)).toBe(false);
      expect(await store.remove(own.id)).toBe(true);
      expect(await store.remove(own.id)).toBe(false);
      expect(await store.setActive(own.id, false)).toBeUndefined();
      expect(await store.replace(own.id, exampleModel('a/own'))).toBeUndefined();
      expect(await store.list()).toEqual([builtIn]);
      const again = await store.add(exampleModel('a/own', { provider: 'another' }));
      expect(again.id).not.toBe(own.id);
      expect(await store.names()).toEqual(
        new Map([
          [own.id, 'a/own'],
          [builtIn?.id, 'a/built-in'],
          [again.id, 'a/own'],
        ]),
      );
      await store.remove(again.id);
      await store.sync([exampleModel('a/own')], 'built-in');
      expect((await store.list()).map(({ name, origin }) => [name, origin])).toEqual([
        ['a/built-in', 'built-in'],
        ['a/own', 'built-in'],
      ]);
    });

    it('can be enabled and disabled', async () => {
      const store = await make();
      const { id } = await store.add(exampleModel('a/one'));
      expect(await store.setActive(id, false)).toMatchObject({ id, isActive: false });
      expect(await store.list()).toMatchObject([{ id, isActive: false }]);
      expect(await store.setActive(id + 1, false)).toBeUndefined();
    });

    it('are added from a list, unless the name belongs to a model of another origin', async () => {
      const store = await make();
      await store.sync([exampleModel('a/built-in')], 'built-in');
      await store.sync([exampleModel('a/config')], 'config');
      const own = await store.add(exampleModel('a/own'));
      const before = await store.list();
      const listed = ['a/built-in', 'a/config', 'a/own', 'a/new'].map((name) =>
        exampleModel(name, { price: null }),
      );
      await store.applyList({ ...noEffects, definitions: listed }, []);
      const models = await store.list();
      expect(models.slice(0, 3)).toEqual(before);
      expect(models[3]).toMatchObject({ name: 'a/new', origin: 'discovered', isActive: true });
      await store.applyList({ ...noEffects, definitions: listed }, ['a/built-in', 'a/config', 'a/own']);
      expect((await store.list()).map(({ name, origin }) => [name, origin])).toEqual([
        ['a/built-in', 'discovered'],
        ['a/config', 'discovered'],
        ['a/own', 'custom'],
        ['a/new', 'discovered'],
      ]);
      expect(await store.replace(models[3]?.id ?? 0, exampleModel('a/new'))).toBeUndefined();
      expect(await store.remove(own.id)).toBe(true);
    });

    it('are inactive while they are retired, and keep whether they are enabled', async () => {
      const store = await make();
      await store.sync([exampleModel('a/one'), exampleModel('a/two')], 'built-in');
      const [one, two] = await store.list();
      await store.setActive(two?.id ?? 0, false);
      const states = (isRetired: boolean) => ({
        ...noEffects,
        states: [one, two].map((each) => ({ id: each?.id ?? 0, missedLists: isRetired ? 2 : 0, isRetired })),
      });
      await store.applyList(states(true), []);
      const retired = await store.list();
      expect(retired).toMatchObject([
        { isActive: false, missedLists: 2, retiredAt: expect.any(Date) },
        { isActive: false, retiredAt: expect.any(Date) },
      ]);
      // A new start of a server does not bring them back, nor does a second list move the time.
      await store.sync([exampleModel('a/one', { quotas: {} }), exampleModel('a/two')], 'built-in');
      await store.applyList(states(true), []);
      expect((await store.list()).map(({ retiredAt }) => retiredAt)).toEqual(
        retired.map(({ retiredAt }) => retiredAt),
      );
      await store.applyList(states(false), []);
      expect(await store.list()).toMatchObject([
        { isActive: true, missedLists: 0, retiredAt: null },
        { isActive: false, retiredAt: null },
      ]);
    });

    it('are no longer retired when they are enabled or configured', async () => {
      const store = await make();
      await store.sync([exampleModel('a/one'), exampleModel('a/two')], 'built-in');
      const ids = (await store.list()).map(({ id }) => id);
      const states = ids.map((id) => ({ id, missedLists: 2, isRetired: true }));
      await store.applyList({ ...noEffects, states }, []);
      expect(await store.setActive(ids[0] ?? 0, false)).toMatchObject({ retiredAt: expect.any(Date) });
      expect(await store.setActive(ids[0] ?? 0, true)).toMatchObject({ isActive: true, retiredAt: null });
      await store.sync([exampleModel('a/two')], 'config');
      expect(await store.list()).toMatchObject([
        { isActive: true, missedLists: 0 },
        { isActive: true, origin: 'config', missedLists: 0, retiredAt: null },
      ]);
      await store.applyList({ ...noEffects, states }, []);
      expect(await store.list()).toMatchObject([{ isActive: false }, { isActive: true }]);
    });

    it('take sizes and price from a list if they are built in, also after the next start', async () => {
      const store = await make();
      await store.sync([exampleModel('a/one'), exampleModel('a/two')], 'built-in');
      const [one, two] = await store.list();
      const price = { inputPerMillion: 9, outputPerMillion: 10 };
      const facts = { capabilities: { contextTokens: 4_096 }, price };
      await store.applyList({ ...noEffects, facts: [{ id: one?.id ?? 0, facts }] }, []);
      const expected = {
        ...one,
        price,
        capabilities: { ...one?.capabilities, contextTokens: 4_096 },
      };
      expect(await store.list()).toEqual([expected, two]);
      await store.sync([exampleModel('a/one'), exampleModel('a/two')], 'built-in');
      expect(await store.list()).toEqual([expected, two]);
      await store.sync([exampleModel('a/one')], 'config');
      expect(await store.list()).toEqual([{ ...one, origin: 'config' }, two]);
    });
  });
}
