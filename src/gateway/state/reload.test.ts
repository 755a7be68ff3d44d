// One load at a time, and always one that began after the wish.
import { expect, it } from 'vitest';
import { Reload } from './reload.ts';
import { away, stateWorld } from './state-world.contract.ts';

it('loads again after a wish that came while it loaded, once for many wishes', async () => {
  const { clock, parts } = stateWorld();
  let [stored, seen, loads] = [1, 0, 0];
  const reload = new Reload(parts, {
    what: 'read demo',
    load: async () => {
      loads += 1;
      const found = stored;
      await clock.sleep(10);
      seen = found;
    },
  });
  const first = reload.refresh();
  await clock.advance(5);
  stored = 2;
  const wishes = [reload.refresh(), reload.refresh()];
  await clock.advance(30);
  expect(await Promise.all([first, ...wishes])).toEqual([true, true, true]);
  expect([seen, loads]).toEqual([2, 2]);
});

it('tries again by itself until it works', async () => {
  const { clock, parts, named } = stateWorld();
  let isAway = true;
  const reload = new Reload(parts, {
    what: 'read demo',
    load: async () => {
      if (isAway) throw away();
    },
  });
  await expect(reload.start()).rejects.toMatchObject({ code: 'STATE_UNAVAILABLE' });
  await clock.advance(60_000);
  const failed = named('gateway:store-failed').length;
  expect(failed).toBeGreaterThan(5);
  isAway = false;
  await clock.advance(60_000);
  expect(named('gateway:store-failed')).toHaveLength(failed);
  expect(clock.pending).toBe(0);
});
