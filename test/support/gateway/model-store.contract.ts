// Contract of model stores.
import { describe, expect, it } from 'vitest';
import type { ModelStore } from '../../../src/gateway/stores.ts';
import { exampleModel } from './examples.ts';

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
  });
}
