// Numbered migrations of a SQLite file: forward only, each once, all or nothing, never changed after the fact.
import { createHash } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import { unusableFile } from './errors.ts';
import { immediate } from './immediate.ts';

export interface SqliteMigration {
  /** 1, 2, 3, … without gaps. */
  readonly version: number;
  readonly name: string;
  readonly sql: string;
}

const table = 'schema_migrations';

/**
 * Brings the file to the newest version. Safe with several processes at once: whoever comes second finds it done.
 * Fails with SQLITE_UNUSABLE, changing nothing, when the file is newer than this program or a migration that ran was
 * edited since.
 */
export function migrate(db: DatabaseSync, path: string, migrations: readonly SqliteMigration[]): void {
  migrations.forEach(({ version }, index) => {
    if (version !== index + 1) throw new RangeError(`migration ${index + 1} has the number ${version}`);
  });
  if (isCurrent(db, path, migrations)) return;
  immediate(db, () => {
    db.exec(
      `CREATE TABLE IF NOT EXISTS ${table} (version INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL) STRICT`,
    );
    const from = checkedVersion(db, path, migrations);
    const record = db.prepare(`INSERT INTO ${table} (version, name, checksum) VALUES (?, ?, ?)`);
    for (const migration of migrations.slice(from)) {
      db.exec(migration.sql);
      record.run(migration.version, migration.name, checksum(migration));
    }
    db.exec(`PRAGMA user_version = ${migrations.length}`);
  });
}

/** For a file opened read-only: it must be at the newest version already. */
export function requireCurrent(db: DatabaseSync, path: string, migrations: readonly SqliteMigration[]): void {
  if (!isCurrent(db, path, migrations))
    throw unusableFile(
      path,
      'it is of an older version. Open it once for writing, which brings it up to date.',
    );
}

/** Whether all migrations ran. Fails with SQLITE_UNUSABLE as `migrate` does. */
export function isCurrent(db: DatabaseSync, path: string, migrations: readonly SqliteMigration[]): boolean {
  const version = userVersion(db);
  if (version > migrations.length) throw newer(path, version, migrations.length);
  const hasTable = db.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?").get(table);
  if (!hasTable) return migrations.length === 0;
  return checkedVersion(db, path, migrations) === migrations.length;
}

/** How many migrations ran, once it is certain that they are the ones we know. */
function checkedVersion(db: DatabaseSync, path: string, migrations: readonly SqliteMigration[]): number {
  const applied = db.prepare(`SELECT version, checksum FROM ${table} ORDER BY version`).all();
  if (applied.length > migrations.length) throw newer(path, applied.length, migrations.length);
  applied.forEach((row, index) => {
    const known = migrations[index];
    if (known && row['version'] === known.version && row['checksum'] === checksum(known)) return;
    throw unusableFile(
      path,
      `migration ${String(row['version'])} ran in another form than this program has it. ` +
        'Use the program that wrote the file, or undo the change to the migration.',
    );
  });
  return applied.length;
}

function userVersion(db: DatabaseSync): number {
  return Number(db.prepare('PRAGMA user_version').get()?.['user_version'] ?? 0);
}

function newer(path: string, has: number, knows: number): Error {
  return unusableFile(
    path,
    `it is of version ${has}, and this program knows ${knows}. Use the newer program that wrote it.`,
  );
}

function checksum({ sql }: SqliteMigration): string {
  return createHash('sha256').update(sql).digest('hex');
}
