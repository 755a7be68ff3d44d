// A vault as the first version of the program made it.
import { readFileSync } from 'node:fs';
import type { ContentType } from '../../src/extraction/types.ts';
import { canonicalJson, contentHash } from '../../src/extraction/vault/index.ts';
import { openSqlite } from '../../src/platform/sqlite/index.ts';
import { offsetRequest, source as usualSource, specOf } from './vault-world.ts';

const firstMigration = {
  version: 1,
  name: '0001-vault',
  sql: readFileSync(new URL('../../src/extraction/vault/migrations/0001-vault.sql', import.meta.url), 'utf8'),
};

/** One interrupted session of `types`; of the first, which is number 1, it has a page of two items. */
export function makeOlderVault(
  path: string,
  types: readonly ContentType[] = specOf().types,
  source = usualSource,
): void {
  const db = openSqlite(path, { migrations: [firstMigration] });
  const run = (sql: string, ...values: (string | number | bigint | null)[]) => db.prepare(sql).run(...values);
  run('INSERT INTO vault_source VALUES (1, ?)', source);
  run(
    `INSERT INTO extraction_sessions (id, source, status, started_at, types, config)
     VALUES ('old', ?, 'interrupted', 1, ?, '{}')`,
    source,
    canonicalJson(types.toSorted((one, other) => (one.name < other.name ? -1 : 1))),
  );
  types.forEach(({ name, number, scope = null }, index) => {
    run('INSERT INTO content_types VALUES (?, ?)', number ?? 101 + index, name);
    run(
      `INSERT INTO checkpoints (session, content_type, scope, status, items_seen) VALUES (1, ?, ?, 'running', ?)`,
      number ?? 101 + index,
      scope,
      index === 0 ? 2 : 0,
    );
  });
  const request = offsetRequest(0, 2, types[0]?.name);
  const written = { added: 2, changed: 0, unchanged: 0 };
  const outcome = { itemCount: 2, rejectedCount: 0, written, total: null, next: null, children: [] };
  run(
    `INSERT INTO pages VALUES (1, 1, ?, 'done', ?, ?)`,
    request.key,
    JSON.stringify(request),
    JSON.stringify(outcome),
  );
  for (const id of ['0', '1']) {
    const data = `{"id":"${id}"}`;
    const hash = contentHash(Buffer.from(data));
    run(
      `INSERT INTO item_heads (content_type, id, synced_at, session, position, size, hash, raw_hash, version)
       VALUES (1, ?, 1, 1, ?, ?, ?, ?, 1)`,
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
