// Migrations on both kinds of Postgres: in order, once, wholly or not at all.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../src/core/system.ts';
import { VirtualClock } from '../support/core/virtual-clock.ts';
import {
  defineMigration,
  identifier,
  loadMigrations,
  migrate,
  sql,
  type Database,
} from '../../src/platform/postgres/index.ts';
import { openEmbeddedDatabase } from '../../src/platform/postgres/embedded/embedded-store.ts';
import { openServerDatabase } from '../../src/platform/postgres/server/server-store.ts';
import { embeddedDatabase, folderWithStore } from '../support/embedded-database.ts';
import { databaseUrl, uniqueName } from '../support/services.ts';

const first = defineMigration(
  '0001-first.sql',
  'create table first (id int);\ninsert into first values (1);',
);
const second = defineMigration('0002-second.sql', 'alter table first add column name text;');
const broken = defineMigration('0003-broken.sql', 'create table third (id int); select 1/0;');

const failure = (work: Promise<unknown>) =>
  work.then(
    () => 'it worked',
    (error: unknown) => error,
  );

const kinds: readonly (readonly [string, (schema: string, clock: VirtualClock) => Promise<Database>])[] = [
  ['embedded', (schema, clock) => embeddedDatabase({ schema, clock })],
  ['server', (schema, clock) => openServerDatabase({ url: databaseUrl(), schema, clock })],
];

describe.each(kinds)('migrations, %s', (_, open) => {
  const clock = new VirtualClock();
  const options = { clock };
  let database: Database;

  beforeAll(async () => {
    database = await open(uniqueName('migrations'), clock);
  });
  afterAll(async () => {
    await database.query(sql`drop schema if exists ${identifier(database.schema)} cascade`);
    await database.close();
  });

  const history = async () =>
    (await database.query(sql`select number, name, applied_at from schema_migrations order by number`)).rows;

  it('creates the schema and applies each migration once, in order', async () => {
    expect(await migrate(database, [first], options)).toEqual([first]);
    expect(await migrate(database, [first, second], options)).toEqual([second]);
    expect(await migrate(database, [first, second], options)).toEqual([]);
    const appliedAt = new Date(clock.now());
    expect(await history()).toEqual([
      { number: 1, name: 'first', applied_at: appliedAt },
      { number: 2, name: 'second', applied_at: appliedAt },
    ]);
    expect((await database.query(sql`select * from first`)).rows).toEqual([{ id: 1, name: null }]);
  });

  it('treats the same text with other line ends as the same migration', async () => {
    const windows = defineMigration('0001-first.sql', first.text.replace('\n', '  \r\n'));
    expect(await migrate(database, [windows, second], options)).toEqual([]);
  });

  it('rejects a migration that was changed after it ran', async () => {
    const edited = defineMigration('0002-second.sql', `${second.text} -- and more`);
    const error = await failure(migrate(database, [first, edited], options));
    expect(error).toMatchObject({
      code: 'STATE_UNUSABLE',
      message: expect.stringContaining('The migration 0002-second was changed after it ran') as string,
    });
  });

  it('rejects a store of a newer version', async () => {
    const error = await failure(migrate(database, [first], options));
    expect(error).toMatchObject({
      code: 'STATE_UNUSABLE',
      message: expect.stringContaining('newer Headworks (migration 2; this version has 1)') as string,
    });
  });

  it('rejects a store that 0.1.0 created, with a message, and leaves it unchanged', async () => {
    const own = await open(uniqueName('first_release'), clock);
    onTestFinished(async () => {
      await own.query(sql`drop schema ${identifier(own.schema)} cascade`);
      await own.close();
    });
    const oldFirst = defineMigration('0001-ledger.sql', 'create table ledger_entries (id int);');
    const oldSecond = defineMigration('0002-audit.sql', 'create table audit_log (id int);');
    await migrate(own, [{ ...oldFirst, name: 'other' }, oldSecond], options);
    await own.query(sql`update schema_migrations set name = 'ledger' where number = 1`);
    expect(await failure(migrate(own, await loadMigrations(), options))).toMatchObject({
      code: 'STATE_UNUSABLE',
      message: expect.stringMatching(
        /^This state store was created by Headworks 0\.1\.0, which this version cannot upgrade: start with an empty data folder[^.\n]+0\.1\.0 with this one\.$/,
      ) as string,
    });
    const { rows } = await own.query(
      sql`select count(*)::int as tables from pg_tables where schemaname = ${own.schema}`,
    );
    expect(rows).toEqual([{ tables: 3 }]);
  });

  it('rejects a store whose list of migrations has a gap', async () => {
    const { rows } = await database.query(sql`delete from schema_migrations where number = 1 returning *`);
    const error = await failure(migrate(database, [first, second], options));
    const { number, name, checksum, applied_at: appliedAt } = rows[0] as Record<string, string | Date>;
    await database.query(
      sql`insert into schema_migrations (number, name, checksum, applied_at) values (${number}, ${name}, ${checksum}, ${appliedAt})`,
    );
    expect(error).toMatchObject({
      code: 'STATE_UNUSABLE',
      message: expect.stringContaining('lacks the migration 0001-first') as string,
    });
  });

  it('rolls a failing migration back completely, and runs it once it is fixed', async () => {
    const error = await failure(migrate(database, [first, second, broken], options));
    expect(error).toMatchObject({ code: 'STATE_UNUSABLE', cause: { sqlState: '22012' } });
    expect((error as Error).message).toMatch(/^The migration 0003-broken failed: division by zero\. [^\n]+$/);
    expect(await history()).toHaveLength(2);
    const fixed = defineMigration('0003-broken.sql', 'create table third (id int);');
    expect(await migrate(database, [first, second, fixed], options)).toEqual([fixed]);
  });

  it('rejects a migration that ends its own transaction', async () => {
    const text = 'create table fourth (id int); commit;';
    const error = await failure(
      migrate(
        database,
        [
          first,
          second,
          defineMigration('0003-broken.sql', 'create table third (id int);'),
          defineMigration('0004-sly.sql', text),
        ],
        options,
      ),
    );
    expect(error).toMatchObject({ code: 'INTERNAL' });
    expect(await history()).toHaveLength(3);
  });
});

