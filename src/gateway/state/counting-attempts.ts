// Which attempts speak of a model's reliability: those that succeeded, or failed in a way that counts against it. A
// request counts once per model: its next such attempt there takes the place of one that failed. Success is the end.
import { failureRules } from '../failure-classes.ts';
import type { Attempt } from '../ports.ts';

/** Limits, the caller's own mistakes, callers who left or were in a hurry, and calls to another place say nothing. */
export const speaksOfReliability = ({ outcome, isOutdated }: Attempt): boolean =>
  isOutdated !== true && (outcome === 'success' || failureRules[outcome].countsAgainst);

export const requestKey = ({ modelId, requestId }: Attempt): string => `${modelId} ${requestId}`;

/** For each attempt, in the order they were made, whether it counts. */
export function countsOf(attempts: readonly Attempt[]): readonly boolean[] {
  if (attempts.every((each) => each.outcome === 'success' && speaksOfReliability(each)))
    return attempts.map(() => true);
  const goesOn = new Set<string>();
  return attempts
    .toReversed()
    .map((attempt) => {
      if (!speaksOfReliability(attempt)) return false;
      const isTheEnd = attempt.outcome === 'success' || !goesOn.has(requestKey(attempt));
      goesOn.add(requestKey(attempt));
      return isTheEnd;
    })
    .toReversed();
}
