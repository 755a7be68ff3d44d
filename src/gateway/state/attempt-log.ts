// Attempts and failed requests: the rows of the log, written behind the requests.
import { failureRules } from '../errors.ts';
import type { AttemptStore } from '../stores.ts';
import type { Attempt, FailedRequest } from '../types.ts';
import type { RowLogLimits } from './row-log.ts';
import { RowLog } from './row-log.ts';
import type { StateDeps } from './store-access.ts';

export class AttemptLog {
  readonly #rows: RowLog<Attempt | FailedRequest>;
  readonly #listeners: ((attempt: Attempt) => void)[] = [];

  constructor(deps: StateDeps, store: Pick<AttemptStore, 'append'>, limits: Partial<RowLogLimits> = {}) {
    const onDropped = (count: number) => deps.events.emit('gateway:attempts-dropped', { count });
    const append = (rows: readonly (Attempt | FailedRequest)[]) => store.append(rows);
    this.#rows = new RowLog(deps, { what: 'attempts', append, onDropped }, limits);
  }

  /** Attempts that are not stored yet, oldest first. */
  get waiting(): readonly Attempt[] {
    return this.#rows.waiting.filter(isAttempt);
  }

  /** Never waits, never throws. Returns the attempt as it is stored: `given`, unless a value must be corrected. */
  record(given: Attempt): Attempt {
    const attempt = isStorable(given) ? given : storable(given);
    this.#rows.push(attempt);
    for (const listener of this.#listeners) listener(attempt);
    return attempt;
  }

  /** The end of a request that no model completed, after its attempts. Never waits, never throws. */
  recordFailedRequest(request: FailedRequest): void {
    this.#rows.push({ ...request, ...storableTexts(request), durationMs: toAmount(request.durationMs) });
  }

  /** Called for every attempt when it is recorded, before it is written. */
  onRecord(listener: (attempt: Attempt) => void): void {
    this.#listeners.push(listener);
  }

  /** Writes everything now; false when the store did not accept it. Never rejects. */
  flush(): Promise<boolean> {
    return this.#rows.flush();
  }

  /** Writes everything, then runs `read` while no write runs: `waiting` is then exactly what it does not include. */
  withWritesPaused<T>(read: () => Promise<T>): Promise<T> {
    return this.#rows.withWritesPaused(read);
  }

  /** One last write; reports what is dropped. */
  close(): Promise<void> {
    return this.#rows.close();
  }
}

const isAttempt = (row: Attempt | FailedRequest): row is Attempt => !('errorCode' in row);

/**
 * Whether an attempt counts for the model's reliability. Limits, errors and disconnects of the caller,
 * short deadlines and calls to a former endpoint do not.
 */
export const isReliabilityOutcome = ({
  outcome,
  isStale,
  isModelsFault,
}: Pick<Attempt, 'outcome' | 'isStale' | 'isModelsFault'>): boolean =>
  isStale !== true &&
  (outcome === 'success' || failureRules[outcome].countsAgainst || isModelsFault === true);

/** For each row, whether it counts: an attempt about reliability that none of the others supersedes. */
export function countsAmong(rows: readonly (Attempt | FailedRequest)[]): readonly boolean[] {
  const superseded = new Set(rows.map((row) => (isAttempt(row) ? row.supersedes : undefined)));
  return rows.map((row) => isAttempt(row) && isReliabilityOutcome(row) && !superseded.has(row));
}

/* ---- values as every store accepts them: numbers come from providers and may be anything ---- */

const maxInteger = 2_147_483_647;

const maxCalls = 32_767;
/** In characters; callers may send anything as the name of a model. */
const maxNameLength = 200;

const isCount = (value: number): boolean => value >= 0 && value <= maxInteger && Number.isInteger(value);
const isAmount = (value: number): boolean => value >= 0 && value < Infinity;

const toCount = (value: number): number => (value >= 0 ? Math.min(Math.trunc(value), maxInteger) : 0);
const toAmount = (value: number): number => (isAmount(value) ? value : 0);

/** Nearly always: then nothing is copied. */
const isStorable = (attempt: Attempt): boolean =>
  isCount(attempt.promptTokens) &&
  isCount(attempt.completionTokens) &&
  isCount(attempt.cacheReadTokens) &&
  isCount(attempt.cacheWriteTokens) &&
  (attempt.costUsd === null || isAmount(attempt.costUsd)) &&
  isAmount(attempt.durationMs) &&
  isAmount(attempt.waitedMs) &&
  (attempt.firstTokenMs === null || isAmount(attempt.firstTokenMs)) &&
  attempt.callNumber <= maxCalls &&
  attempt.requestedModel.length <= maxNameLength &&
  Number.isInteger(attempt.at) &&
  !attempt.requestId.includes('\0') &&
  !attempt.caller.includes('\0') &&
  !attempt.requestedModel.includes('\0');

const storableTexts = ({ requestId, caller, requestedModel, at }: Attempt | FailedRequest) => ({
  requestId: requestId.replaceAll('\0', ''),
  caller: caller.replaceAll('\0', ''),
  requestedModel: requestedModel.slice(0, maxNameLength).replaceAll('\0', '').toWellFormed(),
  at: Math.trunc(at),
});

function storable(attempt: Attempt): Attempt {
  const { firstTokenMs, costUsd } = attempt;
  return {
    ...attempt,
    ...storableTexts(attempt),
    durationMs: toAmount(attempt.durationMs),
    waitedMs: toAmount(attempt.waitedMs),
    firstTokenMs: firstTokenMs !== null && isAmount(firstTokenMs) ? firstTokenMs : null,
    promptTokens: toCount(attempt.promptTokens),
    completionTokens: toCount(attempt.completionTokens),
    cacheReadTokens: toCount(attempt.cacheReadTokens),
    cacheWriteTokens: toCount(attempt.cacheWriteTokens),
    costUsd: costUsd !== null && isAmount(costUsd) ? costUsd : null,
    callNumber: Math.min(attempt.callNumber, maxCalls),
  };
}
