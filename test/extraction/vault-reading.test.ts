// Reading a vault: lists, one item and its versions, verification, comparison, export.
import { mkdir, readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parsePage } from '../../src/extraction/parsing/parse-page.ts';
import type { ItemShape, PageRequest, ParsedPage } from '../../src/extraction/types.ts';
import {
  diffSessions,
  exportVault,
  openVaultReader,
  verifyVault,
  type VaultReader,
} from '../../src/extraction/vault/index.ts';
import { temporaryFolder } from '../support/services.ts';
import {
  extract,
  itemOf,
  noHeader,
  offsetRequest,
  pageOf,
  simplePage,
  source,
  specOf,
  typeNamed,
  vaultWorld,
  type VaultWorld,
  endWith,
} from '../support/vault-world.ts';
import { childList, pageOfList, rootList } from '../support/extraction/pages.ts';

function read(world: VaultWorld): VaultReader {
  const reader = openVaultReader(world.path);
  onTestFinished(() => reader.close());
  return reader;
}

/** Changes the file as another tool would, without constraints. */
function change({ path }: VaultWorld, sql: string): void {
  const db = new DatabaseSync(path);
  db.exec(`PRAGMA foreign_keys = off; ${sql}`);
  db.close();
}

const unknown = (message: string) => expect.objectContaining({ code: 'EXTRACTION_ITEM_UNKNOWN', message });

/** Four sessions: two items; one changed, one added; one absent, and deleted with the second absence. */
async function fourSessions(): Promise<VaultWorld> {
  const world = await vaultWorld();
  extract(world, [simplePage(0, 2)]);
  extract(world, [pageOf(offsetRequest(0, 3), [...simplePage(0, 1, 'b').items, ...simplePage(1, 2).items])]);
  for (let absent = 0; absent < 2; absent++)
    extract(world, [
      pageOf(offsetRequest(0, 3), [...simplePage(0, 1, 'b').items, ...simplePage(2, 1).items]),
    ]);
  return world;
}

describe('a vault that is read', () => {
  it('lists types, items and sessions, also while it is written', async () => {
    const world = await fourSessions();
    const reader = read(world);
    expect(reader.source()).toBe(source);
    expect(reader.types()).toMatchObject([
      {
        type: 'dashboards',
        live: 2,
        deleted: 1,
        session: 4,
        state: 'completed',
        reason: null,
        itemsSeen: 2,
      },
    ]);
    expect(reader.items('dashboards', { limit: 10 }).map(({ id }) => id)).toEqual(['0', '2']);
    expect(reader.items('dashboards', { limit: 1, after: '0', withDeleted: true })).toMatchObject([
      {
        id: '1',
        name: 'a',
        deletedAt: world.clock.now(),
        hash: expect.stringMatching(/^[0-9a-f]{16}$/),
      },
    ]);
    expect(reader.sessions().map(({ number, state }) => [number, state])).toEqual([
      [4, 'completed'],
      [3, 'completed'],
      [2, 'completed'],
      [1, 'completed'],
    ]);
    const [newest] = reader.sessions(1);
    expect(reader.session(newest?.id ?? '')).toEqual(reader.session('4'));
  });

  it('shows an item as it is and as it was', async () => {
    const reader = read(await fourSessions());
    expect(reader.data('dashboards', '0')).toBe('{"id":"0","value":"b"}');
    expect(reader.data('dashboards', '0', 1)).toBe('{"id":"0","value":"a"}');
    expect(reader.data('dashboards', '1')).toBe('{"id":"1","value":"a"}');
    expect(reader.data('dashboards', '1', 2)).toBeNull();
    expect(reader.versions('dashboards', '1')).toMatchObject([
      { number: 1, session: 1, size: 22 },
      { number: 2, session: 4, size: null, hash: null },
    ]);
  });

  it('reports what is missing, and what it has', async () => {
    const world = await fourSessions();
    const reader = read(world);
    expect(() => reader.item('dashboards', '9')).toThrow(
      unknown(`${world.path} has no item 9 of the type dashboards. See "headworks vault list dashboards".`),
    );
    expect(() => reader.items('dashbords', { limit: 1 })).toThrow(
      unknown(`${world.path} has no items of the type dashbords. It has dashboards.`),
    );
    expect(() => reader.data('dashboards', '0', 7)).toThrow(/has no version 7 of 0/);
    expect(() => reader.session('17')).toThrow(/has no session 17/);
  });
});

