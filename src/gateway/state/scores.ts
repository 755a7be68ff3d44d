// Scores from memory: the stats of the store, read periodically, plus what this process has not written yet.
//
// The long-term stats are everything before the window plus the window. The window moves in whole hours, so that the many
// old attempts are read once an hour and only the recent ones every time.
import type { Reload } from '../../resilience/index.ts';
import type { AttemptStore } from '../stores.ts';
import type { Attempt, ModelStats, OutcomeStats, Score, ScoredStats } from '../types.ts';
import type { AttemptLog } from './attempt-log.ts';
import { isReliabilityOutcome } from './attempt-log.ts';
import type { StateDeps } from './store-access.ts';
import { storeReload, withStoreTimeout } from './store-access.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const minuteMs = 60_000;
/** Approximate number of intervals in a history. */
const historyIntervals = 96;

export interface ScoresDeps extends StateDeps {
  readonly store: Pick<AttemptStore, 'stats' | 'list' | 'history'>;
  readonly attempts: Pick<AttemptLog, 'withWritesPaused' | 'waiting' | 'onRecord' | 'flush'>;
  /** Days that count as recent. */
  readonly windowDays: number;
}

export type ScoreLookup = Pick<Scores, 'of'>;

export class Scores {
  readonly reload: Reload;
  readonly #deps: ScoresDeps;
  readonly #scores = new Map<number, Score>();
  #windowStart = Number.NaN;
  #beforeWindow: SumsByModel = new Map();
  #inWindow: SumsByModel = new Map();
  /** Outcomes that the two above do not contain yet. */
  #unwritten = new Map<number, Sums>();
  #isOutdated = true;

