// What can stand between a store and its migrations, said with the remedy.
import { CoreError } from '../../../core/errors.ts';
import { label, type Migration } from './load-migrations.ts';

export interface Identity {
  readonly role: string;
  readonly database: string;
}

export function changedAfterwards(migration: { readonly number: number; readonly name: string }): CoreError {
  return new CoreError(
    'STATE_UNUSABLE',
    `The migration ${label(migration)} was changed after it ran on this store. Undo the change and put what is new into a migration of its own.`,
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

export function missingRights(
  on: 'database' | 'schema',
  { role, database }: Identity,
  schema: string,
  cause: Error,
): CoreError {
  const grant =
    on === 'database'
      ? `GRANT CREATE ON DATABASE "${database}" TO "${role}"; (or have an administrator run CREATE SCHEMA "${schema}" AUTHORIZATION "${role}";)`
      : `GRANT USAGE, CREATE ON SCHEMA "${schema}" TO "${role}";`;
  return new CoreError(
    'STATE_UNUSABLE',
    `The role ${role} may not do what setting up the schema ${schema} takes: ${cause.message}. As an administrator: ${grant}`,
    { cause },
  );
}
