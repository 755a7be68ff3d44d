// From tallies to a score: the formulas, and the sentences that explain them.
import type { Score, Tally } from '../ports.ts';

/** Of a model that nobody has asked yet. */
export const priorScore = 0.5;
const successWeight = 0.6;
const speedWeight = 0.4;
/** An answer that takes this long earns nothing for speed. */
const slowSeconds = 10;
/** Fewer recent requests than these say too little. */
const enoughRecent = 3;

export const successRate = ({ requests, successes }: Tally): number =>
  requests === 0 ? 0 : successes / requests;

/** 0 to 1; the prior without history, 0 when nothing ever succeeded. */
export function reliability(tally: Tally): number {
  if (tally.requests === 0) return priorScore;
  if (tally.successes === 0) return 0;
  return (
    successWeight * successRate(tally) + speedWeight * Math.max(0, 1 - tally.averageSeconds / slowSeconds)
  );
}

export function scoreOf(longTerm: Tally, recent: Tally, windowDays: number): Score {
  const isRecentEnough = recent.requests >= enoughRecent;
  return {
    longTerm,
    recent,
    windowDays,
    reliabilityScore: reliability(longTerm),
    recentReliabilityScore: recent.requests === 0 ? null : reliability(recent),
    effectiveScore: reliability(isRecentEnough ? recent : longTerm),
    decisionReason: decisionReason(longTerm, recent, windowDays),
  };
}

function decisionReason(longTerm: Tally, recent: Tally, windowDays: number): string {
  const days = windowDays === 1 ? 'day' : `${windowDays} days`;
  if (longTerm.requests === 0) return `No request was counted yet: the prior ${priorScore} stands in.`;
  if (recent.requests >= enoughRecent)
    return `Recent: ${recent.requests} requests in the last ${days}, at least ${enoughRecent} are needed.`;
  return `Long-term: only ${recent.requests} in the last ${days}, ${enoughRecent} are needed for the recent score.`;
}

/** The formulas with a model's numbers in them, a sentence each. */
export function explainScore({ longTerm, recent, windowDays, ...score }: Score): readonly string[] {
  return [
    `A request counts once, by its last outcome; limits, mistakes of the caller, callers who left and too little time do not count.`,
    `Long-term, all that is kept: ${formula(longTerm)}`,
    `Recent, ${windowDays} days: ${formula(recent)}`,
    `${score.decisionReason} Effective score: ${rounded(score.effectiveScore)}.`,
  ];
}

function formula(tally: Tally): string {
  const { requests, successes, averageSeconds } = tally;
  if (requests === 0) return 'no requests.';
  const rate = `${successes} of ${requests} requests succeeded`;
  if (successes === 0) return `${rate}, so the score is 0.`;
  return (
    `${rate}, in ${rounded(averageSeconds)} s on average: ${successWeight} × ${rounded(successRate(tally))} + ` +
    `${speedWeight} × max(0, 1 − ${rounded(averageSeconds)} / ${slowSeconds}) = ${rounded(reliability(tally))}.`
  );
}

const rounded = (value: number): number => Math.round(value * 10_000) / 10_000;