describe.each([
  [
    'embedded',
    async (schema: string) => {
      const folder = join(await folderWithStore(), '.headworks', 'state');
      return () => openEmbeddedDatabase({ folder, schema, clock: systemClock });
    },
  ],
  [
    'server',
    async (schema: string) => () => openServerDatabase({ url: databaseUrl(), schema, clock: systemClock }),
  ],
])('a store of 0.2.0, %s', (_, openerOf) => {
  it('is upgraded by the next migration when a later version opens it, with its rows', async () => {
    const schema = uniqueName('upgrade');
    const open = await openerOf(schema);
    // 0.2.0 was released with one migration.
    const released = (await loadMigrations()).slice(0, 1);
    const stored = await open();
    await migrate(stored, released, { clock: systemClock });
    await stored.query(sql`
      insert into ledger_entries (id, kind, subject, cause, message, details, count, first_seen_at, last_seen_at)
      values ('0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b', 'test.kind', 'one', 'CAUSE', 'It failed.', '{}', 3, now(), now())`);
    await stored.close();

    const later = defineMigration(
      '0002-severity.sql',
      `alter table ledger_entries add column severity text not null default 'unknown';`,
    );
    const upgraded = await open();
    onTestFinished(async () => {
      await upgraded.query(sql`drop schema ${identifier(schema)} cascade`);
      await upgraded.close();
    });
    expect(await migrate(upgraded, [...released, later], { clock: systemClock })).toEqual([later]);
    const { rows } = await upgraded.query(sql`select subject, count, severity from ledger_entries`);
    expect(rows).toEqual([{ subject: 'one', count: 3, severity: 'unknown' }]);
    const history = await upgraded.query(sql`select number, name from schema_migrations order by number`);
    expect(history.rows).toEqual([
      { number: 1, name: 'baseline' },
      { number: 2, name: 'severity' },
    ]);
  });
});

describe('several processes that migrate at once', () => {
  it('apply each migration exactly once between them', async () => {
    const schema = uniqueName('migrations');
    const program = fileURLToPath(new URL('postgres-migrator.ts', import.meta.url));
    const processes = Array.from({ length: 4 }, () => {
      const child = spawn(process.execPath, [program, databaseUrl(), schema], {
        stdio: ['pipe', 'pipe', 'inherit'],
      });
      return { child, lines: createInterface(child.stdout)[Symbol.asyncIterator]() };
    });
    await Promise.all(processes.map(({ lines }) => lines.next()));
    for (const { child } of processes) child.stdin.end('go\n');
    const answers = await Promise.all(processes.map(({ lines }) => lines.next()));
    const applied = answers.flatMap(({ value }) => JSON.parse(String(value)) as number[]);
    expect(applied.toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4, 5]);

    const database = await openServerDatabase({ url: databaseUrl(), schema, clock: systemClock });
    const { rows } = await database.query(
      sql`select array_agg(number order by number) as numbers from schema_migrations`,
    );
    await database.query(sql`drop schema ${identifier(schema)} cascade`);
    await database.close();
    expect(rows).toEqual([{ numbers: [1, 2, 3, 4, 5] }]);
  });
});
