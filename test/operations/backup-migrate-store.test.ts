import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Config } from '../../src/config/index.ts';
import { systemClock } from '../../src/core/index.ts';
import type { MigrateStoreReport } from '../../src/operations/backup/restore.ts';
import { migrateStore } from '../../src/operations/backup/restore.ts';
import type { Migration } from '../../src/platform/postgres/index.ts';
import { defineMigration, migrate, sql } from '../../src/platform/postgres/index.ts';
import {
  contentsOf,
  dropStore,
  emptyInstallation,
  fillStore,
  filledInstallation,
  inStore,
  ourMigrations,
} from '../support/backup-world.ts';
import { databaseUrl, temporaryFolder, uniqueName } from '../support/services.ts';
import { startTestServer } from '../support/test-server.ts';

const longTimeout = { timeout: 180_000 };

const migrating = (
  config: Config,
  replace = false,
  migrations?: readonly Migration[],
): Promise<MigrateStoreReport> =>
  migrateStore(config, {
    to: databaseUrl(),
    replace,
    migrations,
    onProgress: () => undefined,
    signal: new AbortController().signal,
  });

const withSchema = (config: Config, schema: string): Config => ({
  ...config,
  state: { ...config.state, schema },
});
const moved = (config: Config): Config => ({
  ...config,
  state: { ...config.state, databaseUrl: databaseUrl() },
});

/** Every schema of a store with how many tables it has, and the migrations of ours. */
const shapeOf = (config: Config) =>
  inStore(config, async (database) => {
    const schemas = await database.query(
      sql`select schemaname::text, count(*) as tables from pg_tables group by 1 order by 1`,
    );
    const history = await database.query(sql`select number, applied_at from schema_migrations order by 1`);
    return [...schemas.rows, ...history.rows];
  });

describe('migrate-store', () => {
  it(
    'copies every row of an older store to a schema of another name, and changes nothing in it',
    longTimeout,
    async () => {
      const config = await emptyInstallation('embedded');
      const contents = await inStore(config, async (database) => {
        await fillStore(database);
        return contentsOf(database);
      });
      // Older versions created an empty one, which is not taken for the store.
      const odd = withSchema(config, uniqueName('odd'));
      await inStore(odd, async (database) => {
        await migrate(database, await ourMigrations(), { clock: systemClock });
      });
      const before = await shapeOf(config);
      await writeFile(join(config.data.folder, 'webhook-secret'), 'a-secret-of-sixteen\n');
      const target = withSchema(config, uniqueName('moved'));
      onTestFinished(() => dropStore(target.state.schema));
      const later = defineMigration('9999-later.sql', 'create table later (id integer);');
      const report = await migrating(target, false, [...(await ourMigrations()), later]);
      expect(report.schema).toBe(target.state.schema);
      expect(report.rows).toBe(Object.values(contents).reduce((sum, rows) => sum + rows.length, 0));
      expect(report.notes.join(' ')).toContain('HEADWORKS_WEBHOOK_SECRET');
      expect(await inStore(moved(target), contentsOf)).toEqual(contents);
      const { rows } = await inStore(moved(target), (database) =>
        database.query(sql`select to_regclass('later')::text as newest`),
      );
      expect(rows).toEqual([{ newest: 'later' }]);
      expect(await inStore(config, contentsOf)).toEqual(contents);
      expect(await shapeOf(config)).toEqual(before);
      await expect(migrating(target)).rejects.toMatchObject({ code: 'CONFLICT' });

      await inStore(odd, (database) =>
        database.script(`insert into organizations values ('org_1', 'a', 'a', now())`),
      );
      await expect(migrating(withSchema(config, uniqueName('third')), true)).rejects.toMatchObject({
        code: 'INPUT_INVALID',
        message: expect.stringContaining(odd.state.schema) as string,
      });
    },
  );

  it('rejects a folder without a store, and replaces nothing', longTimeout, async () => {
    const { config: full, contents } = await filledInstallation('server');
    const nowhere = join(await temporaryFolder(), 'typo');
    const without = {
      ...full,
      data: { ...full.data, folder: nowhere },
      state: { ...full.state, databaseUrl: null },
    };
    await expect(migrating(without, true)).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      message: expect.stringContaining(nowhere) as string,
    });
    expect(existsSync(nowhere)).toBe(false);
    const empty = withSchema(await emptyInstallation('embedded'), full.state.schema);
    await expect(migrating(empty, true)).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      message: expect.stringContaining('is empty') as string,
    });
    expect(await inStore(full, contentsOf)).toEqual(contents);
  });

  it('fails while a server uses the embedded store', longTimeout, async () => {
    const config = await emptyInstallation('embedded');
    await startTestServer(config);
    await expect(migrating(config)).rejects.toMatchObject({ code: 'DATA_FOLDER_BUSY' });
  });
});
