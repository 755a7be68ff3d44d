// How the backoff multiplier moves: up on a refusal, down on successes, warily near a rate that was refused before.
//
//   refused at m          → m × 1.5 (once for all grants of the same epoch), ceiling = m, or the slower multiplier
//                           that the server's minute still saw when m had been reached within that minute
//   10 successes in a row → m × 0.9, not below 1
//   … but if that step leads to the ceiling or faster: 100 successes, twice as many after each probe that failed
//
// An epoch is the time between two increases. Grants carry theirs: the refusals of one burst belong to one epoch, and
// only the first of them finds it current.
import type { BackoffState, Demand } from './ports.ts';

export const adaptation = {
  increase: 1.5,
  decrease: 0.9,
  /** 64 times slower is as slow as it gets: a server that refuses even that is not to be reached by pacing. */
  largestMultiplier: 64,
  successesPerStep: 10,
  firstProbeSuccesses: 100,
  largestProbeSuccesses: 1_600,
  /** Servers judge by the minute: a rate has held only when it lasted as long. */
  settlingMs: 60_000,
} as const;

export const initialBackoff: BackoffState = {
  multiplier: 1,
  epoch: 0,
  consecutiveSuccesses: 0,
  total429: 0,
  last429At: 0,
  ceiling: 0,
  probeSuccesses: adaptation.firstProbeSuccesses,
  settledMultiplier: 1,
  steppedAt: Number.MIN_SAFE_INTEGER,
};

/** More successes; those of grants of an older epoch say nothing of the present rate. */
export function afterSuccesses(
  state: BackoffState,
  { successes, successEpoch }: Pick<Demand, 'successes' | 'successEpoch'>,
  clockMs: number,
  isAdaptive: boolean,
): BackoffState {
  if (successes === 0 || successEpoch !== state.epoch) return state;
  let { multiplier, ceiling, probeSuccesses, settledMultiplier, steppedAt } = state;
  let consecutiveSuccesses = state.consecutiveSuccesses + successes;
  while (isAdaptive && multiplier > 1) {
    const next = Math.max(1, multiplier * adaptation.decrease);
    const needed = next <= ceiling ? probeSuccesses : adaptation.successesPerStep;
    if (consecutiveSuccesses < needed) break;
    // A rate that was refused before and now held: the next probe is as cheap as the first.
    if (multiplier <= ceiling) probeSuccesses = adaptation.firstProbeSuccesses;
    if (clockMs - steppedAt >= adaptation.settlingMs) settledMultiplier = multiplier;
    steppedAt = clockMs;
    consecutiveSuccesses -= needed;
    multiplier = next;
  }
  const isFullRateProven = multiplier === 1 && consecutiveSuccesses >= probeSuccesses;
  if (isFullRateProven) [ceiling, probeSuccesses] = [0, adaptation.firstProbeSuccesses];
  return {
    ...state,
    multiplier,
    ceiling,
    probeSuccesses,
    settledMultiplier,
    steppedAt,
    consecutiveSuccesses,
  };
}

/** Refusals are counted in any case; only one whose grant is of the current epoch slows down. */
export function afterRefusals(
  state: BackoffState,
  { refusals, refusalEpoch }: Pick<Demand, 'refusals' | 'refusalEpoch'>,
  clockMs: number,
  wallMs: number,
  isAdaptive: boolean,
): BackoffState {
  if (refusals === 0) return state;
  const counted = {
    ...state,
    total429: state.total429 + refusals,
    last429At: wallMs,
    consecutiveSuccesses: 0,
  };
  if (!isAdaptive || refusalEpoch !== state.epoch) return counted;
  const hasProbeFailed = state.multiplier <= state.ceiling;
  const hasSettled = clockMs - state.steppedAt >= adaptation.settlingMs;
  const multiplier = Math.min(adaptation.largestMultiplier, state.multiplier * adaptation.increase);
  return {
    ...counted,
    multiplier,
    epoch: state.epoch + 1,
    ceiling: hasSettled ? state.multiplier : state.settledMultiplier,
    probeSuccesses: hasProbeFailed
      ? Math.min(adaptation.largestProbeSuccesses, state.probeSuccesses * 2)
      : state.probeSuccesses,
    settledMultiplier: multiplier,
    steppedAt: clockMs,
  };
}
