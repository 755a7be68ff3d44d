import { existsSync } from 'node:fs';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { restore } from '../../src/operations/backup/restore.ts';
import { sql } from '../../src/platform/postgres/index.ts';
import type { StoreKind } from '../support/backup-world.ts';
import {
  contentsOf,
  dumpAsItIs,
  emptyInstallation,
  fillStore,
  inStore,
  linesIn,
  restoreFrom,
  writeLines,
} from '../support/backup-world.ts';
import { startHeadworks } from '../support/headworks-process.ts';
import { temporaryFolder } from '../support/services.ts';

const longTimeout = { timeout: 180_000 };

type Change = (lines: string[]) => readonly string[];

const changed = (wanted: RegExp, change: (line: string) => string): Change => {
  return (lines) => {
    const at = lines.findIndex((line) => wanted.test(line));
    expect(at).toBeGreaterThan(-1);
    return lines.with(at, change(lines[at] ?? ''));
  };
};
const header = (change: (header: Record<string, unknown>) => Record<string, unknown>): Change =>
  changed(/^\{"headworks":"backup"/, (line) =>
    JSON.stringify(change(JSON.parse(line) as Record<string, unknown>)),
  );

/** The damage, how it is made, and the expected error. */
const damages: readonly (readonly [what: string, change: Change, message: RegExp])[] = [
  ['its end is missing', (lines) => lines.slice(0, -1), /it has no end/],
  ['it breaks off inside a table', (lines) => lines.slice(0, 40), /it has no end/],
  [
    'a row is missing',
    (lines) =>
      lines.toSpliced(
        lines.findIndex((line) => line.includes('"r7"')),
        1,
      ),
    /gateway_attempts/,
  ],
  ['a row was changed', changed(/"r7"/, (line) => line.replace('"r7"', '"r8"')), /gateway_attempts/],
  ['a table is missing', (lines) => without(lines, 'organization_keys'), /tables or files are missing/],
  ['something follows its end', (lines) => [...lines, '{}'], /outside of any table or file/],
  ['a line cannot be read', changed(/"table-end"/, (line) => line.slice(0, -3)), /cannot be parsed/],
  ['it is of a newer format', header((found) => ({ ...found, format: 99 })), /newer Headworks/],
  [
    'it is of a newer version',
    header((found) => ({
      ...found,
      migrations: [...(found['migrations'] as object[]), { number: 99, name: 'later', checksum: 'x' }],
    })),
    /newer Headworks.*migration/,
  ],
  [
    'its jobs are of a newer version',
    header((found) => ({ ...found, jobsVersion: 9_999 })),
    /tables for jobs/,
  ],
  [
    'a migration was another one',
    header((found) => ({
      ...found,
      migrations: (found['migrations'] as object[]).map((migration) => ({ ...migration, checksum: 'x' })),
    })),
    /another migration 1/,
  ],
  [
    'a table has an unknown column',
    changed(/"name":"organizations"/, (line) => line.replace('["id"', '["odd","id"')),
    /does not match its migrations/,
  ],
  ['a row refers to another that is not there', withoutOrganizations, /violates foreign key/],
  [
    'it failed while it was written',
    (lines) => [
      ...lines.slice(0, 40),
      '{"headworks":"failed","code":"STATE_UNAVAILABLE","message":"The store went away."}',
    ],
    /Writing the backup failed: The store went away/,
  ],
];

function without(lines: readonly string[], table: string): readonly string[] {
  const from = lines.findIndex((line) => line.includes(`"name":"${table}"`));
  const to = lines.findIndex((line, index) => index > from && line.startsWith('{"headworks":"table-end"'));
  expect(from).toBeGreaterThan(-1);
  return lines.toSpliced(from, to - from + 1);
}

/** Valid by itself: only the rows contradict each other. */
function withoutOrganizations(lines: readonly string[]): readonly string[] {
  const rest = without(lines, 'organizations');
  const end = JSON.parse(rest.at(-1) ?? '') as { tables: number; rows: number };
  return rest.with(rest.length - 1, JSON.stringify({ ...end, tables: end.tables - 1, rows: end.rows - 1 }));
}

/** A store, a backup of it, and its changed contents. */
async function filledStore(kind: StoreKind) {
  const config = await emptyInstallation(kind);
  const file = join(await temporaryFolder(), 'whole.backup');
  const before = await inStore(config, async (database) => {
    await fillStore(database);
    await dumpAsItIs(database, file);
    await database.query(sql`update organizations set name = 'there before'`);
    return contentsOf(database);
  });
  return { config, file, before };
}

describe('a backup that is incomplete, or of another version', () => {
  it('is rejected, and the store is unchanged, for every kind of damage', longTimeout, async () => {
    const { config, file, before } = await filledStore('server');
    const lines = await linesIn(file);
    for (const [what, change, message] of damages) {
      const damaged = join(await temporaryFolder(), 'damaged.backup');
      await writeLines(damaged, change([...lines]));
      const refused = await restoreFrom(config, damaged, { replace: true }).then(
        () => new Error(`restored although ${what}`),
        (error: unknown) => error as Error,
      );
      expect(refused.message, what).toMatch(message);
    }
    const bytes = await readFile(file);
    const spoilt: readonly (readonly [string, Buffer])[] = [
      ['cut in half', bytes.subarray(0, bytes.length / 2)],
      ['cut at the last byte', bytes.subarray(0, -1)],
      [
        'a bit that fell over',
        Buffer.concat([
          bytes.subarray(0, 5_000),
          Buffer.from([(bytes[5_000] ?? 0) ^ 1]),
          bytes.subarray(5_001),
        ]),
      ],
      ['no backup at all', Buffer.from('not a backup')],
      ['nothing', Buffer.alloc(0)],
    ];
    for (const [what, content] of spoilt) {
      const damaged = join(await temporaryFolder(), 'spoilt.backup');
      await writeFile(damaged, content);
      await expect(restoreFrom(config, damaged, { replace: true }), what).rejects.toMatchObject({
        code: 'INPUT_INVALID',
        message: expect.stringMatching(/damaged or incomplete/) as string,
      });
    }
    await expect(restoreFrom(config, join(file, 'nowhere'))).rejects.toMatchObject({ code: 'INPUT_INVALID' });
    expect(await inStore(config, contentsOf)).toEqual(before);
    expect((await readdir(config.data.folder)).filter((name) => name.startsWith('unfinished-'))).toEqual([]);
  });
});

describe('an interrupted restore', () => {
  it('leaves the store unchanged when it is canceled', longTimeout, async () => {
    const { config, file, before } = await filledStore('server');
    const stopping = new AbortController();
    const restoring = restore(config, {
      file,
      replace: true,
      signal: stopping.signal,
      onProgress: () => stopping.abort(new Error('stopped')),
    });
    await expect(restoring).rejects.toThrow('stopped');
    expect(await inStore(config, contentsOf)).toEqual(before);
  });

  it('leaves the embedded store unchanged when its process is killed', longTimeout, async () => {
    const { config, file, before } = await filledStore('embedded');
    const run = startHeadworks(
      ['restore', file, '--replace', '--data-dir', config.data.folder],
      await temporaryFolder(),
      { HEADWORKS_DATABASE_SCHEMA: config.state.schema },
    );
    await run.printed(/restoring: \d+ of/);
    run.child.kill('SIGKILL');
    await run.ended;
    expect(existsSync(join(config.data.folder, 'state', 'PG_VERSION'))).toBe(true);
    expect(await inStore(config, contentsOf)).toEqual(before);
  });
});
