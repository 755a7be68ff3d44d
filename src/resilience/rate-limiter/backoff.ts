// How the rate follows the server's 429s. Pure rules, without I/O; take-grants.lua has the same.
//
// One 429 says little: a server may reject a few percent of all calls whatever their rate, or all calls for some seconds,
// and slowing down for each of them would stop a long run. So there are two multipliers (1 is the full rate, 2 is half):
//
//   multiplier  the pace of now. ×1.5 for a burst of 429s, ×0.9 after ten successes, never faster than `learned`.
//   learned     the rate that the server accepts, as far as known. Only evidence changes it:
//
//   bursts of 429s too often (an alarm on their share)         → learned × 1.5
//   a burst within 90 s of the last one lasts longer than 6 s   → learned × 1.5, as a server does that counts by the minute
//   rejected at the full pace, but not when slower              → learned ÷ 0.81
//   none of these helped: as many 429s as before                → back; these 429s do not depend on the rate
//   enough successes with hardly any 429                        → learned × 0.9, as a probe; with some, after six times as many
//   more 429s than before the probe                             → back, and twice as long until the next one
//   an hour without a raise                                     → learned = 1
//
// A burst is all 429s up to the next success of a call that was granted after the first of them. It counts once for the
// alarm, and changes `learned` at most once: while nothing is accepted, nothing shows which rate would be.
//
// Measured against simulated servers in backoff.simulation.test.ts.

export const adaptation = {
  increase: 1.5,
  decrease: 0.9,
  /** The slowest rate: a server that rejects 1/64 of the limit cannot be satisfied by pacing. */
  maxMultiplier: 64,
  successesPerStep: 10,
  /** A learned rate is judged after this many successes … */
  firstProbeSuccesses: 100,
  largestProbeSuccesses: 1_600,
  /** … and not earlier than this: servers count by the minute. */
  settlingMs: 60_000,
  expiryMs: 3_600_000,
  /** The alarm is a cumulative sum (Page's test): it falls while 5% of calls are rejected, and rises with 20%. */
  alarmPer429: Math.log(4),
  toleratedShare: 0.05,
  alarmAt: 6,
  /** A burst of 429s that lasts longer than this is a limit rather than an outage … */
  longBurstMs: 6_000,
  /** … if the last 429 before it is not older: a server that counts by the minute accepts nothing again within a minute. */
  repeatedBurstMs: 90_000,
  /** Long bursts at a rate this much slower than before the first raise have another cause. */
  largestRaise: 12,
  /** Log-likelihood by which two shares of 429s must differ. */
  evidence: 3,
  raise: 1 / 0.81,
  /** A share of 429s that a slower rate does not lower below this part of it has another cause. */
  unchanged: 0.6,
  /** The share of 429s with which a faster rate is still probed. */
  cleanShare: 0.005,
  /** With a larger share, it is probed after this many times as many successes. */
  unprovenFactor: 6,
  largestTolerated: 0.08,
  /** A multiplier this much above `learned` counts as slower. */
  slower: 1.15,
} as const;

export const phases = { steady: 0, raised: 1, probing: 2 } as const;

export interface BackoffState {
  readonly multiplier: number;
  readonly learned: number;
  /** Counts the increases of `multiplier`. Grants carry theirs: 429s of calls in flight at an increase cause no other. */
  readonly epoch: number;
  /** Since the last 429 or the last step of the multiplier. */
  readonly consecutiveSuccesses: number;
  readonly total429: number;
  /** Wall clock, epoch milliseconds; 0 for never. So are `changedAt`, `raisedAt` and `burstAt`. */
  readonly last429At: number;
  /** Increases in the current burst of 429s; 0 outside of one. */
  readonly consecutive429: number;
  readonly alarm: number;
  /** One of `phases`: whether `learned` is on trial. */
  readonly phase: number;
  readonly changedAt: number;
  readonly raisedAt: number;
  /** Since `learned` changed. */
  readonly successes: number;
  /** Successes required before a faster rate is probed. */
  readonly probeSuccesses: number;
  /** Calls, and 429s among them, at the learned pace and at a slower one, since `learned` changed. */
  readonly fullCalls: number;
  readonly full429: number;
  readonly slowCalls: number;
  readonly slow429: number;
  /** 1 when the current burst of 429s began at a slower pace. */
  readonly isBurstSlow: number;
  /** When it began, and 1 when it followed another within `repeatedBurstMs`. */
  readonly burstAt: number;
  readonly isBurstRepeated: number;
  /** The learned multiplier before the trial, which may be several raises, and what it had. */
  readonly previousLearned: number;
  readonly previousCalls: number;
  readonly previous429: number;
  /** The share of 429s that was found not to depend on the rate. */
  readonly toleratedShare: number;
}

