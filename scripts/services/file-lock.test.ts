import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { withFileLock } from './file-lock.ts';

async function lockFile(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'headworks-test-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  return join(folder, 'lock');
}

it('admits one at a time, also after a failure', async () => {
  const file = await lockFile();
  let inside = 0;
  let max = 0;
  const work = async (isFailing: boolean) => {
    inside += 1;
    max = Math.max(max, inside);
    await sleep(20);
    inside -= 1;
    if (isFailing) throw new Error('no');
  };
  const turns = [false, true, false, true].map((isFailing) => withFileLock(file, 30, () => work(isFailing)));
  const results = await Promise.allSettled(turns);
  expect(results.map((result) => result.status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'rejected']);
  expect(max).toBe(1);
});

it('fails with the name of the holder when the lock is held for too long', async () => {
  const file = await lockFile();
  await withFileLock(file, 30, async () => {
    await expect(withFileLock(file, 0, async () => undefined)).rejects.toThrow(`held ${file}`);
  });
});
