// The cursor of the audit list: the id of an entry.
import { CoreError, isUuid } from '../../core/index.ts';

export function checkCursor(before: string | undefined): void {
  if (before === undefined || isUuid(before)) return;
  throw new CoreError(
    'INPUT_INVALID',
    'Continue before the id of an audit row that was listed; this is none.',
  );
}
