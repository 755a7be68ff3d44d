// The write-ahead log of a vault: merged into the file by the thread that made it long.
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { mergeLogWhenLong, createWriteLock } from '../../src/extraction/vault/file.ts';
import { openSqlite } from '../../src/platform/sqlite/open-sqlite.ts';
import { temporaryFolder } from '../support/services.ts';

const megabyte = 1024 * 1024;

async function logWorld() {
  const path = join(await temporaryFolder(), 'log.vault');
  const db = openSqlite(path);
  onTestFinished(() => db.close());
  db.exec('PRAGMA wal_autocheckpoint = 0; CREATE TABLE pages (data BLOB)');
  const writeLock = createWriteLock();
  return {
    write: (pageBytes: number) => {
      db.exec('INSERT INTO pages VALUES (zeroblob(100000))');
      mergeLogWhenLong(db, writeLock, pageBytes);
    },
    fileBytes: () => statSync(path).size,
    logBytes: () => statSync(`${path}-wal`).size,
  };
}

it('is merged after many bytes of items, and then restarts', async () => {
  const { write, fileBytes, logBytes } = await logWorld();
  const empty = fileBytes();
  write(9 * megabyte);
  write(9 * megabyte);
  expect(fileBytes()).toBe(empty);
  write(9 * megabyte);
  expect(fileBytes()).toBeGreaterThan(300_000);
  const longest = logBytes();
  write(9 * megabyte);
  write(9 * megabyte);
  expect(logBytes()).toBe(longest);
});

it('is merged after so many pages, however small they are', async () => {
  const { write, fileBytes } = await logWorld();
  const empty = fileBytes();
  for (let page = 1; page < 64; page++) write(10);
  expect(fileBytes()).toBe(empty);
  write(10);
  expect(fileBytes()).toBeGreaterThan(6_400_000);
});