  constructor(deps: ScoresDeps) {
    this.#deps = deps;
    this.reload = storeReload(deps, 'read scores', () => this.#load());
    deps.attempts.onRecord((attempt) => {
      addAttempt(this.#unwritten, attempt);
      this.#scores.delete(attempt.modelId);
      this.#isOutdated = true;
    });
  }

  of(modelId: number): Score {
    let score = this.#scores.get(modelId);
    if (!score) {
      const recent = sumOf(modelId, this.#inWindow, this.#unwritten);
      const longTerm = addSums(this.#beforeWindow.get(modelId) ?? noSums, recent);
      score = scoreOf(statsOf(longTerm), statsOf(recent), this.#deps.windowDays);
      this.#scores.set(modelId, score);
    }
    return score;
  }

  /** Scores over another window, read from the store. Fails with STATE_UNAVAILABLE. */
  async forWindow(windowDays: number): Promise<ScoreLookup> {
    if (windowDays === this.#deps.windowDays) return this;
    const since = new Date(this.#startOf(windowDays));
    const { clock, store, attempts } = this.#deps;
    const reading = attempts.withWritesPaused(async () => {
      const stored = byModel(await store.stats({ since }));
      const unwritten = sumsOf(attempts.waiting);
      return (modelId: number) => statsOf(sumOf(modelId, stored, unwritten));
    });
    const recentOf = await withStoreTimeout(clock, reading);
    return { of: (modelId) => scoreOf(this.of(modelId).longTerm, recentOf(modelId), windowDays) };
  }

  /** The formulas with the model's numbers, and its last attempts, newest first. Fails with STATE_UNAVAILABLE. */
  async explain(modelId: number, limit = 20) {
    const { clock, attempts, store } = this.#deps;
    const reading = attempts.flush().then(() => store.list({ modelId, limit }));
    const recentAttempts = await withStoreTimeout(clock, reading);
    const score = this.of(modelId);
    return { score, steps: explainScore(score), recentAttempts };
  }

  /** The stats of the last `hours` in about a hundred intervals, without empty ones. Fails with STATE_UNAVAILABLE. */
  async history(modelId: number, hours: number) {
    const { clock, attempts, store } = this.#deps;
    const intervalMs = Math.ceil((hours * hourMs) / historyIntervals / minuteMs) * minuteMs;
    const until = new Date(clock.now());
    const since = new Date(Math.floor((until.getTime() - hours * hourMs) / intervalMs) * intervalMs);
    const reading = attempts.flush().then(() => store.history({ modelId, since, intervalMs }));
    return { since, until, intervalMs, intervals: await withStoreTimeout(clock, reading) };
  }

  /** For a store that no other process writes to: reads only if this process has changed something. */
  async refreshIfNeeded(): Promise<void> {
    if (this.#isOutdated || this.#startOf(this.#deps.windowDays) !== this.#windowStart)
      await this.reload.refresh();
  }

  async #load(): Promise<void> {
    const { store, attempts, windowDays } = this.#deps;
    await attempts.withWritesPaused(async () => {
      const start = this.#startOf(windowDays);
      const since = new Date(start);
      const beforeWindow =
        start === this.#windowStart ? this.#beforeWindow : byModel(await store.stats({ before: since }));
      const inWindow = byModel(await store.stats({ since }));
      this.#windowStart = start;
      this.#beforeWindow = beforeWindow;
      this.#inWindow = inWindow;
      this.#unwritten = sumsOf(attempts.waiting);
      this.#isOutdated = attempts.waiting.length > 0;
      this.#scores.clear();
    });
  }

  #startOf(windowDays: number): number {
    return Math.floor((this.#deps.clock.now() - windowDays * dayMs) / hourMs) * hourMs;
  }
}

/* ---- sums: the stats of disjoint sets of attempts add up ---- */

export interface Sums {
  readonly requests: number;
  readonly successes: number;
  /** Total duration of successes, and what `typicalMs` is of it. */
  readonly seconds: number;
  readonly typicalSeconds: number;
}

export type SumsByModel = ReadonlyMap<number, Sums>;

const noSums: Sums = { requests: 0, successes: 0, seconds: 0, typicalSeconds: 0 };

const addSums = (a: Sums, b: Sums): Sums => ({
  requests: a.requests + b.requests,
  successes: a.successes + b.successes,
  seconds: a.seconds + b.seconds,
  typicalSeconds: a.typicalSeconds + b.typicalSeconds,
});

export const statsOf = ({ requests, successes, seconds, typicalSeconds }: Sums): ScoredStats => ({
  requests,
  successes,
  averageSeconds: successes === 0 ? 0 : seconds / successes,
  typicalSeconds: successes === 0 ? 0 : typicalSeconds / successes,
});

export const sumOf = (modelId: number, one: SumsByModel, other: SumsByModel): Sums =>
  addSums(one.get(modelId) ?? noSums, other.get(modelId) ?? noSums);

export const byModel = (stats: readonly ModelStats[]): SumsByModel =>
  new Map(
    stats.map(({ modelId, requests, successes, averageSeconds, typicalSeconds }) => [
      modelId,
      {
        requests,
        successes,
        seconds: averageSeconds * successes,
        typicalSeconds: typicalSeconds * successes,
      },
    ]),
  );

/** What attempts add to stats that do not contain them. One that supersedes another is not an additional request. */
export function sumsOf(attempts: readonly Attempt[]): Map<number, Sums> {
  const sums = new Map<number, Sums>();
  for (const attempt of attempts) addAttempt(sums, attempt);
  return sums;
}

export function addAttempt(
  sums: Map<number, { -readonly [Field in keyof Sums]: Sums[Field] }>,
  attempt: Attempt,
): void {
  const { modelId, outcome, supersedes, durationMs } = attempt;
  if (!isReliabilityOutcome(attempt)) return;
  let own = sums.get(modelId);
  if (!own) sums.set(modelId, (own = { ...noSums }));
  if (!supersedes) own.requests++;
  if (outcome !== 'success') return;
  own.successes++;
  own.seconds += durationMs / 1_000;
  own.typicalSeconds += typicalMs(attempt) / 1_000;
}

/* ---- the formula ---- */

/** The score of a model without history. */
export const priorScore = 0.5;
const successWeight = 0.6;
const speedWeight = 0.4;
/** The length of a typical response; stores compute averages with it. */
export const typicalTokens = 200;
/** A response this slow earns nothing for speed. */
const slowSeconds = 10;
/** Fewer recent requests are not representative. */
const minRecentRequests = 3;

export const successRate = ({ requests, successes }: OutcomeStats): number =>
  requests === 0 ? 0 : successes / requests;

/**
 * The time of the attempt for up to `typicalTokens`: until its first token, then for as many at its speed. Without it a
 * model would look slow because its responses are long.
 */
export function typicalMs({
  durationMs,
  firstTokenMs,
  completionTokens,
}: Pick<Attempt, 'durationMs' | 'firstTokenMs' | 'completionTokens'>): number {
  const firstMs = firstTokenMs ?? 0;
  const share = Math.min(1, typicalTokens / Math.max(1, completionTokens));
  return firstMs + Math.max(0, durationMs - firstMs) * share;
}

/** 0 to 1; the prior without history, 0 when nothing succeeded. */
export function reliability(stats: ScoredStats): number {
  if (stats.requests === 0) return priorScore;
  if (stats.successes === 0) return 0;
  return (
    successWeight * successRate(stats) + speedWeight * Math.max(0, 1 - stats.typicalSeconds / slowSeconds)
  );
}

export function scoreOf(longTerm: ScoredStats, recent: ScoredStats, windowDays: number): Score {
  const isRecentEnough = recent.requests >= minRecentRequests;
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

function decisionReason(longTerm: OutcomeStats, recent: OutcomeStats, windowDays: number): string {
  const days = windowDays === 1 ? 'day' : `${windowDays} days`;
  if (longTerm.requests === 0) return `No requests counted yet: the prior ${priorScore} is used.`;
  if (recent.requests >= minRecentRequests)
    return `Recent: ${recent.requests} requests in the last ${days}, at least ${minRecentRequests} are needed.`;
  return `Long-term: only ${recent.requests} in the last ${days}, ${minRecentRequests} are needed for the recent score.`;
}

/** The formulas with a model's numbers, one sentence each. */
export function explainScore({ longTerm, recent, windowDays, ...score }: Score): readonly string[] {
  return [
    `A request counts once, by its last outcome; rate limits, requests that no model accepts, canceled requests and short deadlines do not count.`,
    `Long-term, all stored attempts: ${formula(longTerm)}`,
    `Recent, ${windowDays} days: ${formula(recent)}`,
    `${score.decisionReason} Effective score: ${rounded(score.effectiveScore)}.`,
  ];
}

function formula(stats: ScoredStats): string {
  const { requests, successes, typicalSeconds } = stats;
  if (requests === 0) return 'no requests.';
  const rate = `${successes} of ${requests} requests succeeded`;
  if (successes === 0) return `${rate}, so the score is 0.`;
  return (
    `${rate}, in ${rounded(typicalSeconds)} s on average for up to ${typicalTokens} tokens: ` +
    `${successWeight} × ${rounded(successRate(stats))} + ` +
    `${speedWeight} × max(0, 1 − ${rounded(typicalSeconds)} / ${slowSeconds}) = ${rounded(reliability(stats))}.`
  );
}

const rounded = (value: number): number => Math.round(value * 10_000) / 10_000;
