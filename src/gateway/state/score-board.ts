// Scores from memory: the store's tallies, read now and then, and what this process saw since.
//
// The long-term tally is all before the window plus the window. What lies before it changes only as the window moves on,
// in whole hours, so that the many old attempts are read once an hour and only the recent ones every time.
import type { ModelHistory } from '../desk-ports.ts';
import type { Attempt, AttemptStore, ModelTally, Score, Scores, Tally } from '../ports.ts';
import type { AttemptLog } from './batching-attempt-recorder.ts';
import { forPerson } from './in-time.ts';
import { OwnTallies } from './own-tallies.ts';
import { explainScore, scoreOf } from './score.ts';
import type { Reload } from '../../resilience/index.ts';
import type { StateDeps } from './state-parts.ts';
import { reloadOf } from './state-parts.ts';
import { addTallies, emptyTally } from './tally.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

export interface ScoreBoardParts extends StateDeps {
  readonly store: Pick<AttemptStore, 'tallies' | 'list' | 'history'>;
  readonly recorder: Pick<AttemptLog, 'withWritesPaused' | 'waiting' | 'onRecord' | 'flush'>;
  /** Days that count as recent. */
  readonly windowDays: number;
}

export interface ScoreExplanation {
  readonly score: Score;
  /** The formulas with this model's numbers in them, a sentence each. */
  readonly steps: readonly string[];
  /** Newest first. */
  readonly recentAttempts: readonly Attempt[];
}

type Tallies = ReadonlyMap<number, Tally>;

export class ScoreBoard implements Scores {
  readonly #parts: ScoreBoardParts;
  readonly #reload: Reload;
  readonly #own = new OwnTallies();
  readonly #scores = new Map<number, Score>();
  #windowStart = Number.NaN;
  #beforeWindow: Tallies = new Map();
  #inWindow: Tallies = new Map();
  #hasNews = true;

  constructor(parts: ScoreBoardParts) {
    this.#parts = parts;
    this.#reload = reloadOf(parts, 'read scores', () => this.#load());
    parts.recorder.onRecord((attempt) => this.#count(attempt));
  }

  of(modelId: number): Score {
    const known = this.#scores.get(modelId);
    if (known) return known;
    const score = this.#score(modelId, this.#inWindow.get(modelId) ?? emptyTally, this.#parts.windowDays);
    this.#scores.set(modelId, score);
    return score;
  }

  /** Scores over another window, asked of the store. Fails with STATE_UNAVAILABLE. */
  async forWindow(windowDays: number): Promise<Scores> {
    if (windowDays === this.#parts.windowDays) return this;
    const since = new Date(this.#startOf(windowDays));
    const { clock, store, recorder } = this.#parts;
    const reading = recorder.withWritesPaused(async () => {
      const tallies = byModel(await store.tallies({ since }));
      const own = new OwnTallies();
      own.restart(recorder.waiting);
      return (modelId: number) => own.addTo(tallies.get(modelId) ?? emptyTally, modelId);
    });
    const recent = await forPerson(clock, reading);
    return {
      of: (modelId) => scoreOf(this.of(modelId).longTerm, recent(modelId), windowDays),
    };
  }

  /** How the number came about. Fails with STATE_UNAVAILABLE. */
  async explain(modelId: number, limit = 20): Promise<ScoreExplanation> {
    const { clock, recorder, store } = this.#parts;
    const reading = recorder.flush().then(() => store.list({ modelId, limit }));
    const recentAttempts = await forPerson(clock, reading);
    const score = this.of(modelId);
    return { score, steps: explainScore(score), recentAttempts };
  }

  /** How it did over the last `hours`, in about a hundred intervals. Fails with STATE_UNAVAILABLE. */
  async history(modelId: number, hours: number): Promise<ModelHistory> {
    const { clock, recorder, store } = this.#parts;
    const intervalMs = Math.ceil((hours * hourMs) / 96 / 60_000) * 60_000;
    const until = new Date(clock.now());
    const since = new Date(Math.floor((until.getTime() - hours * hourMs) / intervalMs) * intervalMs);
    const reading = recorder.flush().then(() => store.history({ modelId, since, intervalMs }));
    return { since, until, intervalMs, intervals: await forPerson(clock, reading) };
  }

  start(): Promise<void> {
    return this.#reload.start();
  }

  refresh(): Promise<boolean> {
    return this.#reload.refresh();
  }

  /** Reads the store only if something may have changed that is not known here: for a store of our own. */
  async refreshIfNeeded(): Promise<void> {
    if (this.#hasNews || this.#startOf(this.#parts.windowDays) !== this.#windowStart) await this.refresh();
  }

  close(): Promise<void> {
    return this.#reload.close();
  }

  #count(attempt: Attempt): void {
    this.#own.count(attempt);
    this.#scores.delete(attempt.modelId);
    this.#hasNews = true;
  }

  #score(modelId: number, inWindow: Tally, windowDays: number): Score {
    const recent = this.#own.addTo(inWindow, modelId);
    return scoreOf(addTallies(this.#beforeWindow.get(modelId) ?? emptyTally, recent), recent, windowDays);
  }

  async #load(): Promise<void> {
    const { store, recorder, windowDays } = this.#parts;
    await recorder.withWritesPaused(async () => {
      const start = this.#startOf(windowDays);
      const since = new Date(start);
      const beforeWindow =
        start === this.#windowStart ? this.#beforeWindow : byModel(await store.tallies({ before: since }));
      const inWindow = byModel(await store.tallies({ since }));
      this.#windowStart = start;
      this.#beforeWindow = beforeWindow;
      this.#inWindow = inWindow;
      this.#own.restart(recorder.waiting);
      this.#hasNews = recorder.waiting.length > 0;
      this.#scores.clear();
    });
  }

  #startOf(windowDays: number): number {
    return Math.floor((this.#parts.clock.now() - windowDays * dayMs) / hourMs) * hourMs;
  }
}

const byModel = (tallies: readonly ModelTally[]): Tallies =>
  new Map(tallies.map(({ modelId, ...tally }) => [modelId, tally]));
