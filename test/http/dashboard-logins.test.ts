// Tokens of login links in Postgres, embedded and on a server: valid once, until they expire, on any server.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock, systemIds } from '../../src/core/index.ts';
import { VirtualClock } from '../support/core/virtual-clock.ts';
import { DashboardLogins } from '../../src/operations/dashboard.ts';
import { openServerDatabase } from '../../src/platform/postgres/server/server-store.ts';
import { sql } from '../../src/platform/postgres/sql.ts';
import type { MigratedDatabase } from '../support/migrated-databases.ts';
import { migratedDatabase, migratedDatabases } from '../support/migrated-databases.ts';
import { databaseUrl, uniqueName } from '../support/services.ts';

describe.each(migratedDatabases)('%s', (_name, open) => {
  let opened: MigratedDatabase;
  beforeAll(async () => {
    opened = await open();
  });
  afterAll(() => opened.dispose());

  const openLogins = (clock = new VirtualClock(Date.parse('2026-03-01T12:00:00Z'))) => ({
    clock,
    logins: new DashboardLogins(opened.database, clock, systemIds),
  });

  it('a token works once, even when used concurrently', async () => {
    const { logins } = openLogins();
    const { token } = await logins.create();
    const used = await Promise.all(Array.from({ length: 8 }, () => logins.use(token)));
    expect(used.filter(Boolean)).toHaveLength(1);
    expect(await logins.use(token)).toBe(false);
  });

  it('a token works for ten minutes, and is deleted when the next one is created', async () => {
    const { logins, clock } = openLogins();
    const { token, expiresAt } = await logins.create();
    expect(expiresAt.getTime() - clock.now()).toBe(600_000);
    await clock.advance(599_999);
    const { token: second } = await logins.create();
    await clock.advance(1);
    expect(await logins.use(token)).toBe(false);
    await clock.advance(600_000);
    await logins.create();
    expect(await logins.use(second)).toBe(false);
    const { rows } = await opened.database.query(sql`select 1 from login_link`);
    expect(rows).toHaveLength(1);
  });

  it('stores only hashes of tokens, and rejects any other text', async () => {
    const { logins } = openLogins();
    const { token } = await logins.create();
    const { rows } = await opened.database.query<{ all: string }>(
      sql`select string_agg(login_link::text, ' ') as all from login_link`,
    );
    expect(rows[0]?.all).not.toContain(token);
    for (const other of ['', token.slice(1), `${token} `, token.toUpperCase()])
      expect(await logins.use(other)).toBe(false);
    expect(await logins.use(token)).toBe(true);
  });
});

describe('two servers on one database', () => {
  it('a link of one logs in on the other, and then works on neither', async () => {
    const url = databaseUrl();
    const { database, dispose } = await migratedDatabase(
      await openServerDatabase({ url, schema: uniqueName('headworks'), clock: systemClock }),
    );
    const other = await openServerDatabase({ url, schema: database.schema, clock: systemClock });
    try {
      const [here, there] = [database, other].map(
        (each) => new DashboardLogins(each, systemClock, systemIds),
      );
      const { token = '' } = (await here?.create()) ?? {};
      expect(await there?.use(token)).toBe(true);
      expect(await here?.use(token)).toBe(false);
    } finally {
      await other.close();
      await dispose();
    }
  });
});
