import { existsSync } from 'node:fs';
import { mkdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { requireStoreOrServer } from '../../src/app/client/data-folder.ts';
import type { RunningServer } from '../../src/app/index.ts';
import { readServerFile, writeServerFile } from '../../src/app/client/local-server.ts';
import { startServer } from '../../src/app/start.ts';
import type { Config } from '../../src/config/index.ts';
import { createScratch } from '../../src/operations/backup/disk-space.ts';
import { openServerTarget } from '../../src/operations/backup/open-target.ts';
import { defineMigration, sql } from '../../src/platform/postgres/index.ts';
import { openSqlite } from '../../src/platform/sqlite/open-sqlite.ts';
import {
  backUp,
  contentsOf,
  dumpAsItIs,
  emptyInstallation,
  fillStore,
  filledInstallation,
  inStore,
  linesIn,
  ourMigrations,
  restoreFrom,
} from '../support/backup-world.ts';
import { databaseUrl, redisUrl, temporaryFolder, uniqueName } from '../support/services.ts';
import { callAsAdmin, startTestServer } from '../support/test-server.ts';

/** Each starts and stops servers several times, on a busy machine. */
const longTimeout = { timeout: 180_000 };

/** Tables that a running server writes to by itself, or because of the documents that the test sends. */
const stirred =
  /^(audit_log|artifact|artifact_revision|chunk|chunk_posting|chunk_step|corpus_total|job|queue|schedule|entity.*|event.*|semantic_event|gateway_attempts|gateway_discover.*|gateway_models|gateway_probe_schedule|knowledge_space|ledger_entries)$/;

const untouched = (contents: Readonly<Record<string, readonly string[]>>) =>
  Object.fromEntries(Object.entries(contents).filter(([name]) => !stirred.test(name)));

const vaultIn = ({ data }: Config): string => join(data.folder, 'vaults', 'acme.vault');

async function addVault(config: Config, text: string): Promise<void> {
  await mkdir(join(config.data.folder, 'vaults'), { recursive: true });
  const db = openSqlite(vaultIn(config));
  db.exec('create table item (text)');
  db.prepare('insert into item values (?)').run(text);
  db.close();
}

function textInVault(config: Config): unknown {
  const db = openSqlite(vaultIn(config), { readOnly: true });
  const row = db.prepare('select text from item').get();
  db.close();
  return row?.['text'];
}

/** Sends documents one after the other until the returned function is called. */
function keepWriting(server: RunningServer): () => Promise<void> {
  let isWriting = true;
  const writing = (async () => {
    for (let round = 0; isWriting && round < 50; round++)
      await callAsAdmin(server, 'POST', '/api/v1/knowledge/artifacts', {
        file: { name: `${round}.txt`, media_type: 'text/plain', content: btoa(`Round ${round} of Falcon.`) },
      });
  })();
  return () => {
    isWriting = false;
    return writing;
  };
}

async function countsIn(config: Config) {
  const { rows } = await inStore(config, (database) =>
    database.query<{ artifacts: number; revisions: number; chunks: number }>(sql`
      select (select count(*) from artifact) as artifacts, (select count(*) from artifact_revision) as revisions,
             (select count(*) from chunk) as chunks`),
  );
  return rows[0];
}

describe.each([
  ['embedded', 'server'],
  ['server', 'embedded'],
] as const)('a backup of the %s store, while a server writes to it', (kind, other) => {
  it(
    `restores into a store of the other kind: a consistent snapshot of rows, vaults, secrets`,
    longTimeout,
    async () => {
      const source = await filledInstallation(kind);
      await addVault(source.config, 'längst');
      const file = join(await temporaryFolder(), 'a.backup');
      const killed = await createScratch(source.config.data.folder, 'restore');
      const server = await startTestServer(source.config);
      expect(existsSync(killed)).toBe(false);
      const stopWriting = keepWriting(server);
      const saved = await backUp(source.config, file);
      await stopWriting();
      await server.stop();
      expect(saved).toMatchObject({ file, vaults: ['acme.vault'], hasWebhookSecret: kind === 'embedded' });
      expect((await stat(file)).mode & 0o777).toBe(0o600);
      const token = (await readFile(join(source.config.data.folder, 'admin-token'), 'utf8')).trim();
      expect((await linesIn(file)).some((line) => line.includes(token))).toBe(false);

      const target = await emptyInstallation(other);
      await mkdir(target.data.folder, { recursive: true });
      const left = await createScratch(target.data.folder, 'backup');
      const report = await restoreFrom(target, file);
      expect(existsSync(left)).toBe(false);
      expect(report).toMatchObject({ rows: saved.rows, tables: saved.tables, backup: { store: kind } });
      expect(untouched(await inStore(target, contentsOf))).toEqual(untouched(source.contents));
      // An artifact, its revision and its chunk are written in one transaction.
      const counts = await countsIn(target);
      expect(counts).toEqual({
        artifacts: counts?.artifacts,
        revisions: counts?.artifacts,
        chunks: counts?.artifacts,
      });
      expect(textInVault(target)).toBe('längst');
      expect(existsSync(join(target.data.folder, 'webhook-secret'))).toBe(kind === 'embedded');
      const hasSecretNote = report.notes.some((note) => note.includes('HEADWORKS_WEBHOOK_SECRET'));
      expect(hasSecretNote).toBe(kind === 'embedded');
    },
  );
});

describe('restore', () => {
  it('results in a working store: names, queued jobs and sequences continue', longTimeout, async () => {
    const source = await filledInstallation('server');
    const file = join(await temporaryFolder(), 'a.backup');
    await inStore(source.config, (database) => dumpAsItIs(database, file));
    const target = await emptyInstallation('server');
    await restoreFrom(target, file);
    expect(await inStore(target, contentsOf)).toEqual(source.contents);
    const server = await startTestServer(target);
    const organizations = await callAsAdmin(server, 'GET', '/api/v1/organizations');
    expect(JSON.stringify(organizations.body)).toContain('漢字 🎉');
    const model = { name: 'another', base_url: 'http://127.0.0.1:9' };
    expect(await callAsAdmin(server, 'POST', '/api/v1/models', model)).toMatchObject({ status: 201 });
    const jobs = await callAsAdmin(server, 'GET', '/api/v1/jobs?state=queued');
    expect(JSON.stringify(jobs.body)).toContain('test.waiting');
    await server.stop();
    const { rows } = await inStore(target, (database) =>
      database.query<{ id: number }>(sql`select id from gateway_models where name = 'another'`),
    );
    expect(rows[0]?.id).toBeGreaterThan(99);
  });

  it('rejects a store or a vault that exists, unless --replace is given', longTimeout, async () => {
    const source = await filledInstallation('server');
    await addVault(source.config, 'from the backup');
    const file = join(await temporaryFolder(), 'a.backup');
    await backUp(source.config, file);
    const target = await filledInstallation('server');
    await expect(restoreFrom(target.config, file)).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('--replace') as string,
    });
    const onlyVault = await emptyInstallation('server');
    await addVault(onlyVault, 'there before');
    await expect(restoreFrom(onlyVault, file)).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('acme.vault') as string,
    });
    expect(textInVault(onlyVault)).toBe('there before');
    expect(await inStore(onlyVault, contentsOf)).toEqual({});
    expect(await inStore(target.config, contentsOf)).toEqual(target.contents);
    await addVault(target.config, 'there before');
    await restoreFrom(target.config, file, { replace: true });
    expect(textInVault(target.config)).toBe('from the backup');
    const after = await inStore(target.config, contentsOf);
    expect(after['organization_keys']).toEqual(source.contents['organization_keys']);
    expect(after['organization_keys']).not.toEqual(target.contents['organization_keys']);
  });

  it(
    'fails while a server runs on the folder, or a server or worker on the database',
    longTimeout,
    async () => {
      const file = join(await temporaryFolder(), 'a.backup');
      const busy = await emptyInstallation('server');
      await inStore(busy, async (database) => {
        await fillStore(database);
        await dumpAsItIs(database, file);
      });
      const server = await startTestServer(busy);
      await expect(restoreFrom(busy, file, { replace: true })).rejects.toMatchObject({
        code: 'DATA_FOLDER_BUSY',
      });
      const elsewhere = { ...busy, data: { ...busy.data, folder: await temporaryFolder() } };
      await expect(restoreFrom(elsewhere, file, { replace: true })).rejects.toMatchObject({
        code: 'CONFLICT',
        message: expect.stringContaining('A Headworks server uses') as string,
      });
      await server.stop();
      const shared = {
        ...elsewhere,
        redis: { ...busy.redis, url: redisUrl(), keyPrefix: uniqueName('backup') },
      };
      const worker = await startServer(shared, { role: 'worker' });
      await expect(restoreFrom(busy, file, { replace: true })).rejects.toMatchObject({
        code: 'CONFLICT',
        message: expect.stringContaining('A Headworks worker uses') as string,
      });
      await worker.stop();
      const closing = new AsyncDisposableStack();
      await openServerTarget(databaseUrl(), busy.state.schema, closing);
      await expect(startServer(shared, { role: 'worker' })).rejects.toMatchObject({ code: 'CONFLICT' });
      await closing.disposeAsync();
    },
  );

  it(
    'detects a running server whose database settings are unknown, and ignores a stale server file',
    longTimeout,
    async () => {
      const installation = await emptyInstallation('server');
      const unaware = { ...installation, state: { ...installation.state, databaseUrl: null } };
      const { signal } = new AbortController();
      const server = await startTestServer(installation);
      await requireStoreOrServer(unaware, signal);
      const file = await readServerFile(installation.data.folder);
      await server.stop();
      if (file) await writeServerFile(installation.data.folder, file);
      await expect(requireStoreOrServer(unaware, signal)).rejects.toMatchObject({ code: 'INPUT_INVALID' });
    },
  );

  it('migrates a backup of an older version', longTimeout, async () => {
    const source = await emptyInstallation('server');
    const file = join(await temporaryFolder(), 'older.backup');
    const older = await inStore(source, async (database) => {
      await fillStore(database);
      await dumpAsItIs(database, file);
      return contentsOf(database);
    });

    const target = await emptyInstallation('server');
    const migrations = [
      ...(await ourMigrations()),
      defineMigration('9999-later.sql', 'create table later (id integer);'),
    ];
    await restoreFrom(target, file, { migrations });
    expect(await inStore(target, contentsOf)).toEqual(older);
    const { rows } = await inStore(target, (database) =>
      database.query(sql`select to_regclass('later')::text as newest`),
    );
    expect(rows).toEqual([{ newest: 'later' }]);
  });

  it('rejects a backup of 0.1.0 and names the version that restores it', longTimeout, async () => {
    const source = await emptyInstallation('server');
    const file = join(await temporaryFolder(), 'first.backup');
    await inStore(source, async (database) => {
      await fillStore(database);
      await database.query(sql`update schema_migrations set name = 'ledger', checksum = 'old'`);
      await dumpAsItIs(database, file);
    });
    await expect(restoreFrom(await emptyInstallation('server'), file)).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      message: expect.stringMatching(/^The backup was created by Headworks [^\n]+ cannot restore/) as string,
    });
  });
});
