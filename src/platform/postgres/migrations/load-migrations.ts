// Reads numbered SQL files: 0001-name.sql, 0002-name.sql, … without gaps.
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { CoreError } from '../../../core/errors.ts';

export interface Migration {
  readonly number: number;
  readonly name: string;
  readonly text: string;
  /** Of the text as it matters: line ends and trailing blanks do not. */
  readonly checksum: string;
}

/** All `.sql` files of the folder, in order. Fails on a gap, a duplicate or a name that does not fit. */
export async function loadMigrations(folder: URL): Promise<readonly Migration[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.sql')).sort();
  const base = folder.href.endsWith('/') ? folder : new URL(`${folder.href}/`);
  const migrations = await Promise.all(
    files.map(async (file) => defineMigration(file, await readFile(new URL(file, base), 'utf8'))),
  );
  migrations.forEach(({ number, name }, index) => {
    if (number !== index + 1)
      throw new CoreError(
        'INTERNAL',
        `The migration ${label({ number, name })} should have the number ${index + 1}: numbers start at 1, without gaps or duplicates.`,
      );
  });
  return migrations;
}

/** One migration from its file name and text. */
export function defineMigration(file: string, text: string): Migration {
  const [, number, name] = /^(\d{4})-([a-z0-9-]+)\.sql$/.exec(file) ?? [];
  if (number === undefined || name === undefined)
    throw new CoreError('INTERNAL', `The migration file ${file} must be named like 0001-what-it-does.sql.`);
  return { number: Number(number), name, text, checksum: checksumOf(text) };
}

/** How a migration is named in messages. */
export function label(migration: { readonly number: number; readonly name: string }): string {
  return `${String(migration.number).padStart(4, '0')}-${migration.name}`;
}

function checksumOf(text: string): string {
  const normal = text
    .replace(/^\u{FEFF}/u, '')
    .replaceAll('\r\n', '\n')
    .replaceAll(/[ \t]+$/gm, '')
    .trim();
  return createHash('sha256').update(normal).digest('hex');
}
