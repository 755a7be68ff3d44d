// A vault of version 1, and a program whose vaults have version 2.
import { onTestFinished } from 'vitest';
import type { ContentType } from '../../src/extraction/types.ts';
import { vaultMigrations } from '../../src/extraction/vault/file.ts';
import { canonicalJson } from '../../src/extraction/vault/index.ts';
import { contentHash } from '../../src/extraction/vault/page-writer.ts';
import { openSqlite } from '../../src/platform/sqlite/open-sqlite.ts';
import { offsetRequest, source as usualSource, specOf } from './vault-world.ts';

/** Until the test has ended, vaults have one migration more. */
export function addMigration(): void {
  vaultMigrations.push({
    version: 2,
    name: '0002-test',
    sql: 'ALTER TABLE content_types ADD COLUMN note TEXT',
  });
  onTestFinished(() => void vaultMigrations.pop());
}

/** One interrupted session of `types`; of the first, which is number 1, it has a page of two items. */
export function makeOlderVault(
  path: string,
  types: readonly ContentType[] = specOf().types,
  source = usualSource,
): void {
  const db = openSqlite(path, { migrations: vaultMigrations.slice(0, 1) });
  db.exec('PRAGMA application_id = 1213683250');
  const run = (sql: string, ...values: (string | number | bigint | null)[]) => db.prepare(sql).run(...values);
  run('INSERT INTO vault_source VALUES (1, ?)', source);
  run(
    `INSERT INTO extraction_sessions (id, source, state, started_at, types, config)
     VALUES ('old', ?, 'interrupted', 1, ?, '{}')`,
    source,
    canonicalJson(types.toSorted((one, other) => (one.name < other.name ? -1 : 1))),
  );
  types.forEach(({ name, number, scope = null }, index) => {
    const count = index === 0 ? 2 : 0;
    run('INSERT INTO content_types VALUES (?, ?, ?, ?)', number ?? 101 + index, name, count, count);
    run(
      `INSERT INTO checkpoints (session, content_type, scope, state, items_seen, page_count)
       VALUES (1, ?, ?, 'running', ?, ?)`,
      number ?? 101 + index,
      scope,
      count,
      index === 0 ? 1 : 0,
    );
  });
  const request = offsetRequest(0, 2, types[0]?.name);
  const written = { added: 2, changed: 0, unchanged: 0 };
  const outcome = {
    itemCount: 2,
    rejectedCount: 0,
    written,
    total: null,
    next: null,
    children: [],
    elements: [1, 2],
  };
  run(
    `INSERT INTO pages VALUES (1, 1, ?, 'committed', ?, ?)`,
    request.key,
    JSON.stringify(request),
    JSON.stringify(outcome),
  );
  for (const id of ['0', '1']) {
    const data = `{"id":"${id}"}`;
    const hash = contentHash(Buffer.from(data));
    run(
      `INSERT INTO items (content_type, id, synced_at, session, list, id_kinds, position, size, hash, raw_hash,
         version)
       VALUES (1, ?, 1, 1, '', 0, ?, ?, ?, ?, 1)`,
      id,
      Number(id),
      data.length,
      hash,
      hash,
    );
    run(`INSERT INTO content_versions VALUES (1, ?, 1, 1, 1, ?, ?, ?)`, id, data.length, hash, data);
  }
  db.close();
}
