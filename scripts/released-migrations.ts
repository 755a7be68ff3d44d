// Migrations of released versions are never edited: databases and vaults store their checksums. `npm run release` records
// them in released-migrations.json.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const folders = ['src/platform/postgres/migrations', 'src/extraction/vault/migrations'];

export const releasedMigrationsFile = join(import.meta.dirname, 'released-migrations.json');

/** SHA-256 of every migration file, by path. */
export function migrationChecksums(): Readonly<Record<string, string>> {
  return Object.fromEntries(
    folders.flatMap((folder) =>
      readdirSync(join(root, folder))
        .sort()
        .map((file) => {
          const text = readFileSync(join(root, folder, file), 'utf8');
          return [`${folder}/${file}`, createHash('sha256').update(text).digest('hex')];
        }),
    ),
  );
}
