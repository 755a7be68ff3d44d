// Tallies as numbers that can be added up.
import type { Tally } from '../ports.ts';

export const emptyTally: Tally = { requests: 0, successes: 0, averageSeconds: 0 };

/** Both together; the average weighs each success alike. */
export function addTallies(a: Tally, b: Tally): Tally {
  if (a.requests === 0) return b;
  if (b.requests === 0) return a;
  const successes = a.successes + b.successes;
  const totalSeconds = a.averageSeconds * a.successes + b.averageSeconds * b.successes;
  return {
    requests: a.requests + b.requests,
    successes,
    averageSeconds: successes === 0 ? 0 : totalSeconds / successes,
  };
}