describe('verifying a vault', () => {
  it('finds nothing wrong with one that is whole', async () => {
    expect(verifyVault(read(await fourSessions()))).toEqual({
      isSound: true,
      isComplete: true,
      checked: { items: 3, versions: 5, pages: 1 },
      problems: [],
      problemCount: 0,
    });
  });

  it.each([
    [
      'data that was changed',
      `UPDATE content_versions SET data = '{"id":"1","value":"z"}' WHERE number = 1 AND id = '1'`,
      /does not have the hash/,
    ],
    [
      'data that was cut',
      `UPDATE content_versions SET data = '{' WHERE id = '2'`,
      /has 1 bytes instead of 22/,
    ],
    ['data that is gone', `UPDATE content_versions SET data = NULL WHERE id = '2'`, /has lost its data/],
    ['a version that is gone', `DELETE FROM content_versions WHERE id = '2'`, /has no data/],
    ['an item that disagrees', `UPDATE items SET hash = 1 WHERE id = '0'`, /do not agree/],
    ['a deletion that was undone by hand', `UPDATE items SET deleted_at = NULL`, /deleted in one table/],
  ])('finds %s', async (_what, sql, message) => {
    const world = await fourSessions();
    change(world, sql);
    const report = verifyVault(read(world));
    expect(report.isSound).toBe(false);
    expect(report.problems.map((problem) => problem.message)).toContainEqual(expect.stringMatching(message));
  });

  /** Looks with all facts, of two pages; folders that name tiles, two pages of tiles each. */
  async function richVault(): Promise<VaultWorld> {
    const world = await vaultWorld();
    const { sessions } = world.vault;
    const shape: ItemShape = {
      items: { kind: 'list', path: [] },
      id: [['id']],
      name: ['title'],
      folder: ['folder', 'id'],
      updatedAt: ['updated_at'],
    };
    const types = [
      typeNamed('looks', { shape }),
      typeNamed('folders'),
      typeNamed('tiles', {
        parent: { type: 'folders', keys: { id: ['id'] } },
        shape: { ...shape, isIdWithinParent: true },
      }),
    ];
    const { id } = sessions.open(specOf({ types }));
    const look = (number: number, request: PageRequest = offsetRequest(0, 2, 'looks')) => {
      const text = JSON.stringify({
        id: number,
        title: `Look ${number}`,
        folder: { id: 12 },
        updated_at: '2026-01-02T03:04:05Z',
      });
      return parsePage(request, Buffer.from(`[${text}]`), types).items;
    };
    const write = (page: ParsedPage, total: number | null = null) =>
      world.writer.write(id, page, { total, nextLink: null });
    write(pageOf(offsetRequest(0, 2, 'looks'), [...look(1), ...look(2)]), 3);
    write(pageOf(offsetRequest(2, 2, 'looks'), look(3)), 3);
    const children = ['0', '1'].map((folder) => childList('tiles', { id: folder }));
    write({ ...simplePage(0, 2, 'a', 'folders'), children }, 2);
    for (const list of children)
      for (const offset of [0, 1]) {
        const request = pageOfList(list, { kind: 'offset', offset, limit: 1 });
        write(pageOf(request, offset === 0 ? look(7, request) : []));
      }
    for (const [type, total] of [
      ['looks', 3],
      ['folders', 2],
      ['tiles', null],
    ] as const)
      expect(sessions.finishType(id, type, endWith(total))).toBe('completed');
    return world;
  }

  it('finds nothing wrong with facts, ids within a parent and pages of children', async () => {
    const world = await richVault();
    expect(world.rows('SELECT id FROM items ORDER BY id')).toContainEqual({ id: '0::7' });
    expect(verifyVault(read(world)).problems).toEqual([]);
  });

  const looks = `content_type = (SELECT number FROM content_types WHERE name = 'looks')`;
  const swapped = (column: string) =>
    `${column} = (SELECT ${column} FROM content_versions AS other WHERE other.id = '2' AND other.${looks})`;
  it.each([
    [
      'a type of which all rows are gone',
      `DELETE FROM items WHERE ${looks}; DELETE FROM content_versions WHERE ${looks}`,
      /3 items were written, 0 are in the file/,
    ],
    [
      'an item that is gone without a trace',
      `DELETE FROM items WHERE id = '3'; DELETE FROM content_versions WHERE id = '3'`,
      /3 items were written, 2 are/,
    ],
    [
      'an item of which only versions are left',
      `DELETE FROM items WHERE id = '3'`,
      /Version 1 belongs to no item/,
    ],
    ['an item whose versions are gone', `DELETE FROM content_versions WHERE id = '3'`, /has no data/],
    [
      'a version that belongs to nothing',
      `INSERT INTO content_versions SELECT content_type, 'x', number, session, first_seen_at, size, hash, data FROM content_versions WHERE id = '3'`,
      /belongs to no item/,
    ],
    [
      'a name that was changed',
      `UPDATE items SET name = 'x' WHERE id = '3'`,
      /columns differ from its data: name\./,
    ],
    [
      'a folder that was changed',
      `UPDATE items SET folder = '13' WHERE id = '3'`,
      /columns differ from its data: folder\./,
    ],
    [
      'a time that was changed',
      `UPDATE items SET updated_at = updated_at + 1 WHERE id = '3'`,
      /columns differ from its data: updatedAt\./,
    ],
    [
      'an owner that was made up',
      `UPDATE items SET owner = 'x' WHERE id = '3'`,
      /columns differ from its data: owner\./,
    ],
    [
      'an id that was changed',
      `UPDATE items SET id = '9' WHERE id = '3'; UPDATE content_versions SET id = '9' WHERE id = '3'`,
      /that of the item 3\./,
    ],
    [
      'a session that was changed',
      `INSERT INTO extraction_sessions (id, source, state, started_at, types, config) SELECT 'x', source, state, started_at, '[]', config FROM extraction_sessions; UPDATE items SET session = 2 WHERE id = '3'`,
      /Session 1 saw 3 items, the file has 2/,
    ],
    [
      'a session that is none',
      `UPDATE items SET session = 7 WHERE id = '3'`,
      /session that saw it last is missing/,
    ],
    [
      'a raw hash that was changed',
      `UPDATE items SET raw_hash = 5 WHERE id = '3'`,
      /hash of the last received data was changed/,
    ],
    [
      'data of another item',
      `UPDATE content_versions SET ${swapped('hash')}, ${swapped('data')} WHERE id = '1' AND ${looks}; UPDATE items SET hash = v.hash, raw_hash = v.hash FROM content_versions AS v WHERE v.id = items.id AND v.content_type = items.content_type`,
      /that of the item 2\./,
    ],
    [
      'a missing checkpoint',
      `DELETE FROM pages WHERE ${looks}; DELETE FROM checkpoints WHERE ${looks}`,
      /checkpoint of session 1 is missing/,
    ],
  ])('finds %s', async (_what, sql, message) => {
    const world = await richVault();
    change(world, sql);
    const report = verifyVault(read(world));
    expect(report.isSound).toBe(false);
    expect(report.problems.map((problem) => problem.message)).toContainEqual(expect.stringMatching(message));
  });

  it.each([
    ['the last page', 'offset:2+2', /2 pages were read, 1 are in the file/],
    ['the first page', 'offset:0+2', /items 0 to 1 were never requested/],
    ['the first page of a child', '@0/offset:0+1', /4 pages were read, 3 are/],
    ['the last page of a child', '@0/offset:1+1', /4 pages were read, 3 are/],
  ])('reports that %s is missing', async (_what, key, message) => {
    const world = await richVault();
    change(world, `DELETE FROM pages WHERE key = '${key}'`);
    const report = verifyVault(read(world));
    expect(report.isSound).toBe(false);
    expect(report.problems.map((problem) => problem.message)).toContainEqual(expect.stringMatching(message));
  });

  it('accepts another order of keys, and finds a changed hash', async () => {
    const world = await vaultWorld();
    extract(world, [pageOf(offsetRequest(0, 2), [itemOf('1', '{"id":"1","n":1}')])]);
    extract(world, [pageOf(offsetRequest(0, 2), [itemOf('1', '{"n":1,"id":"1"}')])]);
    expect(world.rows('SELECT raw_hash <> hash AS is_turned FROM items')).toEqual([{ is_turned: 1n }]);
    expect(verifyVault(read(world)).problems).toEqual([]);
    change(world, 'UPDATE items SET raw_hash = raw_hash + 1');
    expect(verifyVault(read(world)).problems).toHaveLength(1);
  });

  it('finds that the beginning of a history was removed, and a gap in one', async () => {
    const world = await vaultWorld();
    for (const value of ['a', 'b', 'c', 'd'])
      extract(world, [pageOf(offsetRequest(0, 2), simplePage(0, 1, value).items)]);
    expect(verifyVault(read(world)).problems).toEqual([]);
    change(world, 'DELETE FROM content_versions WHERE number = 1');
    const beginning = { type: 'dashboards', message: '4 versions of items should be in the file, 3 are.' };
    expect(verifyVault(read(world))).toMatchObject({ isSound: false, problems: [beginning] });
    change(world, 'DELETE FROM content_versions WHERE number = 3');
    expect(verifyVault(read(world)).problems).toMatchObject([
      { message: expect.stringContaining('between') },
      { message: '4 versions of items should be in the file, 2 are.' },
    ]);
  });

  it('counts the problems that it does not list', async () => {
    const world = await vaultWorld();
    extract(world, [pageOf(offsetRequest(0, 200), simplePage(0, 150).items)]);
    change(world, `UPDATE items SET name = 'x'`);
    const report = verifyVault(read(world));
    expect(report.problems).toHaveLength(100);
    expect(report.problemCount).toBe(150);
  });

  it('finds damage in the file itself', async () => {
    const world = await fourSessions();
    // Closed by all connections, so that everything is in one file.
    world.writer.close();
    world.vault.close();
    const db = new DatabaseSync(world.path);
    const { rootpage } =
      db.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'content_versions'").get() ?? {};
    db.close();
    const bytes = await readFile(world.path);
    bytes.fill(0x7f, (Number(rootpage) - 1) * 8192, Number(rootpage) * 8192);
    await writeFile(world.path, bytes);
    const report = verifyVault(read(world));
    expect(report.isSound).toBe(false);
    expect(report.problems).toContainEqual(expect.objectContaining({ kind: 'damaged', type: null }));
  });

  it('ends with a report whichever value was damaged, and names pages and items', async () => {
    const world = await richVault();
    world.close();
    const copy = `${world.path}.copy`;
    const db = new DatabaseSync(world.path);
    const tables = [
      'extraction_sessions',
      'checkpoints',
      'pages',
      'items',
      'content_versions',
      'content_types',
    ];
    const columns = tables.flatMap((table) =>
      db
        .prepare(`SELECT name FROM pragma_table_info(?)`)
        .all(table)
        .map(({ name }) => [table, String(name)] as const),
    );
    db.close();
    const original = await readFile(world.path);
    const messages: string[] = [];
    for (const [table, column] of columns)
      for (const value of ['NULL', `'{'`, `'{}'`, `'[1]'`, '-1']) {
        await writeFile(copy, original);
        const damaged = new DatabaseSync(copy);
        try {
          damaged.exec(
            `PRAGMA foreign_keys = off; UPDATE OR IGNORE ${table} SET ${column} = ${value} WHERE rowid = (SELECT min(rowid) FROM ${table})`,
          );
        } catch {
          // Tables without rowid, and values that the table does not accept.
          try {
            damaged.exec(`UPDATE OR IGNORE ${table} SET ${column} = ${value}`);
          } catch {
            continue;
          } finally {
            damaged.close();
          }
        }
        if (damaged.isOpen) damaged.close();
        const reader = openVaultReader(copy);
        try {
          messages.push(...verifyVault(reader).problems.map(({ message }) => message));
        } finally {
          reader.close();
        }
      }
    expect(messages).toContainEqual(
      expect.stringMatching(/^The page .*offset.* of session 1 cannot be read/),
    );
    expect(messages).toContainEqual(expect.stringMatching(/types of session 1 cannot be read/));
    expect(messages.filter((message) => /internal|SyntaxError|TypeError|undefined/.test(message))).toEqual(
      [],
    );
  });

  it('finds data that is not JSON', async () => {
    const world = await vaultWorld();
    extract(world, [pageOf(offsetRequest(0, 1), [itemOf('1', '{"id":')])]);
    expect(verifyVault(read(world)).problems).toMatchObject([{ id: '1', message: 'Version 1 is not JSON.' }]);
  });

  it('finds types that were not read to their end, and pages that are missing', async () => {
    const world = await vaultWorld();
    const { sessions } = world.vault;
    const types = ['dashboards', 'looks', 'boards', 'users'].map((name) => typeNamed(name));
    const { id } = sessions.open(specOf({ types }));
    world.writer.write(id, simplePage(0, 2, 'a', 'dashboards'), noHeader);
    world.writer.write(id, simplePage(4, 2, 'a', 'dashboards'), noHeader);
    sessions.finishType(id, 'dashboards', endWith(4));
    sessions.fail(id, offsetRequest(0, 2, 'looks'), 'http-500', 'Broken.');
    sessions.finishType(id, 'looks', endWith(null));
    const next = { total: null, nextLink: 'page 2' };
    const first = { kind: 'cursor', cursor: null, index: 0, limit: 2 } as const;
    const request = pageOfList(rootList('users'), first);
    world.writer.write(id, pageOf(request, []), next);
    sessions.finishType(id, 'users', endWith(null));
    const report = verifyVault(read(world));
    expect(report).toMatchObject({ isSound: true, isComplete: false });
    expect(report.problems.map(({ type, message }) => `${type}: ${message}`).sort()).toEqual([
      'boards: It was not extracted to the end: the extraction did not finish.',
      'dashboards: items 2 to 3 were never requested.',
      'looks: 1 page failed.',
      'users: the last page names another that was never requested.',
    ]);
    expect(read(world).deadLetters()).toMatchObject([{ type: 'looks', cause: 'http-500', resolvedAt: null }]);
  });
});

