import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { makeScratch, removeLeftovers } from './leftovers.ts';

it('removes what the holder of a folder left, and nothing of anybody else', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'headworks-test-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  for (const kind of ['backup', 'restore'] as const)
    await writeFile(join(await makeScratch(folder, kind), '0'), 'secret');
  const ofWorker = await makeScratch(folder, 'workerBackup');
  await mkdir(join(folder, 'backup-monday'));
  await writeFile(join(folder, 'unfinished-restore-notes.txt'), '');
  await removeLeftovers(folder);
  const left = await readdir(folder);
  expect(left).toHaveLength(3);
  expect(left.map((name) => join(folder, name))).toContain(ofWorker);
  await removeLeftovers(folder, ['workerBackup']);
  expect((await readdir(folder)).toSorted()).toEqual(['backup-monday', 'unfinished-restore-notes.txt']);
});
