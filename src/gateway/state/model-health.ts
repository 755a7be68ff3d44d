// Whether models work now: their success rate over the last 15 minutes, and whether their last calls failed.
//
// Read from the attempts of all processes every few seconds, plus what this process has not written yet: workers call models
// whose state a server shows.
import type { Reload } from '../../resilience/index.ts';
import { failureRules } from '../errors.ts';
import type { AttemptStore } from '../stores.ts';
import type { Attempt, Model, OutcomeStats } from '../types.ts';
import type { AttemptLog } from './attempt-log.ts';
import { isReliabilityOutcome } from './attempt-log.ts';
import type { Cooldowns } from './availability.ts';
import type { Sums, SumsByModel } from './scores.ts';
import { addAttempt, byModel, statsOf, sumOf, sumsOf } from './scores.ts';
import type { StateDeps } from './store-access.ts';
import { storeReload } from './store-access.ts';

/** Period of the success rate. */
const rateWindowMs = 15 * 60_000;
/** Older calls are no evidence of the current state. */
const evidenceMs = 3_600_000;
/** How many of the last calls decide. */
const judgedCalls = 10;
/** Fewer calls are no evidence; this many successes in a row end a failure. */
const minCalls = 3;
/** A caller that stopped waiting for content after this time has met a model that hangs. */
const hangingMs = 10_000;

export interface Health extends OutcomeStats {
  /** Its last three calls failed, or most of its last ten without three successes since. */
  readonly isFailing: boolean;
  /** The outcome of the last call, if that failed. */
  readonly lastFailure: Attempt['outcome'] | null;
}

type Call = Pick<Attempt, 'modelId' | 'at' | 'outcome'>;

export interface ModelHealthDeps extends StateDeps {
  readonly store: Pick<AttemptStore, 'stats' | 'lastCalls'>;
  readonly attempts: Pick<AttemptLog, 'withWritesPaused' | 'waiting' | 'onRecord'>;
  readonly models: { list(): readonly Model[]; byId(id: number): Model | undefined };
  readonly cooldowns: Pick<Cooldowns, 'clearedAt'>;
  /** A call of this process made the model fail, or ended that. */
  readonly onChange?: ((model: Model, health: Health) => void) | undefined;
}

export class ModelHealth {
  readonly reload: Reload;
  readonly #deps: ModelHealthDeps;
  #stored: SumsByModel = new Map();
  /** Outcomes that the sums above do not contain yet. */
  #unwritten = new Map<number, Sums>();
  /** The last calls of each model, by their start. */
  #calls = new Map<number, Call[]>();
  #failing: ReadonlySet<number> = new Set();
  #isOutdated = true;

  constructor(deps: ModelHealthDeps) {
    this.#deps = deps;
    this.reload = storeReload(deps, 'read model health', () => this.#load());
    deps.attempts.onRecord((attempt) => this.#record(attempt));
  }

  of(modelId: number): Health {
    const calls = this.#callsOf(modelId);
    const last = calls.at(-1)?.outcome ?? 'success';
    return {
      ...statsOf(sumOf(modelId, this.#stored, this.#unwritten)),
      isFailing: isFailing(calls),
      lastFailure: last === 'success' ? null : last,
    };
  }

  /** For a store that no other process writes to: reads only if a rate may have changed. */
  async refreshIfNeeded(): Promise<void> {
    if (this.#isOutdated || this.#stored.size > 0) await this.reload.refresh();
  }

  #record(attempt: Attempt): void {
    const { models, onChange } = this.#deps;
    addAttempt(this.#unwritten, attempt);
    this.#isOutdated = true;
    const model = models.byId(attempt.modelId);
    if (!model || !isEvidence(attempt, model.isLocal)) return;
    this.#add(attempt);
    const { id } = model;
    // A success does not make a model fail; the usual case.
    if (attempt.outcome === 'success' && !this.#failing.has(id)) return;
    const fails = isFailing(this.#callsOf(id));
    if (fails === this.#failing.has(id)) return;
    this.#update();
    onChange?.(model, this.of(id));
  }

  #add({ modelId, at, outcome }: Call): void {
    const calls = this.#calls.get(modelId) ?? [];
    // Calls that started earlier may end later.
    calls.splice(calls.findLastIndex((each) => each.at <= at) + 1, 0, { modelId, at, outcome });
    if (calls.length > judgedCalls) calls.shift();
    this.#calls.set(modelId, calls);
  }

  /** The last calls of a model, without those before an operator cleared it or gave it another endpoint. */
  #callsOf(modelId: number): readonly Call[] {
    const { clock, cooldowns } = this.#deps;
    const since = Math.max(cooldowns.clearedAt(modelId), clock.now() - evidenceMs);
    return (this.#calls.get(modelId) ?? []).filter(({ at }) => at > since);
  }

  async #load(): Promise<void> {
    const { attempts, store, models, clock } = this.#deps;
    const active = models.list().filter(({ isActive }) => isActive);
    const isLocal = (modelId: number) => models.byId(modelId)?.isLocal === true;
    await attempts.withWritesPaused(async () => {
      const now = clock.now();
      const range = { models: active, since: new Date(now - evidenceMs), limit: judgedCalls };
      const calls = await store.lastCalls(range);
      this.#stored = byModel(await store.stats({ since: new Date(now - rateWindowMs) }));
      this.#unwritten = sumsOf(attempts.waiting);
      this.#isOutdated = attempts.waiting.length > 0;
      this.#calls = new Map();
      for (const call of calls) this.#add(call);
      for (const attempt of attempts.waiting)
        if (isEvidence(attempt, isLocal(attempt.modelId))) this.#add(attempt);
    });
    this.#update();
  }

  /** Emits what has changed, here or in other processes. */
  #update(): void {
    const { models, events } = this.#deps;
    const before = this.#failing;
    const all = models.list();
    this.#failing = new Set(all.filter(({ id }) => isFailing(this.#callsOf(id))).map(({ id }) => id));
    for (const { id, name } of all)
      if (before.has(id) !== this.#failing.has(id))
        events.emit('gateway:model-state-changed', {
          model: name,
          state: this.#failing.has(id) ? 'failing' : 'available',
        });
  }
}

function isFailing(calls: readonly Call[]): boolean {
  const hasFailed = ({ outcome }: Call) => outcome !== 'success';
  if (calls.length < minCalls) return false;
  const last = calls.slice(-minCalls);
  if (last.every(hasFailed)) return true;
  return calls.filter(hasFailed).length * 2 > calls.length && last.some(hasFailed);
}

/** Outcomes after which a caller may only have been impatient. */
const impatient: readonly Attempt['outcome'][] = ['canceled', 'deadline-too-short'];

/** The outcomes that say whether a model works; stores select by them, and what counts for reliability. */
export const evidence = {
  outcomes: [
    'success',
    ...Object.entries(failureRules).flatMap(([name, rule]) => (rule.countsAgainst ? [name] : [])),
  ] as readonly Attempt['outcome'][],
  /** Only if no content came for `hangingMs`. */
  impatient,
  hangingMs,
  /** Local models do not cool down, so their limits are failures. */
  local: ['rate-limit'] as readonly Attempt['outcome'][],
} as const;

/** Whether the attempt says something about the model. */
export function isEvidence(attempt: Attempt, isLocal: boolean): boolean {
  const { outcome, durationMs, completionTokens, isStale } = attempt;
  if (isStale === true) return false;
  if (isReliabilityOutcome(attempt)) return true;
  if (impatient.includes(outcome)) return durationMs >= hangingMs && completionTokens === 0;
  return isLocal && evidence.local.includes(outcome);
}
