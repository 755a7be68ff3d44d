// What is left of the story when the demo is ready: whoever used it before may have answered, changed and repaired things.
import type { EntityReview } from '../../api/entities.ts';
import type { Limits } from '../../api/limits.ts';
import type { LedgerKinds } from '../../api/ledger.ts';
import type { Stage } from './chapter.ts';
import { brightline } from './tenants.ts';

export interface Situation {
  /** Pairs of names that wait for a person, as far as they were counted. */
  readonly pairs: number;
  readonly hasMorePairs: boolean;
  /** Is one of them about S. Okafor? */
  readonly isOkaforOpen: boolean;
  /** How many requests brightline may have under way; null when it is gone. */
  readonly limit: number | null;
  /** Passages that rules have read because no model could, and that wait for one. */
  readonly readByRules: number;
}

type Asking = Pick<Stage, 'client' | 'signal'>;

/** The kind of rows in the ledger. */
export const readByRulesKind = 'knowledge.chunk-read-by-rules';
const mostPairs = 100;

export async function lookAround(asking: Asking): Promise<Situation> {
  const { client, signal } = asking;
  const query = { limit: mostPairs };
  const [{ pairs }, { limits }, readByRules] = await Promise.all([
    client.call<EntityReview>('GET', '/api/v1/knowledge/pairs', { query, signal }),
    client.call<Limits>('GET', '/api/v1/limits', { signal }),
    countReadByRules(asking),
  ]);
  const names = pairs.flatMap(({ a, b }) => [a.canonical_name, b.canonical_name]);
  return {
    pairs: pairs.length,
    hasMorePairs: pairs.length >= mostPairs,
    isOkaforOpen: names.some((name) => /\bOkafor$/.test(name)),
    limit: limits.find((each) => each.organization_name === brightline.name)?.limit ?? null,
    readByRules,
  };
}

export async function countReadByRules({ client, signal }: Asking): Promise<number> {
  const { kinds } = await client.call<LedgerKinds>('GET', '/api/v1/ledger/kinds', { signal });
  return kinds.find(({ kind }) => kind === readByRulesKind)?.open ?? 0;
}
