// A thread that opens (and migrates) the file together with others, then reads and writes one row many times.
import { workerData } from 'node:worker_threads';
import { immediate, openSqlite } from '../../src/platform/sqlite/open-sqlite.ts';

const { path, times } = workerData as { path: string; times: number };
const sql = 'CREATE TABLE counter (n INTEGER NOT NULL) STRICT; INSERT INTO counter VALUES (0)';
const migrations = [{ version: 1, name: 'counter', sql }];
const db = openSqlite(path, { migrations, busyTimeoutMs: 60_000 });
for (let time = 0; time < times; time++)
  immediate(db, () => {
    const { n } = db.prepare('SELECT n FROM counter').get() as { n: number };
    db.prepare('UPDATE counter SET n = ?').run(n + 1);
  });
db.close();
