// How one candidate stands within one request.
import type { Cooldowns, ProviderFailure } from '../ports.ts';
import type { FailureClass } from '../failure-classes.ts';
import { failureRules } from '../failure-classes.ts';
import type { Candidate } from './select-candidates.ts';

/**
 * - `unasked`: its turn has not come.
 * - `cooling`: its turn came and none of its keys could be used; no call was made.
 * - `failing`: its last try failed with something that may pass; it is asked again in a later round.
 * - `limited`: it refused for a limit; it is asked again in a round that finds its cooldown over. A local model has none
 *   and is not asked again.
 * - `out`: it failed with something that does not pass, or was disabled, removed or replaced by another model since the
 *   request began; it is not asked again.
 */
export type CandidateStatus = 'unasked' | 'cooling' | 'failing' | 'limited' | 'out';

export interface CandidateState {
  /** As its model was defined when it was last asked. */
  candidate: Candidate;
  state: CandidateStatus;
  /** Tries, not calls: one that goes from a refused key to the next is one try. */
  tries: number;
  /** Of its last try. */
  failure: ProviderFailure | undefined;
  /** Keys that our own count of the provider's quota holds back, and until when (epoch milliseconds). */
  held: Map<string, number> | undefined;
  /** It fails, and a round before this moment (epoch milliseconds) passes it over; undefined until the round is over. */
  retryAt: number | undefined;
}

export function newCandidateState(candidate: Candidate): CandidateState {
  return { candidate, state: 'unasked', tries: 0, failure: undefined, held: undefined, retryAt: undefined };
}

export function stateAfter(failureClass: FailureClass): CandidateStatus {
  if (failureRules[failureClass].isRetried) return 'failing';
  return failureClass === 'rate-limit' ? 'limited' : 'out';
}

/**
 * Whoever refused for a limit has one more try, whatever MAX_RETRIES is: if that is 0, there is another round only when
 * the caller waits for it.
 */
export function hasTriesLeft({ state, tries }: CandidateState, maxRetries: number): boolean {
  return tries <= (state === 'limited' ? Math.max(1, maxRetries) : maxRetries);
}

/** May it be asked in this round? What cools is found out when it is asked. */
export function isDue(standing: CandidateState, maxRetries: number, now: number): boolean {
  const { state, candidate, retryAt } = standing;
  if (state === 'out' || !hasTriesLeft(standing, maxRetries)) return false;
  if (state === 'limited') return !candidate.model.isLocal;
  return state !== 'failing' || retryAt === undefined || retryAt <= now;
}

export interface Availability {
  /** When the soonest of its keys may be used, epoch milliseconds; null: now. */
  readonly at: number | null;
  /** Is a limit the reason for any of its keys? */
  readonly isLimited: boolean;
}

const atOnce: Availability = { at: null, isLimited: false };

export function availabilityOf(
  { candidate, held }: CandidateState,
  cooldowns: Pick<Cooldowns, 'of'>,
  now: number,
): Availability {
  let soonest = Number.POSITIVE_INFINITY;
  let isLimited = false;
  for (const key of candidate.keys) {
    const cooldown = cooldowns.of(candidate.model.id, key.id);
    const heldUntil = held?.get(key.id) ?? 0;
    const until = Math.max(cooldown?.until ?? 0, heldUntil);
    if (until <= now) return atOnce;
    soonest = Math.min(soonest, until);
    isLimited ||= heldUntil > now || cooldown?.cause === 'rate-limit' || cooldown?.cause === 'quota';
  }
  return { at: soonest, isLimited };
}
