// The copy stays correct when changes arrive during a read.
import { VirtualClock } from '../../test/support/core/virtual-clock.ts';
import { expect, it } from 'vitest';
import { seededRandom } from '../core/index.ts';
import { Mirror, Reload } from './store-sync.ts';

function setUp() {
  const clock = new VirtualClock(0);
  const store = { rows: ['a'], isAway: false };
  const shown: string[] = [];
  const mirror = new Mirror<string>(
    { clock, random: seededRandom(7) },
    {
      list: async () => {
        const found = [...store.rows];
        await clock.sleep(10);
        if (store.isAway) throw new Error('away');
        return found;
      },
      show: (rows) => void shown.push(rows.join('')),
      onFailure: () => undefined,
    },
  );
  return { clock, store, mirror, shown };
}

it('shows the rows that were read, and again after a change notification', async () => {
  const { clock, store, mirror, shown } = setUp();
  await clock.run(mirror.start());
  store.rows.push('b');
  expect(mirror.rows).toEqual(['a']);
  await clock.run(mirror.refresh());
  expect(mirror.rows).toEqual(['a', 'b']);
  expect(shown).toEqual(['a', 'ab']);
});

it('does not lose what was written while an older state was being read', async () => {
  const { clock, store, mirror, shown } = setUp();
  await clock.run(mirror.start());
  const read = mirror.refresh();
  await clock.advance(5);
  store.rows.push('b');
  mirror.edit((rows) => [...rows, 'b']);
  expect(mirror.rows).toEqual(['a', 'b']);
  expect(await clock.run(read)).toBe(true);
  expect(shown).not.toContain('b');
  expect(shown.slice(1)).toEqual(shown.slice(1).map(() => 'ab'));
});

it('reads again after a write: another process may have undone it in the meantime', async () => {
  const { clock, mirror } = setUp();
  await clock.run(mirror.start());
  mirror.edit((rows) => [...rows, 'gone already']);
  expect(mirror.rows).toContain('gone already');
  await clock.advance(30);
  expect(mirror.rows).toEqual(['a']);
});

it('continues with the rows in memory while the store is down', async () => {
  const { clock, store, mirror } = setUp();
  await clock.run(mirror.start());
  store.isAway = true;
  expect(await clock.run(mirror.refresh())).toBe(false);
  expect(mirror.rows).toEqual(['a']);
  store.isAway = false;
  store.rows = ['c'];
  await clock.advance(20_000);
  expect(mirror.rows).toEqual(['c']);
});

// One load at a time, and always one that began after the request.

const setUpReload = (load: () => Promise<void>, clock = new VirtualClock(0)) => {
  const failures: unknown[] = [];
  const onFailure = (error: unknown): void => void failures.push(error);
  return { clock, failures, reload: new Reload({ clock, random: seededRandom(7) }, { load, onFailure }) };
};

it('loads again after a request during a load, once for many requests', async () => {
  let [stored, seen, loads] = [1, 0, 0];
  const clock = new VirtualClock(0);
  const { reload } = setUpReload(async () => {
    loads += 1;
    const found = stored;
    await clock.sleep(10);
    seen = found;
  }, clock);
  const first = reload.refresh();
  await clock.advance(5);
  stored = 2;
  const requests = [reload.refresh(), reload.refresh()];
  await clock.advance(30);
  expect(await Promise.all([first, ...requests])).toEqual([true, true, true]);
  expect([seen, loads]).toEqual([2, 2]);
});

it('retries by itself until it succeeds', async () => {
  let isAway = true;
  const { clock, failures, reload } = setUpReload(async () => {
    if (isAway) throw new Error('away');
  });
  await expect(reload.start()).rejects.toThrow('away');
  await clock.advance(60_000);
  const failed = failures.length;
  expect(failed).toBeGreaterThan(5);
  isAway = false;
  await clock.advance(60_000);
  expect(failures).toHaveLength(failed);
  expect(clock.pending).toBe(0);
});

it('makes no call once it is closed', async () => {
  const { clock, failures, reload } = setUpReload(async () => {
    throw new Error('away');
  });
  await reload.refresh();
  await reload.close();
  await clock.advance(60_000);
  expect(failures).toHaveLength(1);
  expect(await reload.refresh()).toBe(false);
});