export const initialBackoff: BackoffState = {
  multiplier: 1,
  learned: 1,
  epoch: 0,
  consecutiveSuccesses: 0,
  total429: 0,
  last429At: 0,
  consecutive429: 0,
  alarm: 0,
  phase: phases.steady,
  changedAt: 0,
  raisedAt: 0,
  successes: 0,
  probeSuccesses: adaptation.firstProbeSuccesses,
  fullCalls: 0,
  full429: 0,
  slowCalls: 0,
  slow429: 0,
  isBurstSlow: 0,
  burstAt: 0,
  isBurstRepeated: 0,
  previousLearned: 1,
  previousCalls: 0,
  previous429: 0,
  toleratedShare: 0,
};

/** In the order of take-grants.lua. */
export const backoffFields = Object.keys(initialBackoff) as readonly (keyof BackoffState)[];

type Draft = { -readonly [Name in keyof BackoffState]: number };

/** What calls returned, as a limiter reports it. */
export interface Outcomes {
  /** Successful calls; the newest epoch among their grants, and how many are of it. */
  readonly successes: number;
  readonly epochSuccesses: number;
  readonly successEpoch: number;
  /** Calls that received a 429, and the newest epoch among their grants. */
  readonly rateLimitedCalls: number;
  readonly rateLimitedEpoch: number;
}

/** The state after what a limiter reports, at a wall-clock time. */
export function afterReports(
  state: BackoffState,
  { successes, epochSuccesses, successEpoch, rateLimitedCalls, rateLimitedEpoch }: Outcomes,
  nowMs: number,
  isAdaptive: boolean,
): BackoffState {
  if (successes + rateLimitedCalls === 0 && !hasLearned(state)) return state;
  const draft: Draft = { ...state };
  expire(draft, nowMs);
  const current = successEpoch === state.epoch ? epochSuccesses : 0;
  draft.successes += successes - current;
  for (let count = 0; count < current; count++) succeed(draft, nowMs, isAdaptive);
  if (rateLimitedCalls > 0) {
    draft.total429 += rateLimitedCalls;
    draft.last429At = nowMs;
    draft.consecutiveSuccesses = 0;
    if (isAdaptive) reject(draft, rateLimitedCalls, rateLimitedEpoch === draft.epoch, state.last429At, nowMs);
  }
  return draft;
}

/** Back to the full rate; 429s of earlier calls do not count any more, except in the totals. */
export const afterReset = ({ epoch, total429, last429At }: BackoffState): BackoffState => ({
  ...initialBackoff,
  epoch: epoch + 1,
  total429,
  last429At,
});

const hasLearned = ({ learned, toleratedShare }: BackoffState): boolean => learned > 1 || toleratedShare > 0;

/** What was learned does not outlive an hour: servers change, and so do their other clients. */
function expire(draft: Draft, nowMs: number): void {
  if (!hasLearned(draft)) return;
  const age = nowMs - draft.raisedAt;
  // A clock that was set back makes an age unknown.
  if (age >= 0 && age <= adaptation.expiryMs) return;
  setLearned(draft, 1, phases.steady, nowMs);
  draft.probeSuccesses = adaptation.firstProbeSuccesses;
  draft.toleratedShare = 0;
  draft.raisedAt = nowMs;
}

function lowerAlarm(draft: Draft): void {
  const expected = Math.max(adaptation.toleratedShare, 1.3 * draft.toleratedShare);
  const perSuccess = Math.log((1 - Math.min(0.8, 4 * expected)) / (1 - Math.min(0.5, expected)));
  draft.alarm = Math.max(0, draft.alarm + perSuccess);
}

