import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { defineMigration, loadMigrations } from './migrate.ts';

async function folderWith(...files: readonly string[]): Promise<URL> {
  const folder = await mkdtemp(join(tmpdir(), 'headworks-test-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  for (const file of files) await writeFile(join(folder, file), `select '${file}';`);
  return pathToFileURL(folder);
}

describe('loadMigrations', () => {
  it('reads the SQL files in order and ignores other files', async () => {
    const migrations = await loadMigrations(await folderWith('0002-b.sql', '0001-a.sql', 'README.md'));
    expect(migrations.map(({ number, name }) => [number, name])).toEqual([
      [1, 'a'],
      [2, 'b'],
    ]);
    expect(migrations[0]?.text).toBe(`select '0001-a.sql';`);
  });

  it.each([
    ['a gap', ['0001-a.sql', '0003-c.sql'], '0003-c should have the number 2'],
    ['a duplicate', ['0001-a.sql', '0001-b.sql'], '0001-b should have the number 2'],
    ['a start past 1', ['0002-a.sql'], '0002-a should have the number 1'],
    ['a name that does not fit', ['1-a.sql'], '1-a.sql must be named like'],
  ])('rejects %s', async (_, files, message) => {
    await expect(loadMigrations(await folderWith(...files))).rejects.toThrow(message);
  });
});

describe('defineMigration', () => {
  const checksum = (text: string) => defineMigration('0001-a.sql', text).checksum;

  it('ignores line ends, trailing blanks and a byte order mark', () => {
    expect(checksum('\u{FEFF}select 1; \r\nselect 2;\r\n\r\n')).toBe(checksum('select 1;\nselect 2;'));
  });

  it('detects every other change', () => {
    expect(checksum('select  1;')).not.toBe(checksum('select 1;'));
    expect(checksum('select 1; -- why')).not.toBe(checksum('select 1;'));
  });
});
