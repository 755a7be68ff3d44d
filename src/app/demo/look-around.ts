// What is left of the story when the demo is ready: whoever used it before may have answered, changed and repaired things.
import type { EntityReviewAnswer, LedgerPage, LimitsAnswer } from '../api-answers.ts';
import type { Stage } from './chapter.ts';
import { brightline } from './tenants.ts';

export interface Situation {
  /** Pairs of names that wait for a person. */
  readonly pairs: number;
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
const most = 100;

export async function lookAround(asking: Asking): Promise<Situation> {
  const { client, signal } = asking;
  const query = { limit: most };
  const [{ pairs }, { limits }, readByRules] = await Promise.all([
    client.call<EntityReviewAnswer>('GET', '/api/v1/knowledge/pairs', { query, signal }),
    client.call<LimitsAnswer>('GET', '/api/v1/limits', { signal }),
    countReadByRules(asking),
  ]);
  const names = pairs.flatMap(({ a, b }) => [a.canonical_name, b.canonical_name]);
  return {
    pairs: pairs.length,
    isOkaforOpen: names.some((name) => /\bOkafor$/.test(name)),
    limit: limits.find((each) => each.organization_name === brightline.name)?.limit ?? null,
    readByRules,
  };
}

export async function countReadByRules({ client, signal }: Asking): Promise<number> {
  const query = { kind: readByRulesKind, limit: most };
  const { entries } = await client.call<LedgerPage>('GET', '/api/v1/ledger', { query, signal });
  return entries.length;
}
