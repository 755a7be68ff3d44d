// Scores from memory: the tallies of the store, read periodically, plus what this process has not written yet.
//
// The long-term tally is everything before the window plus the window. The window moves in whole hours, so that the many
// old attempts are read once an hour and only the recent ones every time.
import type { Reload } from '../../resilience/index.ts';
import type { AttemptStore } from '../stores.ts';
import type { Attempt, ModelHistory, ModelTally, Score, Tally } from '../types.ts';
import type { AttemptLog } from './attempt-log.ts';
import { isReliabilityOutcome } from './attempt-log.ts';
import type { StateDeps } from './store-access.ts';
import { storeReload, withStoreTimeout } from './store-access.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const minuteMs = 60_000;
/** About so many intervals in a history. */
const historyIntervals = 96;

export interface ScoresDeps extends StateDeps {
  readonly store: Pick<AttemptStore, 'tallies' | 'list' | 'history'>;
  readonly attempts: Pick<AttemptLog, 'withWritesPaused' | 'waiting' | 'onRecord' | 'flush'>;
  /** Days that count as recent. */
  readonly windowDays: number;
}

export interface ScoreExplanation {
  readonly score: Score;
  /** The formulas with this model's numbers, one sentence each. */
  readonly steps: readonly string[];
  /** Newest first. */
  readonly recentAttempts: readonly Attempt[];
}

export type ScoreLookup = Pick<Scores, 'of'>;

type Tallies = ReadonlyMap<number, Tally>;

export class Scores {
  readonly #deps: ScoresDeps;
  readonly #reload: Reload;
  /** What the tallies below do not contain yet. */
  #unwritten = new TallyDelta();
  readonly #scores = new Map<number, Score>();
  #windowStart = Number.NaN;
  #beforeWindow: Tallies = new Map();
  #inWindow: Tallies = new Map();
  #isOutdated = true;

  constructor(deps: ScoresDeps) {
    this.#deps = deps;
    this.#reload = storeReload(deps, 'read scores', () => this.#load());
    deps.attempts.onRecord((attempt) => {
      this.#unwritten.add(attempt);
      this.#scores.delete(attempt.modelId);
      this.#isOutdated = true;
    });
  }