describe('comparing two sessions', () => {
  const between = (reader: VaultReader, from: number, to: number) =>
    [...diffSessions(reader, from, to)].map(({ id, kind, fields }) => [
      kind,
      id,
      ...fields.map(({ path }) => path),
    ]);

  it('reports what was added, changed and deleted between any two', async () => {
    const reader = read(await fourSessions());
    expect(between(reader, 0, 1)).toEqual([
      ['added', '0'],
      ['added', '1'],
    ]);
    expect(between(reader, 1, 2)).toEqual([
      ['changed', '0', 'value'],
      ['added', '2'],
    ]);
    expect(between(reader, 2, 3)).toEqual([]);
    expect(between(reader, 3, 4)).toEqual([['deleted', '1']]);
    expect(between(reader, 1, 4)).toEqual([
      ['changed', '0', 'value'],
      ['deleted', '1'],
      ['added', '2'],
    ]);
    expect(between(reader, 4, 1)).toEqual([
      ['changed', '0', 'value'],
      ['added', '1'],
      ['deleted', '2'],
    ]);
  });

  it('omits items that were added and deleted in between', async () => {
    const world = await vaultWorld();
    extract(world, [simplePage(0, 1)]);
    extract(world, [simplePage(0, 2, 'b')]);
    extract(world, [simplePage(0, 1)]);
    extract(world, [simplePage(0, 1)]);
    expect(between(read(world), 1, 4)).toEqual([]);
  });
});

