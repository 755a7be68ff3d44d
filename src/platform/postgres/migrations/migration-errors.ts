// What can stand between a store and its migrations, said with the remedy.
import { CoreError } from '../../../core/errors.ts';
import { label, type Migration } from './load-migrations.ts';

export function changedAfterwards(migration: { readonly number: number; readonly name: string }): CoreError {
  return new CoreError(
    'STATE_UNUSABLE',
    `The migration ${label(migration)} was changed after it ran on this store. Undo the change and put what is new into a migration of its own.`,
  );
}

export function historyIncomplete(missing: Migration): CoreError {
  return new CoreError(
    'STATE_UNUSABLE',
    `The store does not know of the migration ${label(missing)}, though it knows of later ones: its list (schema_migrations) was changed. Restore the store from a backup.`,
  );
}

export function writtenByNewer(storeNumber: number, ourNumber: number): CoreError {
  return new CoreError(
    'STATE_UNUSABLE',
    `The store was written by a newer Headworks (migration ${storeNumber}; this version knows ${ourNumber}). Upgrade Headworks, or use another database or schema.`,
  );
}

export function migrationFailed(migration: Migration, cause: Error): CoreError {
  return new CoreError(
    'STATE_UNUSABLE',
    `The migration ${label(migration)} failed: ${cause.message}. It was rolled back, so the store is as it was; remove the cause and start again.`,
    { cause },
  );
}
