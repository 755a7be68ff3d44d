import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { migrationChecksums, releasedMigrationsFile } from './released-migrations.ts';

const released = JSON.parse(readFileSync(releasedMigrationsFile, 'utf8')) as Record<string, string>;

it.each(Object.entries(released))('%s is unchanged since its release', (path, checksum) => {
  expect(
    migrationChecksums()[path],
    'A released migration was edited, so existing stores cannot be opened. Undo it, and add a new migration.',
  ).toBe(checksum);
});

it('lists the first migration of Postgres and of the vault', () => {
  expect(Object.keys(released)).toEqual(
    expect.arrayContaining([
      'src/platform/postgres/migrations/0001-baseline.sql',
      'src/extraction/vault/migrations/0001-baseline.sql',
    ]),
  );
});