describe('exporting a vault', () => {
  const names = async (folder: string) => (await readdir(folder, { recursive: true })).sort();

  it('writes one file per item, with sorted keys, under names that every file system takes', async () => {
    const world = await vaultWorld();
    const ids = ['42', 'Sales::Orders', 'sales::orders', 'con', '../../etc/passwd', 'é'.repeat(300)];
    extract(world, [
      pageOf(
        offsetRequest(0, 10),
        ids.map((id) => itemOf(id, JSON.stringify({ title: 'x', id, n: { b: 1, a: [2] } }))),
      ),
    ]);
    const folder = join(await temporaryFolder(), 'new', 'export');
    expect(await exportVault(read(world), folder)).toEqual({ written: 6, unchanged: 0, removed: 0 });
    const files = await readdir(join(folder, 'dashboards'));
    expect(files).toHaveLength(6);
    expect(new Set(files.map((name) => name.toLowerCase())).size).toBe(6);
    for (const name of files) expect(name).toMatch(/^[a-z0-9_-]*(~[0-9a-f]{20})?\.json$/);
    expect(await readFile(join(folder, 'dashboards', '42.json'), 'utf8')).toBe(
      '{\n  "id": "42",\n  "n": {\n    "a": [\n      2\n    ],\n    "b": 1\n  },\n  "title": "x"\n}\n',
    );
  });

  it('writes only what changed, removes files of deleted items, and ignores other files', async () => {
    const world = await vaultWorld();
    const folder = await temporaryFolder();
    await mkdir(join(folder, '.git'));
    await writeFile(join(folder, 'README.md'), 'mine');
    extract(world, [simplePage(0, 3)]);
    await exportVault(read(world), folder);
    const unchanged = join(folder, 'dashboards', '0.json');
    await utimes(unchanged, 1, 1);
    await writeFile(join(folder, 'dashboards', 'notes.txt'), 'mine');
    for (let absent = 0; absent < 2; absent++)
      extract(world, [
        pageOf(offsetRequest(0, 3), [...simplePage(0, 1).items, ...simplePage(1, 1, 'b').items]),
      ]);
    expect(await exportVault(read(world), folder)).toEqual({ written: 1, unchanged: 1, removed: 1 });
    expect((await stat(unchanged)).mtimeMs).toBe(1000);
    expect(await names(folder)).toEqual(
      [
        '.git',
        'README.md',
        'dashboards',
        'dashboards/0.json',
        'dashboards/1.json',
        'dashboards/notes.txt',
        'vault-export.json',
      ].sort(),
    );
  });

  it('removes partial files of a killed export', async () => {
    const world = await vaultWorld();
    const folder = await temporaryFolder();
    extract(world, [simplePage(0, 1)]);
    await exportVault(read(world), folder);
    await writeFile(join(folder, 'dashboards', '7.json.new'), '{"id"');
    await writeFile(join(folder, 'dashboards', 'notes.new'), 'mine');
    expect(await exportVault(read(world), folder)).toEqual({ written: 0, unchanged: 1, removed: 0 });
    expect((await readdir(join(folder, 'dashboards'))).sort()).toEqual(['0.json', 'notes.new']);
  });

  it('rejects a folder with files of others, or of another source', async () => {
    const world = await fourSessions();
    const folder = await temporaryFolder();
    await mkdir(join(folder, 'dashboards'));
    await writeFile(join(folder, 'dashboards', '9.json'), '{}');
    await expect(exportVault(read(world), folder)).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('holds files that no export wrote'),
    });
    await writeFile(join(folder, 'vault-export.json'), '{"format":1,"source":"other"}');
    await expect(exportVault(read(world), folder)).rejects.toThrow(/holds the export of "other"/);
    await expect(exportVault(read(world), join(folder, 'vault-export.json'))).rejects.toMatchObject({
      code: 'CONFLICT',
    });
    expect(await names(folder)).toEqual(['dashboards', 'dashboards/9.json', 'vault-export.json']);
  });
});
