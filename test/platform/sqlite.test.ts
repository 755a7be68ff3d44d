// SQLite files: migrations, bad files, and many threads writing at once.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { OpenSqliteOptions } from '../../src/platform/sqlite/open-sqlite.ts';
import { immediate, openSqlite, sqliteError } from '../../src/platform/sqlite/open-sqlite.ts';
import { temporaryFolder } from '../support/services.ts';

const file = async () => join(await temporaryFolder(), 'test.sqlite');

function open(path: string, options?: OpenSqliteOptions) {
  const db = openSqlite(path, options);
  onTestFinished(() => {
    if (db.isOpen) db.close();
  });
  return db;
}

const first = {
  version: 1,
  name: 'items',
  sql: 'CREATE TABLE items (id INTEGER PRIMARY KEY, hash INTEGER) STRICT',
};
const second = { version: 2, name: 'names', sql: 'ALTER TABLE items ADD COLUMN name TEXT' };
const pragma = (db: ReturnType<typeof openSqlite>, name: string) =>
  Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})[0];

describe('a SQLite file', () => {
  it('is opened in WAL mode with foreign keys and a busy timeout', async () => {
    const db = open(await file());
    const settings = ['journal_mode', 'synchronous', 'foreign_keys', 'busy_timeout'].map((name) =>
      pragma(db, name),
    );
    expect(settings).toEqual(['wal', 1, 1, 1_000]);
  });

  it('is migrated step by step, each step once', async () => {
    const path = await file();
    open(path, { migrations: [first] }).close();
    const db = open(path, { migrations: [first, second] });
    db.prepare('INSERT INTO items (id, name) VALUES (1, ?)').run('a');
    open(path, { migrations: [first, second] }).close();
    expect(pragma(db, 'user_version')).toBe(2);
    expect(db.prepare('SELECT name FROM items').all()).toEqual([{ name: 'a' }]);
  });

  it('of a newer program is rejected and not changed', async () => {
    const path = await file();
    open(path, { migrations: [first, second] }).close();
    expect(() => openSqlite(path, { migrations: [first] })).toThrow(
      expect.objectContaining({
        code: 'SQLITE_UNUSABLE',
        message: expect.stringContaining('version 2, and this program supports 1'),
      }),
    );
    expect(pragma(open(path), 'user_version')).toBe(2);
  });

  it('is rejected when a migration was edited after it ran', async () => {
    const path = await file();
    open(path, { migrations: [first] }).close();
    const edited = { ...first, sql: `${first.sql} -- changed` };
    expect(() => openSqlite(path, { migrations: [edited, second] })).toThrow(
      /migration 1 ran with another text/,
    );
  });

  it('rolls a failed migration back', async () => {
    const path = await file();
    const broken = { version: 2, name: 'broken', sql: 'CREATE TABLE half (id); NONSENSE' };
    expect(() => openSqlite(path, { migrations: [first, broken] })).toThrow(/syntax error/);
    const tables = open(path).prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all();
    expect(tables).toEqual([]);
  });

  it('is rejected and not changed when it is no database', async () => {
    const path = await file();
    await writeFile(path, 'this is a diary, not a database. '.repeat(100));
    expect(() => openSqlite(path, { migrations: [first] })).toThrow(
      expect.objectContaining({
        code: 'SQLITE_UNUSABLE',
        message: expect.stringContaining('not a SQLite file'),
      }),
    );
    expect(await readFile(path, 'utf8')).toMatch(/^this is a diary/);
  });

  it('is rejected with a remedy when it is a folder or its folder is missing', async () => {
    const folder = await temporaryFolder();
    expect(() => openSqlite(join(folder, 'none', 'x.sqlite'))).toThrow(/its folder exists/);
    await mkdir(join(folder, 'dir.sqlite'));
    expect(() => openSqlite(join(folder, 'dir.sqlite'))).toThrow(
      expect.objectContaining({ code: 'SQLITE_UNUSABLE' }),
    );
  });

  it('opened read-only accepts no writes, and must be current', async () => {
    const path = await file();
    open(path, { migrations: [first] }).close();
    const db = open(path, { migrations: [first], readOnly: true });
    let error: unknown;
    try {
      db.exec('INSERT INTO items (id) VALUES (1)');
    } catch (reason) {
      error = sqliteError(reason, path);
    }
    expect(error).toMatchObject({
      code: 'SQLITE_UNUSABLE',
      message: expect.stringContaining('it is read-only'),
    });
    expect(() => openSqlite(path, { migrations: [first, second], readOnly: true })).toThrow(/older version/);
  });

  it('locked by another process for too long is busy and retryable', async () => {
    const path = await file();
    const holder = open(path, { migrations: [first] });
    holder.exec('BEGIN IMMEDIATE');
    expect(() => openSqlite(path, { migrations: [first, second], busyTimeoutMs: 20 })).toThrow(
      expect.objectContaining({ code: 'SQLITE_BUSY', isRetryable: true }),
    );
    holder.exec('ROLLBACK');
  });

  it('on a full disk reports it and keeps existing data', async () => {
    const path = await file();
    const db = open(path, { migrations: [first] });
    db.exec('INSERT INTO items (id) VALUES (1); PRAGMA max_page_count = 10');
    const fill = () =>
      immediate(db, () => {
        db.exec('CREATE TABLE big (x)');
        for (let row = 0; row < 100; row++) db.prepare('INSERT INTO big VALUES (?)').run('x'.repeat(4_000));
      });
    expect(fill).toThrow(expect.objectContaining({ code: 'SQLITE_FULL', isRetryable: true }));
    expect(db.isTransaction).toBe(false);
    expect(db.prepare('SELECT count(*) AS n FROM items').get()).toEqual({ n: 1 });
  });

  it('accepts 64-bit hashes as signed BigInt only', async () => {
    const db = open(await file(), { migrations: [first] });
    const hash = 0xfedcba9876543210n;
    const insert = db.prepare('INSERT INTO items (id, hash) VALUES (?, ?)');
    expect(() => insert.run(1, hash)).toThrow(/BigInt/);
    insert.run(1, BigInt.asIntN(64, hash));
    const read = db.prepare('SELECT hash FROM items');
    read.setReadBigInts(true);
    expect(BigInt.asUintN(64, read.get()?.['hash'] as bigint)).toBe(hash);
  });
});

