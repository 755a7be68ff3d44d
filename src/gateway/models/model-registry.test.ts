// Models in memory, in sync with the store.
import { describe, expect, it } from 'vitest';
import type { ModelStore } from '../stores.ts';
import { exampleModel, modelNamed } from '../../../test/support/gateway/examples.ts';
import { stateWorld } from '../../../test/support/gateway/state-world.ts';

describe('ModelRegistry', () => {
  it('contains built-in and configured models, with the configuration file taking precedence', async () => {
    const { open } = stateWorld();
    const mine = exampleModel('a/one', { baseUrl: 'https://mine.example/v1' });
    const { models } = await open({
      builtIn: [exampleModel('a/one'), exampleModel('a/two')],
      configured: [mine],
    });
    expect(modelNamed(models, 'a/one')).toMatchObject({ ...mine, origin: 'config' });
    expect(modelNamed(models, 'a/two')).toMatchObject({ origin: 'built-in' });
    expect(models.list().map(({ id }) => models.byId(id)?.id)).toEqual(models.list().map(({ id }) => id));
    expect(modelNamed(models, 'a/three')).toBeUndefined();
  });

  it('drops models that are no longer defined and restores their id when they return', async () => {
    const { open } = stateWorld();
    const one = exampleModel('a/one');
    const first = await open({ configured: [one] });
    const id = modelNamed(first.models, 'a/one')?.id;
    expect((await open()).models.list()).toEqual([]);
    expect(modelNamed((await open({ builtIn: [one] })).models, 'a/one')).toMatchObject({
      id,
      origin: 'built-in',
    });
  });

  it('returns the same array and objects until something changes', async () => {
    const world = stateWorld();
    const options = { builtIn: [exampleModel('a/one'), exampleModel('a/two')] };
    const [one, two] = [await world.open(options), await world.open(options)];
    const before = one.models.list();
    await one.refresh();
    expect(one.models.list()).toBe(before);
    const id = before[0]?.id ?? 0;
    expect(await two.models.setActive(id, false)).toMatchObject({ isActive: false });
    await world.clock.advance(0);
    expect(one.models.list()).not.toBe(before);
    expect(one.models.byId(id)?.isActive).toBe(false);
    expect(one.models.list()[1]).toBe(before[1]);
  });

  it('adds a model for all processes, once', async () => {
    const world = stateWorld();
    const [one, two] = [await world.open(), await world.open()];
    const added = await one.models.add(exampleModel('a/new'));
    expect(modelNamed(one.models, 'a/new')).toEqual(added);
    await world.clock.advance(0);
    expect(modelNamed(two.models, 'a/new')).toEqual(added);
    await expect(two.models.add(exampleModel('a/new'))).rejects.toMatchObject({
      code: 'GATEWAY_MODEL_EXISTS',
    });
    await expect(one.models.setActive(99, true)).rejects.toMatchObject({ code: 'GATEWAY_MODEL_NOT_FOUND' });
  });

  it('fails within seconds when the store does not respond, and shows the change if it was made after all', async () => {
    const world = stateWorld();
    let thaw: () => void = () => undefined;
    let frozen: Promise<void> | undefined;
    const models = new Proxy(world.stores.models, {
      get:
        (store, name: keyof ModelStore) =>
        async (...given: never[]) => {
          await frozen;
          return Reflect.apply(store[name], store, given) as unknown;
        },
    });
    const state = await world.open({ stores: { ...world.stores, models } });
    const { id } = await state.models.add(exampleModel('a/one'));
    frozen = new Promise((resolve) => (thaw = resolve));
    const startedAt = world.clock.monotonic();
    const changes = Promise.allSettled([
      state.models.add(exampleModel('a/two')),
      state.models.replace(id, exampleModel('a/one', { upstreamModel: 'x' })),
      state.models.setActive(id, false),
      state.models.names(),
    ]);
    for (const change of await world.clock.run(changes))
      expect(change).toMatchObject({
        status: 'rejected',
        reason: { code: 'STATE_UNAVAILABLE', isRetryable: true },
      });
    expect(world.clock.monotonic() - startedAt).toBe(3_000);
    expect(state.models.list().map(({ name }) => name)).toEqual(['a/one']);
    thaw();
    await world.clock.advance(0);
    expect(modelNamed(state.models, 'a/two')).toBeDefined();
    expect(state.models.byId(id)).toMatchObject({ upstreamModel: 'x', isActive: false });
  });

  it('replaces and removes an added model for all processes and keeps its name for history', async () => {
    const world = stateWorld();
    const options = { builtIn: [exampleModel('a/built-in')] };
    const [one, two] = [await world.open(options), await world.open(options)];
    const { id } = await one.models.add(exampleModel('a/new'));
    await one.models.replace(id, exampleModel('a/new', { baseUrl: 'https://moved.example/v1' }));
    await world.clock.advance(0);
    for (const state of [one, two]) expect(state.models.byId(id)?.baseUrl).toBe('https://moved.example/v1');
    await one.models.remove(id);
    expect(one.models.byId(id)).toBeUndefined();
    await world.clock.advance(0);
    expect(modelNamed(two.models, 'a/new')).toBeUndefined();
    expect((await two.models.names()).get(id)).toBe('a/new');
    const builtIn = modelNamed(one.models, 'a/built-in');
    for (const gone of [id, builtIn?.id ?? 0])
      for (const change of [one.models.remove(gone), one.models.replace(gone, exampleModel('a/new'))])
        await expect(change).rejects.toMatchObject({ code: 'GATEWAY_MODEL_NOT_FOUND' });
    expect(one.models.list()).toEqual([builtIn]);
  });
});
