// Files that are no vault, or not writable: one line with a remedy, and no change.
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it, vi } from 'vitest';
import { systemClock, systemIds } from '../../src/core/index.ts';
import { lockVault } from '../../src/extraction/vault/file.ts';
import { openVaultReader } from '../../src/extraction/vault/index.ts';
import { openVault } from '../../src/extraction/vault/sessions.ts';
import { temporaryFolder } from '../support/services.ts';
import { extract, simplePage, specOf, vaultWorld } from '../support/vault-world.ts';
import { withoutRights } from '../support/without-rights.ts';

const open = (path: string) => openVault(path, { source: 'any', clock: systemClock, ids: systemIds });
const refusal = (code: string, message: string) =>
  expect.objectContaining({ code, message: expect.stringContaining(message) });

describe('a file that is not a vault', () => {
  it.each([
    ['text', 'this is a diary, not a database. '.repeat(100), 'it is not a SQLite file'],
    ['a database of another program', null, 'it is a SQLite file, but not a vault'],
  ])('but %s is rejected and not changed', async (_what, text, message) => {
    const path = join(await temporaryFolder(), 'other');
    if (text === null) {
      const db = new DatabaseSync(path);
      db.exec('CREATE TABLE bookmarks (url TEXT)');
      db.close();
    } else await writeFile(path, text);
    const before = await readFile(path);
    expect(() => open(path)).toThrow(refusal('SQLITE_UNUSABLE', message));
    expect(() => openVaultReader(path)).toThrow(refusal('SQLITE_UNUSABLE', message));
    expect(before.equals(await readFile(path))).toBe(true);
    expect(await readdir(dirname(path))).toEqual(['other']);
  });

  it('that is missing, in a missing folder, or a folder is reported', async () => {
    const folder = await temporaryFolder();
    expect(() => openVaultReader(join(folder, 'none.vault'))).toThrow(
      refusal('SQLITE_UNUSABLE', 'there is no such file'),
    );
    expect(() => open(join(folder, 'none', 'x.vault'))).toThrow(
      refusal('SQLITE_UNUSABLE', 'the folder exists'),
    );
    await mkdir(join(folder, 'folder.vault'));
    expect(() => open(join(folder, 'folder.vault'))).toThrow(refusal('SQLITE_UNUSABLE', 'not a file'));
  });
});

describe('a vault', () => {
  it('of a newer version is rejected and not changed', async () => {
    const world = await vaultWorld();
    world.vault.close();
    const db = new DatabaseSync(world.path);
    db.exec('PRAGMA user_version = 99');
    db.close();
    expect(() => open(world.path)).toThrow(refusal('SQLITE_UNUSABLE', 'it has version 99'));
    expect(() => openVaultReader(world.path)).toThrow(refusal('SQLITE_UNUSABLE', 'it has version 99'));
  });

  it('has pages of 8 KB from the start', async () => {
    const world = await vaultWorld();
    expect(world.rows('PRAGMA page_size')).toEqual([{ page_size: 8192n }]);
  });

  it('is locked before its file is created, opened or migrated', async () => {
    const path = join(await temporaryFolder(), 'acme.vault');
    const lock = lockVault(path);
    expect(() => open(path)).toThrow(refusal('EXTRACTION_BUSY', 'Another extraction writes to'));
    expect(await readdir(dirname(path))).not.toContain('acme.vault');
    lock.close();
    open(path).close();
  });

  it('in a read-only folder can be read, and is not written', async () => {
    const folder = await temporaryFolder();
    const world = await vaultWorld(join(folder, 'acme.vault'));
    extract(world, [simplePage(0, 2)]);
    world.writer.close();
    world.vault.close();
    await chmod(world.path, 0o444);
    await chmod(folder, 0o555);
    withoutRights(() => {
      const reader = openVaultReader(world.path);
      expect(reader.items('dashboards', { limit: 9 })).toHaveLength(2);
      reader.close();
      expect(() => open(world.path)).toThrow(refusal('SQLITE_UNUSABLE', 'both are writable'));
    });
    await chmod(folder, 0o755);
  });

  it('on a full disk keeps what was committed and nothing of the page', async () => {
    const world = await vaultWorld();
    const { id } = world.vault.sessions.open(specOf());
    const exec = vi.spyOn(DatabaseSync.prototype, 'exec');
    world.writer.write(id, simplePage(0, 2), { total: null, nextLink: null });
    const connection = exec.mock.contexts.at(-1) as DatabaseSync | undefined;
    exec.mockRestore();
    // Simulates a full disk without privileges: the writer's connection may not grow the file.
    connection?.exec('PRAGMA max_page_count = 100');
    const large = simplePage(100, 200, 'x'.repeat(10_000));
    expect(() => world.writer.write(id, large, { total: null, nextLink: null })).toThrow(
      refusal('SQLITE_FULL', 'the disk is full'),
    );
    expect(world.rows('SELECT count(*) AS n FROM pages')).toEqual([{ n: 1n }]);
    expect(world.rows('SELECT count(*) AS n FROM content_items')).toEqual([{ n: 2n }]);
  });
});
