// Keys that we gave out, as people see them.
import { CoreError } from '../core/index.ts';
import { humanMoment } from './human-time.ts';

export interface ListedKey {
  readonly id: string;
  readonly name: string;
  readonly revoked_at: string | null;
  readonly expires_at: string | null;
}

export function keyState({ revoked_at, expires_at }: ListedKey, now: number): string {
  if (revoked_at !== null) return 'revoked';
  if (expires_at === null) return 'works';
  return Date.parse(expires_at) <= now ? 'expired' : `works, ends ${humanMoment(expires_at, now)}`;
}

/** By id or name. A name may be given to several keys; then the id must tell which. `list` is the command that shows all. */
export function keyNamed<Key extends ListedKey>(keys: readonly Key[], wanted: string, list: string): Key {
  const byId = keys.find(({ id }) => id === wanted);
  if (byId) return byId;
  const named = keys.filter(({ name, revoked_at }) => name === wanted && revoked_at === null);
  const [only] = named;
  if (only && named.length === 1) return only;
  if (named.length > 1)
    throw new CoreError(
      'CONFLICT',
      `${named.length} keys are named ${wanted}; give the id of one (${list}).`,
    );
  throw new CoreError('NOT_FOUND', `There is no key ${wanted} that still works. "${list}" lists all.`);
}

/** For `--expires-days`. */
export const daysFrom = (now: number, days: number): string =>
  new Date(now + days * 86_400_000).toISOString();