  of(modelId: number): Score {
    let score = this.#scores.get(modelId);
    if (!score) {
      const recent = this.#unwritten.appliedTo(this.#inWindow.get(modelId) ?? emptyTally, modelId);
      const longTerm = addTallies(this.#beforeWindow.get(modelId) ?? emptyTally, recent);
      score = scoreOf(longTerm, recent, this.#deps.windowDays);
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
      const tallies = byModel(await store.tallies({ since }));
      const unwritten = TallyDelta.of(attempts.waiting);
      return (modelId: number) => unwritten.appliedTo(tallies.get(modelId) ?? emptyTally, modelId);
    });
    const recentOf = await withStoreTimeout(clock, reading);
    return { of: (modelId) => scoreOf(this.of(modelId).longTerm, recentOf(modelId), windowDays) };
  }

  /** Fails with STATE_UNAVAILABLE. */
  async explain(modelId: number, limit = 20): Promise<ScoreExplanation> {
    const { clock, attempts, store } = this.#deps;
    const reading = attempts.flush().then(() => store.list({ modelId, limit }));
    const recentAttempts = await withStoreTimeout(clock, reading);
    const score = this.of(modelId);
    return { score, steps: explainScore(score), recentAttempts };
  }

  /** The tallies of the last `hours` in about a hundred intervals. Fails with STATE_UNAVAILABLE. */
  async history(modelId: number, hours: number): Promise<ModelHistory> {
    const { clock, attempts, store } = this.#deps;
    const intervalMs = Math.ceil((hours * hourMs) / historyIntervals / minuteMs) * minuteMs;
    const until = new Date(clock.now());
    const since = new Date(Math.floor((until.getTime() - hours * hourMs) / intervalMs) * intervalMs);
    const reading = attempts.flush().then(() => store.history({ modelId, since, intervalMs }));
    return { since, until, intervalMs, intervals: await withStoreTimeout(clock, reading) };
  }

  start(): Promise<void> {
    return this.#reload.start();
  }

  refresh(): Promise<boolean> {
    return this.#reload.refresh();
  }

  /** For a store that no other process writes to: reads only if this process has changed something. */
  async refreshIfNeeded(): Promise<void> {
    if (this.#isOutdated || this.#startOf(this.#deps.windowDays) !== this.#windowStart) await this.refresh();
  }

  close(): Promise<void> {
    return this.#reload.close();
  }

  async #load(): Promise<void> {
    const { store, attempts, windowDays } = this.#deps;
    await attempts.withWritesPaused(async () => {
      const start = this.#startOf(windowDays);
      const since = new Date(start);
      const beforeWindow =
        start === this.#windowStart ? this.#beforeWindow : byModel(await store.tallies({ before: since }));
      const inWindow = byModel(await store.tallies({ since }));
      this.#windowStart = start;
      this.#beforeWindow = beforeWindow;
      this.#inWindow = inWindow;
      this.#unwritten = TallyDelta.of(attempts.waiting);
      this.#isOutdated = attempts.waiting.length > 0;
      this.#scores.clear();
    });
  }

  #startOf(windowDays: number): number {
    return Math.floor((this.#deps.clock.now() - windowDays * dayMs) / hourMs) * hourMs;
  }
}

/* ---- tallies ---- */

const emptyTally: Tally = { requests: 0, successes: 0, averageSeconds: 0 };

const byModel = (tallies: readonly ModelTally[]): Tallies =>
  new Map(tallies.map(({ modelId, ...tally }) => [modelId, tally]));

function addTallies(a: Tally, b: Tally): Tally {
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

/** What attempts change in tallies that do not contain them: each adds one request and removes the one it supersedes. */
class TallyDelta {
  readonly #byModel = new Map<number, { requests: number; successes: number; successMs: number }>();

  static of(attempts: readonly Attempt[]): TallyDelta {
    const delta = new TallyDelta();
    for (const attempt of attempts) delta.add(attempt);
    return delta;
  }

  add(attempt: Attempt): void {
    if (!isReliabilityOutcome(attempt)) return;
    let delta = this.#byModel.get(attempt.modelId);
    if (!delta) this.#byModel.set(attempt.modelId, (delta = { requests: 0, successes: 0, successMs: 0 }));
    if (!attempt.supersedes) delta.requests += 1;
    if (attempt.outcome !== 'success') return;
    delta.successes += 1;
    delta.successMs += attempt.durationMs;
  }

  appliedTo(tally: Tally, modelId: number): Tally {
    const delta = this.#byModel.get(modelId);
    if (!delta) return tally;
    const successes = tally.successes + delta.successes;
    const totalMs = tally.averageSeconds * 1_000 * tally.successes + delta.successMs;
    return {
      requests: tally.requests + delta.requests,
      successes,
      averageSeconds: successes === 0 ? 0 : totalMs / successes / 1_000,
    };
  }
}

/* ---- the formula ---- */

/** The score of a model without history. */
export const priorScore = 0.5;
const successWeight = 0.6;
const speedWeight = 0.4;
/** A response this slow earns nothing for speed. */
const slowSeconds = 10;
/** Fewer recent requests are not representative. */
const minRecentRequests = 3;

export const successRate = ({ requests, successes }: Tally): number =>
  requests === 0 ? 0 : successes / requests;

/** 0 to 1; the prior without history, 0 when nothing succeeded. */
export function reliability(tally: Tally): number {
  if (tally.requests === 0) return priorScore;
  if (tally.successes === 0) return 0;
  return (
    successWeight * successRate(tally) + speedWeight * Math.max(0, 1 - tally.averageSeconds / slowSeconds)
  );
}

export function scoreOf(longTerm: Tally, recent: Tally, windowDays: number): Score {
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

function decisionReason(longTerm: Tally, recent: Tally, windowDays: number): string {
  const days = windowDays === 1 ? 'day' : `${windowDays} days`;
  if (longTerm.requests === 0) return `No requests counted yet: the prior ${priorScore} is used.`;
  if (recent.requests >= minRecentRequests)
    return `Recent: ${recent.requests} requests in the last ${days}, at least ${minRecentRequests} are needed.`;
  return `Long-term: only ${recent.requests} in the last ${days}, ${minRecentRequests} are needed for the recent score.`;
}

/** The formulas with a model's numbers, one sentence each. */
export function explainScore({ longTerm, recent, windowDays, ...score }: Score): readonly string[] {
  return [
    `A request counts once, by its last outcome; rate limits, invalid requests, canceled requests and short deadlines do not count.`,
    `Long-term, all stored attempts: ${formula(longTerm)}`,
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
