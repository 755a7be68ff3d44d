// Broken constraints in words of ours.
import { SqlError } from '../../platform/postgres/sql.ts';

/** `refusals` are by SQLSTATE; every other failure passes as it is. */
export function refusing<T>(
  work: Promise<T>,
  refusals: Readonly<Record<string, () => Error | Promise<Error>>>,
): Promise<T> {
  return work.catch(async (error: unknown) => {
    throw (error instanceof SqlError ? await refusals[error.sqlState]?.() : undefined) ?? error;
  });
}
