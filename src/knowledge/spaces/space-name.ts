// What a space may be called.
import { CoreError } from '../../core/index.ts';

const longestName = 100;
const shape = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

/** The name as it is. Fails with INPUT_INVALID: it is part of addresses and command lines. */
export function spaceName(given: string): string {
  if (given.length <= longestName && shape.test(given)) return given;
  throw new CoreError(
    'INPUT_INVALID',
    `Nothing was changed. A space's name has 1 to ${longestName} letters (a to z), digits, "-", "_" and ".", and begins with a letter or digit.`,
    { details: { problems: [{ field: 'space', message: 'is no name for a space' }] } },
  );
}

/** Names with the same key are the same to people. */
export const spaceKey = (name: string): string => name.toLowerCase();
