// Cooldowns in memory and store, also during store outages.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CooldownStore } from '../stores.ts';
import { allKeys } from '../types.ts';
import { Cooldowns } from './availability.ts';
import { exampleCooldown, exampleModel, moment } from '../../../test/support/gateway/examples.ts';
import { stateWorld } from '../../../test/support/gateway/state-world.ts';

async function setUp() {
  const world = stateWorld();
  const model = await world.memory.models.add(exampleModel('a/one'));
  const local = await world.memory.models.add(exampleModel('a/local', { isLocal: true }));
  const models = { byId: (id: number) => [model, local].find((each) => each.id === id) };
  const cooldowns = () => new Cooldowns({ ...world.parts, store: world.stores.cooldowns, models });
  const one = cooldowns();
  await one.reload.start();
  return { ...world, model, local, cooldowns, one };
}

describe('Cooldowns', () => {
  it('blocks the key from the moment it is set until it expires', async () => {
    const { one, clock } = await setUp();
    one.extend(exampleCooldown({ until: moment(1_000) }));
    expect(one.of(1, 'k1')).toMatchObject({ until: moment(1_000), source: 'retry-after' });
    expect(one.of(1, 'k2')).toBeUndefined();
    expect(one.of(2, 'k1')).toBeUndefined();
    await clock.advance(999);
    expect(one.of(1, 'k1')).toBeDefined();
    expect(one.ofModel(1)).toHaveLength(1);
    await clock.advance(1);
    expect(one.of(1, 'k1')).toBeUndefined();
    expect(one.ofModel(1)).toEqual([]);
  });

  it('returns the longer one of the key and the whole model', async () => {
    const { one } = await setUp();
    one.extend(exampleCooldown({ until: moment(1_000) }));
    one.extend(exampleCooldown({ keyId: allKeys, until: moment(500), cause: 'manual' }));
    expect(one.of(1, 'k1')?.until).toBe(moment(1_000));
    expect(one.of(1, 'k2')?.until).toBe(moment(500));
    one.extend(exampleCooldown({ keyId: allKeys, until: moment(2_000) }));
    expect(one.of(1, 'k1')?.until).toBe(moment(2_000));
  });

  it('is never shortened by a shorter hint, and emits events for changes only', async () => {
    const { one, named, memory, clock } = await setUp();
    one.extend(exampleCooldown({ until: moment(3_600_000), source: 'default' }));
    one.extend(exampleCooldown({ until: moment(60_000), source: 'retry-after', setAt: moment(1) }));
    expect(one.of(1, 'k1')).toMatchObject({ until: moment(3_600_000), source: 'default' });
    await clock.advance(0);
    expect((await memory.cooldowns.active(moment(0))).cooldowns).toHaveLength(1);
    expect(named('gateway:availability-updated')).toEqual([
      { model: 'a/one', availableAt: '2026-03-01T13:00:00.000Z', cause: 'rate-limit', source: 'default' },
    ]);
  });

  it('ends at the latest of all, in whatever order they are set', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 1_000_000 }), { minLength: 1 }), async (ends) => {
        const { one } = await setUp();
        for (const end of ends) one.extend(exampleCooldown({ until: moment(end) }));
        expect(one.of(1, 'k1')?.until).toBe(moment(Math.max(...ends)));
      }),
    );
  });

  it('is followed by one trial in every process, until a call shows that its cause is gone', async () => {
    const { one, cooldowns, clock } = await setUp();
    const other = cooldowns();
    await other.reload.start();
    await one.extendDurably(exampleCooldown({ until: moment(1_000) }));
    await other.reload.refresh();
    await clock.advance(1_000);
    await other.reload.refresh();
    for (const { trials } of [one, other]) {
      expect([trials.isDue(1, 'k1'), trials.isDue(1, 'k2'), trials.isRunning(1, 'k1')]).toEqual([
        true,
        false,
        false,
      ]);
      const end = trials.begin(1, 'k1');
      expect(trials.isRunning(1, 'k1')).toBe(true);
      end();
      trials.settle(1, 'k1', 'rate-limit');
      expect([trials.isDue(1, 'k1'), trials.isRunning(1, 'k1')]).toEqual([true, false]);
      trials.settle(1, 'k1', 'success');
      expect(trials.isDue(1, 'k1')).toBe(false);
    }
  });

  it('needs no trial after an operator has cleared it', async () => {
    const { one, clock } = await setUp();
    await one.extendDurably(exampleCooldown({ until: moment(1_000) }));
    await clock.advance(1_000);
    await one.clear(1);
    expect(one.trials.isDue(1, 'k1')).toBe(false);
  });

  it('is written at once and restored after a restart', async () => {
    const { one, cooldowns } = await setUp();
    await one.extendDurably(exampleCooldown({ reason: 'because' }));
    const restarted = cooldowns();
    await restarted.reload.start();
    expect(restarted.of(1, 'k1')).toEqual(exampleCooldown({ reason: 'because' }));
  });

  it('is not set on local models, except manually', async () => {
    const { one, local } = await setUp();
    one.extend(exampleCooldown({ modelId: local.id }));
    expect(one.of(local.id, 'k1')).toBeUndefined();
    await one.extendDurably(exampleCooldown({ modelId: local.id, cause: 'manual' }));
    expect(one.of(local.id, 'k1')).toBeDefined();
  });

  it('ignores a cooldown without an end and clamps one that no store can hold', async () => {
    const { one, memory } = await setUp();
    await one.extendDurably(exampleCooldown({ until: Number.POSITIVE_INFINITY }));
    await one.extendDurably(exampleCooldown({ until: Number.NaN }));
    expect(one.of(1, 'k1')).toBeUndefined();
    await one.extendDurably(exampleCooldown({ until: 8e15 }));
    const [kept] = (await memory.cooldowns.active(moment(0))).cooldowns;
    expect(new Date(kept?.until ?? 0).getUTCFullYear()).toBe(9999);
  });

  it('is cleared for all keys with an event; a later one counts, even within the same millisecond', async () => {
    const { one, named, memory } = await setUp();
    await one.extendDurably(exampleCooldown());
    await one.extendDurably(exampleCooldown({ keyId: 'k2' }));
    await one.clear(1);
    expect(one.ofModel(1)).toEqual([]);
    expect(named('gateway:availability-updated').at(-1)).toMatchObject({
      availableAt: null,
      cause: 'manual',
    });
    await one.extendDurably(exampleCooldown({ until: moment(10) }));
    expect(one.of(1, 'k1')?.until).toBe(moment(10));
    expect((await memory.cooldowns.active(moment(0))).cooldowns).toHaveLength(1);
  });

  it('does not let an older cooldown of another process undo a clear', async () => {
    const { one, cooldowns, clock } = await setUp();
    const other = cooldowns();
    await other.reload.start();
    await clock.advance(10);
    await one.clear(1);
    // Set before the clear, received after it.
    await other.extendDurably(exampleCooldown({ setAt: moment(5) }));
    await one.reload.refresh();
    await other.reload.refresh();
    expect([one.of(1, 'k1'), other.of(1, 'k1')]).toEqual([undefined, undefined]);
  });

  it('continues from memory while the store is unavailable, reports it, and catches up', async () => {
    const { one, goAway, comeBack, named, memory, clock } = await setUp();
    goAway();
    one.extend(exampleCooldown());
    const durable = one.extendDurably(exampleCooldown({ keyId: 'k2' }));
    await expect(durable).rejects.toMatchObject({ code: 'STATE_UNAVAILABLE', isRetryable: true });
    await clock.advance(1_000);
    expect(one.of(1, 'k1')).toBeDefined();
    expect(named('gateway:store-failed')[0]).toMatchObject({ what: 'cooldowns', cause: 'STATE_UNAVAILABLE' });
    comeBack();
    one.retryNow();
    await clock.advance(0);
    expect((await memory.cooldowns.active(moment(0))).cooldowns).toHaveLength(2);
  });

  it('is set and cleared at once, and fails within a second when the store never responds', async () => {
    const { parts, memory, clock } = stateWorld();
    let thaw: () => void = () => undefined;
    let frozen: Promise<void> | undefined = new Promise((resolve) => (thaw = resolve));
    const store: CooldownStore = {
      extend: async (cooldown) => {
        await frozen;
        return memory.cooldowns.extend(cooldown);
      },
      clear: async (modelId, at) => {
        await frozen;
        return memory.cooldowns.clear(modelId, at);
      },
      active: (now) => memory.cooldowns.active(now),
    };
    const one = new Cooldowns({ ...parts, store, models: { byId: () => undefined } });
    const duration = async (work: Promise<void>) => {
      const startedAt = clock.monotonic();
      await expect(clock.run(work)).rejects.toMatchObject({
        code: 'STATE_UNAVAILABLE',
        isRetryable: true,
        message: expect.stringMatching(/^In effect in this process.*DEADLINE_EXCEEDED/) as string,
      });
      return clock.monotonic() - startedAt;
    };
    const setting = duration(one.extendDurably(exampleCooldown()));
    expect(one.of(1, 'k1')).toBeDefined();
    expect(await setting).toBe(1_000);
    const clearing = duration(one.clear(1));
    expect(one.ofModel(1)).toEqual([]);
    expect(await clearing).toBe(1_000);
    expect(await duration(one.extendDurably(exampleCooldown({ keyId: 'k2' })))).toBe(1_000);
    frozen = undefined;
    thaw();
    await clock.advance(0);
    expect((await memory.cooldowns.active(moment(0))).cooldowns).toMatchObject([{ keyId: 'k2' }]);
    expect(clock.pending).toBe(0);
  });

  it('is cleared while the store is unavailable, and waiting writes do not restore it', async () => {
    const { one, goAway, comeBack, memory, clock, cooldowns } = await setUp();
    await one.extendDurably(exampleCooldown({ keyId: 'stored' }));
    goAway();
    one.extend(exampleCooldown({ keyId: 'waiting' }));
    await expect(one.clear(1)).rejects.toThrow('In effect in this process');
    expect(one.ofModel(1)).toEqual([]);
    comeBack();
    await clock.advance(10_000);
    expect((await memory.cooldowns.active(moment(0))).cooldowns).toEqual([]);
    const restarted = cooldowns();
    await restarted.reload.start();
    expect(restarted.ofModel(1)).toEqual([]);
  });

  it('is kept when it was set after a clear while the store was unavailable', async () => {
    const { one, goAway, comeBack, memory, clock } = await setUp();
    goAway();
    one.extend(exampleCooldown());
    await expect(one.clear(1)).rejects.toThrow('In effect in this process');
    one.extend(exampleCooldown({ until: moment(3_600_000), setAt: moment(1) }));
    comeBack();
    await clock.advance(10_000);
    expect((await memory.cooldowns.active(moment(0))).cooldowns).toMatchObject([
      { keyId: 'k1', until: moment(3_600_000) },
    ]);
    await one.reload.refresh();
    expect(one.of(1, 'k1')?.until).toBe(moment(3_600_000));
  });

  it('is dropped when the store rejects it for good, without blocking others', async () => {
    const { parts, memory, clock } = stateWorld();
    const store: CooldownStore = {
      extend: async (cooldown) => {
        if (cooldown.keyId === 'bad') throw Object.assign(new Error('nul'), { code: '22021' });
        return memory.cooldowns.extend(cooldown);
      },
      clear: (modelId, at) => memory.cooldowns.clear(modelId, at),
      active: (now) => memory.cooldowns.active(now),
    };
    const one = new Cooldowns({ ...parts, store, models: { byId: () => undefined } });
    one.extend(exampleCooldown({ keyId: 'bad' }));
    one.extend(exampleCooldown({ keyId: 'good' }));
    await clock.advance(1_000);
    expect((await memory.cooldowns.active(moment(0))).cooldowns).toMatchObject([{ keyId: 'good' }]);
    expect(one.of(1, 'bad')).toBeDefined();
  });

  it('that a faster clock elsewhere dated into the future is cleared', async () => {
    const { one, memory, goAway } = await setUp();
    await memory.cooldowns.extend(exampleCooldown({ setAt: moment(5_000), until: moment(60_000) }));
    await one.reload.refresh();
    expect(one.of(1, 'k1')).toBeDefined();
    goAway();
    await expect(one.clear(1)).rejects.toThrow('In effect in this process');
    expect(one.of(1, 'k1')).toBeUndefined();
  });

  it('is extended and cleared in the store, too, while an extension is being written', async () => {
    const { parts, memory, clock } = stateWorld();
    const store: CooldownStore = {
      extend: async (cooldown) => {
        await clock.sleep(100);
        await memory.cooldowns.extend(cooldown);
      },
      clear: (modelId, at) => memory.cooldowns.clear(modelId, at),
      active: (now) => memory.cooldowns.active(now),
    };
    const one = new Cooldowns({ ...parts, store, models: { byId: () => undefined } });
    one.extend(exampleCooldown());
    await clock.advance(50);
    one.extend(exampleCooldown({ until: moment(3_600_000) }));
    await clock.advance(1_000);
    expect((await memory.cooldowns.active(clock.now())).cooldowns).toMatchObject([
      { until: moment(3_600_000) },
    ]);
    one.extend(exampleCooldown({ keyId: 'k3', setAt: clock.now() }));
    await clock.advance(50);
    const clearing = one.clear(1);
    one.extend(exampleCooldown({ keyId: 'k2', setAt: clock.now() }));
    await clock.run(clearing);
    await clock.advance(1_000);
    expect((await memory.cooldowns.active(clock.now())).cooldowns).toMatchObject([{ keyId: 'k2' }]);
  });

  it('fails for the operator when the store rejects it for good', async () => {
    const { parts, memory, clock } = stateWorld();
    const store: CooldownStore = {
      extend: () => Promise.reject(Object.assign(new Error('nul'), { code: '22021' })),
      clear: (modelId, at) => memory.cooldowns.clear(modelId, at),
      active: (now) => memory.cooldowns.active(now),
    };
    const one = new Cooldowns({ ...parts, store, models: { byId: () => undefined } });
    await expect(clock.run(one.extendDurably(exampleCooldown()))).rejects.toMatchObject({
      code: 'STATE_UNAVAILABLE',
      message: expect.stringContaining('22021') as string,
    });
    await clock.run(one.clear(1));
    expect(clock.pending).toBe(0);
  });
});
