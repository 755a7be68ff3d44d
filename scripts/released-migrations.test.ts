import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { migrationChecksums, releasedMigrationsFile } from './released-migrations.ts';

const released = JSON.parse(readFileSync(releasedMigrationsFile, 'utf8')) as Record<string, string>;

it('finds every released migration unchanged', () =>
  expect(
    migrationChecksums(),
    'A released migration was edited, so existing stores cannot be opened. Undo it, and add a new migration.',
  ).toMatchObject(released));

it('covers the migrations of Postgres and of the vault', () => {
  expect(Object.keys(migrationChecksums())).toEqual(
    expect.arrayContaining([
      'src/platform/postgres/migrations/0001-baseline.sql',
      'src/extraction/vault/migrations/0001-baseline.sql',
    ]),
  );
});
