import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { CoreError } from '../../core/index.ts';
import { SqlError } from '../../platform/postgres/sql.ts';
import { explainFullDisk, createScratch, removeStaleScratch } from './disk-space.ts';

const full = (code: string) => Object.assign(new Error(`${code}: no space left on device, write`), { code });
const explained = (error: unknown, store: 'embedded' | 'server', free = 1e9) =>
  explainFullDisk(
    error,
    { folder: '/data', store, advice: 'Free some space; the store is unchanged.' },
    async () => free,
  );

describe('explainFullDisk', () => {
  it.each([
    ['a file cannot be written', full('ENOSPC')],
    ['a quota is used up', full('EDQUOT')],
    ['it is the cause of another failure', new Error('could not', { cause: full('ENOSPC') })],
    ['SQLite reports it', Object.assign(new Error('database or disk is full'), { errcode: 13 })],
    ['the embedded store reports it', new SqlError({ message: 'could not extend file', sqlState: '53100' })],
  ])('reports the full disk and its free space when %s', async (_, error) => {
    expect(await explained(error, 'embedded')).toMatchObject({
      code: 'DATA_FOLDER_UNUSABLE',
      message: expect.stringMatching(
        /^The disk that the data folder \/data is on is full, 953.7 MiB are free\. Free some space; the store is unchanged\.$/,
      ) as string,
    });
  });

  it('names the disk of the database server when that one is full', async () => {
    const error = new SqlError({ message: 'could not extend file', sqlState: '53100' });
    expect(await explained(error, 'server')).toMatchObject({
      code: 'STATE_UNUSABLE',
      message: expect.stringContaining('disk of the database server is full') as string,
    });
  });

  it('treats a crash of the embedded store without free space as a full disk', async () => {
    const lost = new CoreError('STATE_UNAVAILABLE', 'The thread of the embedded store ended.');
    expect(await explained(lost, 'embedded', 31e6)).toMatchObject({
      message: expect.stringContaining('is full, 29.6 MiB are free') as string,
    });
    expect(await explained(lost, 'server', 31e6)).toBe(lost);
  });

  it('returns every other error unchanged', async () => {
    const lost = new CoreError('STATE_UNAVAILABLE', 'The thread of the embedded store ended.');
    for (const error of [new Error('other'), full('EIO'), lost]) {
      expect(await explained(error, 'embedded')).toBe(error);
      expect(await explained(error, 'server')).toBe(error);
    }
  });
});

it('removes scratch folders of the holder, and nothing else', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'headworks-test-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  for (const kind of ['backup', 'restore'] as const)
    await writeFile(join(await createScratch(folder, kind), '0'), 'secret');
  const ofWorker = await createScratch(folder, 'workerBackup');
  await mkdir(join(folder, 'backup-monday'));
  await writeFile(join(folder, 'unfinished-restore-notes.txt'), '');
  await removeStaleScratch(folder);
  const left = await readdir(folder);
  expect(left).toHaveLength(3);
  expect(left.map((name) => join(folder, name))).toContain(ofWorker);
  await removeStaleScratch(folder, ['workerBackup']);
  expect((await readdir(folder)).toSorted()).toEqual(['backup-monday', 'unfinished-restore-notes.txt']);
});