/** A success with a grant of the current epoch. */
function succeed(draft: Draft, nowMs: number, isAdaptive: boolean): void {
  draft.successes++;
  draft.consecutiveSuccesses++;
  lowerAlarm(draft);
  if (!isAdaptive) return;
  // During a burst the multiplier only spaces attempts until the server accepts again, which it does now.
  if (draft.consecutive429 > 0)
    draft.multiplier = Math.min(draft.multiplier, draft.learned * adaptation.increase);
  draft.consecutive429 = 0;
  if (isSlower(draft)) draft.slowCalls++;
  else draft.fullCalls++;
  if (draft.multiplier > draft.learned && draft.consecutiveSuccesses >= adaptation.successesPerStep) {
    draft.consecutiveSuccesses -= adaptation.successesPerStep;
    draft.multiplier = Math.max(draft.learned, draft.multiplier * adaptation.decrease);
  }
  judge(draft, nowMs);
}

/** Ends a trial, or begins the next probe, once the learned rate has been used for long enough. */
function judge(draft: Draft, nowMs: number): void {
  const {
    firstProbeSuccesses,
    settlingMs,
    cleanShare,
    largestTolerated,
    unchanged,
    decrease,
    unprovenFactor,
  } = adaptation;
  const age = nowMs - draft.changedAt;
  if (draft.successes < firstProbeSuccesses || age < settlingMs) return;
  const [calls, rejected] = totals(draft);
  const share = rejected / calls;
  const before = previousShare(draft);
  if (draft.phase === phases.raised) {
    if (share > cleanShare && share >= unchanged * before) return tolerate(draft, nowMs);
    // Longer than the time between two bursts of a limit.
    if (age < 2 * settlingMs) return;
  }
  if (draft.phase === phases.probing) {
    if (share > Math.max(cleanShare, 1.5 * Math.max(before, draft.toleratedShare)))
      return failProbe(draft, nowMs);
    draft.probeSuccesses = firstProbeSuccesses;
    if (share > 4 * cleanShare) draft.toleratedShare = Math.min(largestTolerated, share);
  }
  draft.phase = phases.steady;
  if (draft.learned === 1) return;
  // Only calls at the learned pace show whether the server accepts it.
  const isProven = draft.full429 <= cleanShare * draft.fullCalls && draft.fullCalls >= draft.probeSuccesses;
  const isUsual = share <= 1.5 * draft.toleratedShare && slowerHelps(draft) < 1;
  if (isProven || draft.successes >= (isUsual ? 1 : unprovenFactor) * draft.probeSuccesses)
    tryLearned(draft, Math.max(1, draft.learned * decrease), phases.probing, nowMs);
}

/** `last429At`: of the 429 before these. */
function reject(draft: Draft, count: number, isCurrent: boolean, last429At: number, nowMs: number): void {
  const isFirst = isCurrent && draft.consecutive429 === 0;
  if (isFirst) {
    draft.burstAt = nowMs;
    draft.isBurstRepeated = nowMs - last429At <= adaptation.repeatedBurstMs ? 1 : 0;
    draft.isBurstSlow = isSlower(draft) ? 1 : 0;
    draft.alarm += adaptation.alarmPer429;
  }
  // A burst that changed the learned rate is no evidence about the new one.
  const isEvidence = isFirst || draft.changedAt < draft.burstAt;
  if (isEvidence) {
    const slow = draft.isBurstSlow === 1;
    draft.slowCalls += slow ? count : 0;
    draft.slow429 += slow ? count : 0;
    draft.fullCalls += slow ? 0 : count;
    draft.full429 += slow ? 0 : count;
  }
  if (!isCurrent) return;
  draft.consecutive429++;
  draft.epoch++;
  if (isEvidence) learn(draft, nowMs);
  const burst = draft.learned * adaptation.increase ** draft.consecutive429;
  draft.multiplier = Math.min(adaptation.maxMultiplier, Math.max(draft.multiplier, burst));
}

