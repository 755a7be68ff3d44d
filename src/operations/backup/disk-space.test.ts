import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { CoreError } from '../../core/index.ts';
import { SqlError } from '../../platform/postgres/index.ts';
import { explainFullDisk, makeScratch, removeLeftovers } from './disk-space.ts';

const full = (code: string) => Object.assign(new Error(`${code}: no space left on device, write`), { code });
const explained = (error: unknown, store: 'embedded' | 'server', free = 1e9) =>
  explainFullDisk(
    error,
    { folder: '/data', store, advice: 'Make room there; the store is as it was.' },
    async () => free,
  );

describe('explainFullDisk', () => {
  it.each([
    ['a file cannot be written', full('ENOSPC')],
    ['a quota is used up', full('EDQUOT')],
    ['it is the cause of another failure', new Error('could not', { cause: full('ENOSPC') })],
    ['SQLite says so', Object.assign(new Error('database or disk is full'), { errcode: 13 })],
    ['the embedded store says so', new SqlError({ message: 'could not extend file', sqlState: '53100' })],
  ])('says that the disk is full, and how much room there is, when %s', async (_, error) => {
    expect(await explained(error, 'embedded')).toMatchObject({
      code: 'DATA_FOLDER_UNUSABLE',
      message: expect.stringMatching(
        /^The disk that the data folder \/data is on is full, 1000 MB are free\. Make room there; the store is as it was\.$/,
      ) as string,
    });
  });

  it("means the database server's disk when that is full", async () => {
    const error = new SqlError({ message: 'could not extend file', sqlState: '53100' });
    expect(await explained(error, 'server')).toMatchObject({
      code: 'STATE_UNUSABLE',
      message: expect.stringContaining('disk of the database server is full') as string,
    });
  });

  it('takes an embedded store that died without room to work in for a full disk', async () => {
    const lost = new CoreError('STATE_UNAVAILABLE', 'The thread of the embedded store ended.');
    expect(await explained(lost, 'embedded', 31e6)).toMatchObject({
      message: expect.stringContaining('is full, 31 MB are free') as string,
    });
    expect(await explained(lost, 'server', 31e6)).toBe(lost);
  });

  it('leaves every other failure as it is', async () => {
    const lost = new CoreError('STATE_UNAVAILABLE', 'The thread of the embedded store ended.');
    for (const error of [new Error('other'), full('EIO'), lost]) {
      expect(await explained(error, 'embedded')).toBe(error);
      expect(await explained(error, 'server')).toBe(error);
    }
  });
});

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