describe('an immediate transaction', () => {
  it('commits what succeeded and rolls back what threw', async () => {
    const db = open(await file(), { migrations: [first] });
    expect(immediate(db, () => db.prepare('INSERT INTO items (id) VALUES (1)').run().changes)).toBe(1);
    expect(() =>
      immediate(db, () => {
        db.exec('INSERT INTO items (id) VALUES (2)');
        throw new Error('no');
      }),
    ).toThrow('no');
    expect(() => immediate(db, async () => undefined)).toThrow(/must not be async/);
    expect(db.prepare('SELECT id FROM items').all()).toEqual([{ id: 1 }]);
  });

  it('names the busy file when another process locks it for too long', async () => {
    const path = await file();
    const holder = open(path, { migrations: [first] });
    const db = open(path, { busyTimeoutMs: 20 });
    holder.exec('BEGIN IMMEDIATE');
    expect(() => immediate(db, () => undefined)).toThrow(
      expect.objectContaining({
        code: 'SQLITE_BUSY',
        isRetryable: true,
        message: expect.stringContaining(path) as string,
      }),
    );
    holder.exec('ROLLBACK');
    expect(immediate(db, () => 1)).toBe(1);
  });

  it('loses no increment when many threads count in one row', async () => {
    const path = await file();
    const workers = [1, 2, 3, 4].map(
      () =>
        new Worker(new URL('./sqlite-counting-thread.ts', import.meta.url), {
          workerData: { path, times: 200 },
        }),
    );
    await Promise.all(
      workers.map(
        (worker) =>
          new Promise<void>((resolve, reject) => {
            worker.once('error', reject);
            worker.once('exit', () => resolve());
          }),
      ),
    );
    expect(open(path).prepare('SELECT n FROM counter').get()).toEqual({ n: 800 });
  });
});
