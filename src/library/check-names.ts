// Rejects misspelled settings: a limit that is not applied would be a silent failure.
import { CoreError, nearest } from '../core/index.ts';

/** Fails with INPUT_INVALID. */
export function checkNames(factory: string, given: object, known: readonly string[]): void {
  const unknown = Object.keys(given).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const similar = nearest(unknown, known);
  throw new CoreError(
    'INPUT_INVALID',
    `${factory} has no option "${unknown}"${similar === undefined ? '' : `; did you mean "${similar}"?`}`,
  );
}
