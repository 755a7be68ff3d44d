// Stores with data of every domain, including values that are easily lost, and functions to compare two stores.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import { onTestFinished } from 'vitest';
import { connect } from '../../src/app/index.ts';
import type { Config } from '../../src/config/index.ts';
import { resolveConfig } from '../../src/config/index.ts';
import type { JobDefinition } from '../../src/core/index.ts';
import { systemClock, systemIds, systemRandom } from '../../src/core/index.ts';
import { controlLine, linesOf } from '../../src/operations/backup/archive.ts';
import { dumpStore, inSnapshot, storeTables, tableOf } from '../../src/operations/backup/dump.ts';
import type { RestoreOptions, RestoreReport } from '../../src/operations/backup/restore.ts';
import { restore } from '../../src/operations/backup/restore.ts';
import type { SavedBackup } from '../../src/operations/backup/save-backup.ts';
import { saveBackup } from '../../src/operations/backup/save-backup.ts';
import { createJobQueue } from '../../src/platform/jobs/queue.ts';
import { openEmbeddedDatabase } from '../../src/platform/postgres/embedded/embedded-store.ts';
import type { Database, Migration } from '../../src/platform/postgres/index.ts';
import { identifier, loadMigrations, migrate, sql } from '../../src/platform/postgres/index.ts';
import { openServerDatabase } from '../../src/platform/postgres/server/server-store.ts';
import { folderWithStore } from './embedded-database.ts';
import { databaseUrl, temporaryFolder, uniqueName } from './services.ts';

export type StoreKind = 'embedded' | 'server';

/** A folder with an empty store of this kind; what is created on the server is removed after the test. */
export async function emptyInstallation(kind: StoreKind): Promise<Config> {
  const schema = uniqueName('backup');
  const cwd = kind === 'embedded' ? await folderWithStore() : await temporaryFolder();
  if (kind === 'server') onTestFinished(() => dropStore(schema));
  return resolveConfig({
    flags: {},
    cwd,
    env: {
      HEADWORKS_LOG_LEVEL: 'silent',
      HEADWORKS_PORT: '0',
      HEADWORKS_DATABASE_SCHEMA: schema,
      HEADWORKS_DRAIN_SECONDS: '1',
      HEADWORKS_JOBS_DRAIN_SECONDS: '0',
      ...(kind === 'server' ? { DATABASE_URL: databaseUrl() } : {}),
    },
  });
}

/** Drops a store on the server. */
export async function dropStore(schema: string): Promise<void> {
  const database = await openServerDatabase({ url: databaseUrl(), schema, clock: systemClock });
  for (const name of [schema, `${schema}_jobs`])
    await database.query(sql`drop schema if exists ${identifier(name)} cascade`);
  await database.close();
}

