// One load at a time, and always one that began after the wish.
import { expect, it } from 'vitest';
import { seededRandom, VirtualClock } from '../core/index.ts';
import { Reload } from './reload.ts';

const setUp = (load: () => Promise<void>, clock = new VirtualClock(0)) => {
  const failures: unknown[] = [];
  const onFailure = (error: unknown): void => void failures.push(error);
  return { clock, failures, reload: new Reload({ clock, random: seededRandom(7) }, { load, onFailure }) };
};

it('loads again after a wish that came while it loaded, once for many wishes', async () => {
  let [stored, seen, loads] = [1, 0, 0];
  const clock = new VirtualClock(0);
  const { reload } = setUp(async () => {
    loads += 1;
    const found = stored;
    await clock.sleep(10);
    seen = found;
  }, clock);
  const first = reload.refresh();
  await clock.advance(5);
  stored = 2;
  const wishes = [reload.refresh(), reload.refresh()];
  await clock.advance(30);
  expect(await Promise.all([first, ...wishes])).toEqual([true, true, true]);
  expect([seen, loads]).toEqual([2, 2]);
});

it('tries again by itself until it works', async () => {
  let isAway = true;
  const { clock, failures, reload } = setUp(async () => {
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

it('asks no more once it is closed', async () => {
  const { clock, failures, reload } = setUp(async () => {
    throw new Error('away');
  });
  await reload.refresh();
  await reload.close();
  await clock.advance(60_000);
  expect(failures).toHaveLength(1);
  expect(await reload.refresh()).toBe(false);
});
