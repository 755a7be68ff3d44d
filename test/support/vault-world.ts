// Pages, sessions and vaults for tests.
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { systemIds } from '../../src/core/index.ts';
import { VirtualClock } from './core/virtual-clock.ts';
import type {
  PageRequest,
  ParsedItem,
  ParsedPage,
  RejectedItem,
  SessionSpec,
  ContentType,
  TypeEnd,
} from '../../src/extraction/types.ts';
import type { Vault } from '../../src/extraction/vault/sessions.ts';
import { PageWriter } from '../../src/extraction/vault/page-writer.ts';
import { contentHash } from '../../src/extraction/vault/page-writer.ts';
import { openVault } from '../../src/extraction/vault/sessions.ts';
import { openSqlite } from '../../src/platform/sqlite/open-sqlite.ts';
import { offsetPage } from './extraction/pages.ts';
import { temporaryFolder } from './services.ts';

export const source = 'looker https://acme.example.com';
export const noHeader = { total: null, nextLink: null };
export const noTotals = { calls: 0, errors: 0, activeMs: 0 };

export const typeNamed = (name: string, parts: Partial<ContentType> = {}): ContentType => ({
  name,
  number: name === 'dashboards' ? 1 : null,
  endpoints: [{ name: '', pagination: 'offset' }],
  shape: { items: { kind: 'list', path: [] }, id: [['id']], name: ['value'] },
  ...parts,
});

export const specOf = (parts: Partial<SessionSpec> = {}): SessionSpec => ({
  source,
  types: [typeNamed('dashboards')],
  workerCount: null,
  config: {},
  fresh: false,
  retryFailed: false,
  ...parts,
});

/** An item from its JSON text. */
export function itemOf(id: string, json: string, parts: Partial<ParsedItem> = {}): ParsedItem {
  const raw = Buffer.from(json);
  const facts = { name: null, owner: null, folder: null, createdAt: null, updatedAt: null };
  return { id, idKinds: 0, ...facts, raw, rawHash: contentHash(raw), ...parts };
}

export const offsetRequest = (offset: number, limit: number, type = 'dashboards'): PageRequest =>
  offsetPage(type, offset, limit);

/** The end of a type whose lists have all ended. */
export const endWith = (expectedTotal: number | null = null): TypeEnd => ({
  expectedTotal,
  ends: { 'empty-page': 1 },
});

export const pageOf = (
  request: PageRequest,
  items: readonly ParsedItem[],
  rejected: readonly RejectedItem[] = [],
): ParsedPage => ({ request, items, rejected, nextCursor: null, total: null, children: [], elements: [] });

/** A page of items `from` to `from + count - 1`, whose content is `value`. */
export const simplePage = (from: number, count: number, value = 'a', type = 'dashboards'): ParsedPage =>
  pageOf(
    offsetRequest(from, count, type),
    Array.from({ length: count }, (_, index) =>
      itemOf(String(from + index), JSON.stringify({ id: String(from + index), value }), {
        name: value,
      }),
    ),
  );

export interface VaultWorld {
  readonly path: string;
  readonly clock: VirtualClock;
  vault: Vault;
  writer: PageWriter;
  newWriter(): PageWriter;
  /** As after a crash: everything closed and opened again. */
  reopen(): void;
  rows(sql: string): Record<string, unknown>[];
  /** Before the test ends: for tests with many vaults. */
  close(): void;
}

/** A vault in a fresh folder; closed when the test ends. */
export async function vaultWorld(file?: string, of = source): Promise<VaultWorld> {
  const path = file ?? join(await temporaryFolder(), 'acme.vault');
  const clock = new VirtualClock();
  const writers: PageWriter[] = [];
  const open = () => openVault(path, { source: of, clock, ids: systemIds });
  const world: VaultWorld = {
    path,
    clock,
    vault: open(),
    get writer() {
      return writers[0] ?? world.newWriter();
    },
    newWriter() {
      const writer = new PageWriter(path, { clock, writeLock: world.vault.writeLock });
      writers.push(writer);
      return writer;
    },
    reopen() {
      for (const writer of writers.splice(0)) writer.close();
      world.vault.close();
      world.vault = open();
    },
    close: () => {
      for (const writer of writers) writer.close();
      world.vault.close();
    },
    rows: (sql) => {
      const db = openSqlite(path, { readOnly: true });
      try {
        const statement = db.prepare(sql);
        statement.setReadBigInts(true);
        return statement.all();
      } finally {
        db.close();
      }
    },
  };
  onTestFinished(() => world.close());
  return world;
}

/** Writes pages as one session, to its end. */
export function extract(
  world: VaultWorld,
  pages: readonly ParsedPage[],
  expectedTotal: number | null = null,
) {
  const { sessions } = world.vault;
  const session = sessions.open(specOf({ fresh: true }));
  for (const page of pages) world.writer.write(session.id, page, noHeader);
  const state = sessions.finishType(session.id, 'dashboards', endWith(expectedTotal));
  sessions.finish(session.id, state === 'completed' ? 'completed' : 'incomplete', noTotals);
  return session.id;
}

const timeless: readonly (readonly [table: string, columns: string])[] = [
  ['content_types', '*'],
  ['extraction_sessions', 'number, source, state, total_items, total_calls, errors, types, config'],
  [
    'checkpoints',
    'session, content_type, scope, state, expected_total, items_seen, duplicates, page_count, list_ends, reason',
  ],
  ['pages', '*'],
  ['dead_letters', 'session, content_type, page_key, item_index, cause, message, raw'],
  [
    'items',
    `content_type, id, name, owner, folder, created_at, updated_at, session, position, deleted_at IS NULL AS live, size,
     hash, raw_hash, raw_check, version`,
  ],
  ['content_versions', 'content_type, id, number, session, size, hash, data'],
];

/** All rows of every table in the order of their keys, without times. */
export const dump = (world: Pick<VaultWorld, 'rows'>): Record<string, unknown> =>
  Object.fromEntries(
    timeless.map(([table, columns]) => [
      table,
      world.rows(
        `SELECT ${columns} FROM ${table} ORDER BY ${table === 'content_versions' ? '1, 2, 3' : '1, 2'}`,
      ),
    ]),
  );