/** Opens the store of an installation without a server, and closes it. */
export async function inStore<T>(config: Config, work: (database: Database) => Promise<T>): Promise<T> {
  const { databaseUrl: url, schema } = config.state;
  const database =
    url === null
      ? await openEmbeddedDatabase({ folder: `${config.data.folder}/state`, schema, clock: systemClock })
      : await openServerDatabase({ url, schema, clock: systemClock });
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

export const ourMigrations = (): Promise<readonly Migration[]> => loadMigrations();

/** A job without a worker. */
const waiting: JobDefinition<unknown> = {
  name: 'test.waiting',
  description: 'Waits.',
  parse: (payload) => payload,
  retryBackoff: false,
  retries: 2,
  retryDelayMs: 1_000,
  timeoutMs: 1_000,
  concurrency: 1,
};

/** Tables of this version or an older one, queued jobs, and rows of every domain. */
export async function fillStore(database: Database): Promise<void> {
  await migrate(database, await ourMigrations(), { clock: systemClock });
  const jobs = await createJobQueue({
    database,
    clock: systemClock,
    random: systemRandom,
    ids: systemIds,
    events: { emit: () => undefined },
    redact: (text) => text,
    runSchedules: false,
  });
  await jobs.define([waiting]);
  await jobs.enqueue(waiting, { text: 'wartet – 等待', nested: [null, { deep: 1e300 }] }, { key: 'one' });
  await jobs.schedule(waiting, '17 3 * * *', null);
  await jobs.stop(0);
  await database.script(rowsOfEveryDomain);
  await database.query(sql`
    insert into execution_files values
      ('018f0000-0000-7000-8000-000000000001', 0, 'größe.bin', 'application/octet-stream', ${largeBytes}),
      ('018f0000-0000-7000-8000-000000000001', 1, 'empty', 'text/plain', ${new Uint8Array()})`);
  await database.query(sql`
    insert into chunk_vector values
      (7, 'm', 9007199254740993, ${Array.from({ length: 384 }, (_, index) => Math.fround(Math.sin(index) / 3))}),
      (7, 'other', 9007199254740993, '{NaN,Infinity,1e-45,3.4028235e38,-0}')`);
}

/** Different at every position, so that a missing or repeated piece is detected. */
const largeBytes = Uint8Array.from({ length: 3 * 1024 * 1024 }, (_, index) => (index * 2_654_435_761) >>> 13);

const rowsOfEveryDomain = String.raw`
insert into organizations values ('org_0123456789abcdef', 'Ünï "quoted" \ 漢字 🎉', 'uni', '2026-03-01 12:00:00.123456+00');
insert into organization_keys values
  (gen_random_uuid(), 'org_0123456789abcdef', 'k', 'hwo_', 'h1', 'infinity', null, '-infinity');
insert into organization_rate_limits values (gen_random_uuid(), 'org_0123456789abcdef', 2147483647, now(), now());
insert into deployments values ('018f0000-0000-7000-8000-00000000000d', 'org_0123456789abcdef', 'ask', 'prompt',
  E'{ "b": 1,\n  "a": [ "\\u0000", "\\ud800" ], "b": 2 }', null, 0.1, true, now(), now());
insert into executions values ('018f0000-0000-7000-8000-000000000001', 'org_0123456789abcdef',
  '018f0000-0000-7000-8000-00000000000d', 'queued', null, 'hash', gen_random_uuid(), 'null', now(), null, null, null, null);
insert into gateway_models overriding system value values (41, 'added', 'p', 'https://x', 'm', null, '{}', false,
  '{"a": 12345678901234567890.123456789, "b": null}', '{}', true, 'custom', now(), null);
select setval(pg_get_serial_sequence('gateway_models', 'id'), 99, true);
insert into gateway_attempts (request_id, model_id, at, outcome, is_counted, status, duration_ms, caller)
  select 'r' || i, 41, timestamptz '2026-03-01' + i * interval '1 microsecond', 'success', true, null, i / 7.0, ''
  from generate_series(1, 4500) i;
insert into gateway_usage values ('0044-03-15 BC', 'c', 41, 1, 9223372036854775807, 0);
insert into ledger_entries values (gen_random_uuid(), 'demo.broken', E'tab\there', 'C', E'line\r\nline', '[]',
  9223372036854775807, now(), now());
insert into knowledge_space overriding system value values (7, null, 'main', 'main', 'english', now());
insert into artifact values ('018f0000-0000-7000-8000-0000000000a1', 7, 'note', 'files', 'n.txt', now());
insert into artifact_revision values ('018f0000-0000-7000-8000-0000000000b1', '018f0000-0000-7000-8000-0000000000a1', 7,
  'hash', '', repeat('Ein langer Text. ', 100000), null, 'null', '[]', 1, 1, true, true, null, now());
insert into chunk overriding system value values (9007199254740993, 7, '018f0000-0000-7000-8000-0000000000a1',
  '018f0000-0000-7000-8000-0000000000b1', 0, 0, 1, 1, null, '{"headworks":"end"}');
insert into chunk_posting values (7, 'langer', 9007199254740993, 1, 0, 1, 0, '{-20000,1,32767}');
insert into corpus_total values (7, 1, 1);
insert into entity (entity_id, space_id, entity_type, canonical_name, normalized_name, merged_into, created_at, updated_at)
  values ('018f0000-0000-7000-8000-0000000000e2', 7, 'person', 'Zoë', 'zoe', null, now(), now()),
         ('018f0000-0000-7000-8000-0000000000e1', 7, 'person', 'Z.', 'z', '018f0000-0000-7000-8000-0000000000e2', now(), now());
`;

/** A store with rows of every domain, and its contents. */
export async function filledInstallation(kind: StoreKind): Promise<{
  readonly config: Config;
  readonly contents: Readonly<Record<string, readonly string[]>>;
}> {
  const config = await emptyInstallation(kind);
  const contents = await inStore(config, async (database) => {
    await fillStore(database);
    return contentsOf(database);
  });
  return { config, contents };
}

/** Every table with its rows as Postgres writes them, sorted; independent of the code of backups. */
export async function contentsOf(database: Database): Promise<Readonly<Record<string, readonly string[]>>> {
  const contents: Record<string, readonly string[]> = {};
  for (const table of await storeTables(database, database.schema)) {
    const { rows } = await database.query<{ text: string }>(
      sql`select t::text as text from ${tableOf(table)} t`,
    );
    if (rows.length > 0) contents[table.name] = rows.map(({ text }) => short(text)).sort();
  }
  return contents;
}

/** A short form, for readable differences. */
const short = (text: string): string =>
  text.length < 500 ? text : `${text.slice(0, 100)}… ${createHash('sha256').update(text).digest('hex')}`;

/** Without a server, which would migrate the store first. */
export async function dumpAsItIs(database: Database, file: string): Promise<void> {
  const lines: string[] = [];
  const write = (line: string) => Promise.resolve(void lines.push(line));
  await inSnapshot(
    database,
    async (transaction) => {
      const { kind: store, version: postgres } = database.capabilities;
      const createdAt = new Date(systemClock.now());
      const { schema } = database;
      const dumped = await dumpStore({ transaction, schema, store, postgres, createdAt, write });
      await write(controlLine({ headworks: 'end', ...dumped, files: 0 }));
    },
    new AbortController().signal,
  );
  await writeLines(file, lines);
}

/** As `headworks backup` does it: through a server, which this process becomes if none runs. */
export async function backUp(config: Config, file: string): Promise<SavedBackup> {
  const client = await connect(config, { purpose: 'test' });
  try {
    const bytes = await client.download(
      '/api/v1/backup',
      { include_vaults: true },
      AbortSignal.timeout(60_000),
    );
    return await saveBackup(bytes, file, () => undefined);
  } finally {
    await client.close();
  }
}

export function restoreFrom(
  config: Config,
  file: string,
  change: Partial<Pick<RestoreOptions, 'replace' | 'signal' | 'migrations'>> = {},
): Promise<RestoreReport> {
  const { replace = false, signal = new AbortController().signal, migrations } = change;
  return restore(config, { file, replace, signal, migrations, onProgress: () => undefined });
}

export async function linesIn(file: string): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of linesOf(createReadStream(file))) lines.push(line);
  return lines;
}

export async function writeLines(file: string, lines: readonly string[]): Promise<void> {
  await writeFile(file, gzipSync(`${lines.join('\n')}\n`));
}