/** What a 429 with a grant of the current epoch teaches. */
function learn(draft: Draft, nowMs: number): void {
  const { alarmAt, evidence, increase, raise, firstProbeSuccesses, longBurstMs, largestRaise } = adaptation;
  const [calls, rejected] = totals(draft);
  const share = rejected / calls;
  const isAlarm = draft.alarm >= alarmAt;
  const isLong = draft.isBurstRepeated === 1 && nowMs - draft.burstAt > longBurstMs;
  if (draft.phase === phases.probing) {
    const isWorse = moreRejected(rejected, calls, draft.previous429, draft.previousCalls) >= evidence;
    if (isAlarm || isLong || isWorse) failProbe(draft, nowMs);
    return;
  }
  const isRaised = draft.phase === phases.raised;
  const helps = slowerHelps(draft) >= evidence;
  // 429s keep the multiplier above the learned one.
  const isNeverReached = draft.slowCalls >= 2 * firstProbeSuccesses && draft.fullCalls < draft.slowCalls / 10;
  const isNew = share > 1.5 * draft.toleratedShare;
  if (!isAlarm && !(isNew && (isLong || (!isRaised && (helps || isNeverReached))))) return;
  draft.raisedAt = nowMs;
  const learned = draft.learned * (helps && !isLong ? raise : increase);
  if (!isRaised) return tryLearned(draft, learned, phases.raised, nowMs);
  const isUnchanged = isLong
    ? learned > draft.previousLearned * largestRaise
    : calls >= firstProbeSuccesses / 2 && share >= previousShare(draft);
  if (isUnchanged) tolerate(draft, nowMs);
  else setLearned(draft, learned, phases.raised, nowMs);
}

/** A slower rate did not lower the share of 429s: back to the rate before the trial. */
function tolerate(draft: Draft, nowMs: number): void {
  const [calls, rejected] = totals(draft);
  draft.toleratedShare = Math.min(adaptation.largestTolerated, rejected / calls);
  setLearned(draft, draft.previousLearned, phases.steady, nowMs);
}

/** The evidence that fewer calls are rejected at a slower pace than at the learned one. */
const slowerHelps = ({ full429, fullCalls, slow429, slowCalls }: Draft): number =>
  moreRejected(full429, fullCalls, slow429, slowCalls);

const isSlower = ({ multiplier, learned }: Draft): boolean => multiplier >= learned * adaptation.slower;

const totals = ({ fullCalls, slowCalls, full429, slow429 }: Draft): readonly [number, number] => [
  Math.max(1, fullCalls + slowCalls),
  full429 + slow429,
];

const previousShare = ({ previous429, previousCalls }: Draft): number =>
  previous429 / Math.max(1, previousCalls);

function tryLearned(draft: Draft, learned: number, phase: number, nowMs: number): void {
  const [calls, rejected] = totals(draft);
  [draft.previousLearned, draft.previousCalls, draft.previous429] = [draft.learned, calls, rejected];
  setLearned(draft, learned, phase, nowMs);
}

function failProbe(draft: Draft, nowMs: number): void {
  draft.probeSuccesses = Math.min(adaptation.largestProbeSuccesses, draft.probeSuccesses * 2);
  setLearned(draft, draft.previousLearned, phases.steady, nowMs);
}

function setLearned(draft: Draft, learned: number, phase: number, nowMs: number): void {
  const isAtPace = draft.multiplier <= draft.learned;
  draft.learned = Math.min(adaptation.maxMultiplier, learned);
  draft.multiplier = isAtPace ? draft.learned : Math.max(draft.learned, draft.multiplier);
  draft.phase = phase;
  draft.changedAt = nowMs;
  draft.successes = 0;
  draft.alarm = 0;
  draft.fullCalls = draft.full429 = draft.slowCalls = draft.slow429 = 0;
}

/** How much likelier two different shares of 429s are than one common share; 0 if the first is not the larger one. */
function moreRejected(rejected: number, calls: number, others: number, otherCalls: number): number {
  if (calls === 0 || otherCalls === 0 || rejected * otherCalls <= others * calls) return 0;
  return (
    logLikelihood(rejected, calls) +
    logLikelihood(others, otherCalls) -
    logLikelihood(rejected + others, calls + otherCalls)
  );
}

function logLikelihood(rejected: number, calls: number): number {
  const term = (count: number) => (count > 0 ? count * Math.log(count / calls) : 0);
  return term(rejected) + term(calls - rejected);
}
