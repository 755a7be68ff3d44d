// One attempt of one job: validates the payload, runs the handler within its timeout, and decides what happens to the job.
import type {
  Clock,
  Emitter,
  JobContext,
  JobDefinition,
  JobHandler,
  JobOutcome,
  JobProgress,
  Random,
} from '../../core/index.ts';
import { CoreError, HeadworksError, kindOf, messageOf } from '../../core/index.ts';
import type { JobEventSpecs } from './events.ts';

/** How long a handler may run after its signal aborted before its slot is freed. */
export const defaultAbortGraceMs = 2_000;

/** Attempts that a crashed process may cost beyond the definition's retries. */
export const crashAllowance = 3;

export const canceledReason = 'It was canceled.';

/** Why an attempt was stopped: by a person, by the end of the process, or because another process has the job now. */
export type StopCause = 'canceled' | 'drained' | 'lost';

export type AttemptEnd =
  | { readonly kind: 'completed'; readonly result: unknown }
  | { readonly kind: 'skipped'; readonly reason: string }
  /** `isFinal`: another attempt would end the same way. */
  | { readonly kind: 'failed'; readonly reason: string; readonly isFinal: boolean }
  | { readonly kind: 'stopped'; readonly cause: StopCause };

export interface AttemptDeps {
  readonly clock: Clock;
  readonly events: Emitter<JobEventSpecs>;
  /** Removes secrets from everything that is stored or shown. */
  readonly redact: (text: string) => string;
  readonly abortGraceMs: number;
}

export interface ClaimedJob {
  readonly id: string;
  readonly payload: unknown;
  readonly attempt: number;
}

const maxReasonLength = 500;
const progressEventIntervalMs = 250;

type Interruption = StopCause | 'timeout';

/** `ended` never rejects. */
export class JobAttempt {
  readonly job: ClaimedJob;
  readonly ended: Promise<AttemptEnd>;
  readonly #definition: JobDefinition<unknown>;
  readonly #deps: AttemptDeps;
  readonly #startedAt: number;
  readonly #controller = new AbortController();
  readonly #abandoned = Promise.withResolvers<void>();
  readonly #timers = new Set<() => void>();
  #interruption: Interruption | undefined;
  #hasEnded = false;
  #progress: JobProgress | null = null;
  #isProgressEventDue = false;
  #isProgressThrottled = false;

  constructor(
    definition: JobDefinition<unknown>,
    handler: JobHandler<unknown>,
    job: ClaimedJob,
    deps: AttemptDeps,
  ) {
    this.job = job;
    this.#definition = definition;
    this.#deps = deps;
    this.#startedAt = deps.clock.monotonic();
    deps.events.emit('job:started', this.#names());
    this.ended = this.#run(handler);
  }

  /** The last progress that the handler reported, redacted. */
  get progress(): JobProgress | null {
    return this.#progress;
  }

  /** Whole milliseconds. */
  get durationMs(): number {
    return Math.round(this.#deps.clock.monotonic() - this.#startedAt);
  }

  /** Aborts the handler's signal. Its slot is free when it has ended, at the latest after the abort grace. */
  stop(cause: StopCause): void {
    this.#interrupt(cause);
  }

  async #run(handler: JobHandler<unknown>): Promise<AttemptEnd> {
    let payload: unknown;
    try {
      payload = this.#definition.parse(this.job.payload);
    } catch (error) {
      this.#hasEnded = true;
      const reason = `Its payload is not what the job expects: ${this.#reason(error)}`;
      return { kind: 'failed', isFinal: true, reason };
    }
    this.#after(this.#definition.timeoutMs, () => this.#interrupt('timeout'));
    const end = await Promise.race([this.#call(handler, payload), this.#abandoned.promise]);
    this.#hasEnded = true;
    if (this.#isProgressEventDue) this.#emitProgress();
    for (const cancel of this.#timers) cancel();
    return this.#judge(end ?? undefined);
  }

  async #call(handler: JobHandler<unknown>, payload: unknown): Promise<AttemptEnd> {
    const context: JobContext = {
      id: this.job.id,
      attempt: this.job.attempt,
      signal: this.#controller.signal,
      progress: (progress) => this.#report(progress),
    };
    try {
      return endOf(await handler(payload, context));
    } catch (error) {
      const isFinal = error instanceof HeadworksError && !error.isRetryable;
      return { kind: 'failed', isFinal, reason: this.#reason(error) };
    }
  }

  /** Applies an interruption to the end. Work that finished while the process drained is kept, not repeated. */
  #judge(end: AttemptEnd | undefined): AttemptEnd {
    const interruption = this.#interruption;
    const hasFinished = end !== undefined && end.kind !== 'failed';
    if (interruption === 'timeout') {
      const reason = `It took longer than ${this.#definition.timeoutMs} ms and was stopped.`;
      return { kind: 'failed', isFinal: false, reason };
    }
    if (interruption && !(interruption === 'drained' && hasFinished))
      return { kind: 'stopped', cause: interruption };
    if (end?.kind === 'skipped') return { ...end, reason: this.#text(end.reason) };
    return end ?? { kind: 'failed', isFinal: false, reason: 'It ended without an outcome.' };
  }

  #interrupt(cause: Interruption): void {
    if (this.#interruption || this.#hasEnded) return;
    this.#interruption = cause;
    const code = cause === 'timeout' ? 'DEADLINE_EXCEEDED' : 'CANCELED';
    const text = `The job ${this.#definition.name} was stopped: ${cause}.`;
    this.#controller.abort(new CoreError(code, text, { details: { cause } }));
    this.#after(this.#deps.abortGraceMs, () => this.#abandoned.resolve());
  }

  #report(progress: JobProgress): void {
    if (this.#interruption || this.#hasEnded) return;
    this.#progress =
      progress.message === undefined ? progress : { ...progress, message: this.#text(progress.message) };
    this.#isProgressEventDue = true;
    if (!this.#isProgressThrottled) this.#emitProgress();
  }

  /** The first event is immediate; reports within the interval are combined into one event at its end. */
  #emitProgress(): void {
    const { done = 0, total = null, message = null } = this.#progress ?? {};
    this.#isProgressEventDue = false;
    this.#isProgressThrottled = true;
    this.#deps.events.emit('job:progressed', { ...this.#names(), done, total, message });
    this.#after(progressEventIntervalMs, () => {
      this.#isProgressThrottled = false;
      if (this.#isProgressEventDue) this.#emitProgress();
    });
  }

  #after(ms: number, run: () => void): void {
    const cancel = this.#deps.clock.after(ms, () => {
      this.#timers.delete(cancel);
      run();
    });
    this.#timers.add(cancel);
  }

  #names() {
    return { name: this.#definition.name, jobId: this.job.id, attempt: this.job.attempt };
  }

  #reason(error: unknown): string {
    return this.#text(messageOf(error)) || kindOf(error);
  }

  /**
   * Without secrets, stack trace or excessive length. Redacted before it is cut, because half a secret is still one.
   * Postgres stores neither NUL nor half a surrogate pair, which a cut can leave.
   */
  #text(text: string): string {
    const [withoutStack = ''] = this.#deps
      .redact(text)
      .replaceAll('\0', '')
      .split(/\n\s+at /);
    const isLong = withoutStack.length > maxReasonLength;
    return (isLong ? `${withoutStack.slice(0, maxReasonLength - 1)}…` : withoutStack).toWellFormed();
  }
}

function endOf(outcome: JobOutcome): AttemptEnd {
  if (outcome === undefined) return { kind: 'completed', result: null };
  if ('skipped' in outcome) return { kind: 'skipped', reason: outcome.skipped };
  // Through JSON here, so that a result that cannot be stored fails the attempt and every store returns the same.
  return { kind: 'completed', result: JSON.parse(JSON.stringify(outcome.result ?? null)) };
}

/**
 * What happens to a job after an attempt:
 *
 *   running ─┬─ completed
 *            ├─ skipped
 *            ├─ retried    (queued again after a delay)
 *            ├─ failed     (no attempt left, or another would end the same way)
 *            ├─ released   (queued again as if this attempt had not begun: the process drained)
 *            └─ untouched  (canceled, or another process has the job: this one writes nothing)
 */
export type Settlement =
  | { readonly kind: 'completed'; readonly result: unknown }
  | { readonly kind: 'skipped'; readonly reason: string }
  | { readonly kind: 'retried'; readonly reason: string; readonly retryInMs: number }
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'released' }
  | { readonly kind: 'untouched' };

export function settle(
  end: AttemptEnd,
  definition: JobDefinition<unknown>,
  attempt: { readonly number: number; readonly isLast: boolean },
  random: Random,
): Settlement {
  if (end.kind === 'stopped') return end.cause === 'drained' ? { kind: 'released' } : { kind: 'untouched' };
  if (end.kind !== 'failed') return end;
  if (end.isFinal || attempt.isLast) return { kind: 'failed', reason: end.reason };
  return { kind: 'retried', reason: end.reason, retryInMs: retryDelay(definition, attempt.number, random) };
}

/** Emits the event of a settlement, once the store has it. */
export function emitSettlement(
  events: Emitter<JobEventSpecs>,
  name: string,
  attempt: JobAttempt,
  settlement: Settlement,
): void {
  const ended = { name, jobId: attempt.job.id, attempt: attempt.job.attempt, durationMs: attempt.durationMs };
  switch (settlement.kind) {
    case 'completed':
      return events.emit('job:completed', { ...ended, state: 'completed' });
    case 'skipped':
      return events.emit('job:skipped', { ...ended, state: 'skipped', reason: settlement.reason });
    case 'failed':
      return events.emit('job:failed', { ...ended, state: 'failed', reason: settlement.reason });
    case 'retried': {
      const { reason, retryInMs } = settlement;
      return events.emit('job:retried', { ...ended, state: 'retried', reason, retryInMs });
    }
    case 'released':
    case 'untouched':
      return undefined;
  }
}

/** The share of the delay that jitter may add, so that jobs that failed together do not return together. */
const jitter = 0.25;

type RetryTiming = Pick<JobDefinition<unknown>, 'retryDelayMs' | 'retryBackoff' | 'retryDelayMaxMs'>;

/** The delay in milliseconds after attempt number `attempt` (1 for the first) has failed. */
export function retryDelay(timing: RetryTiming, attempt: number, random: Random): number {
  if (!timing.retryBackoff) return timing.retryDelayMs;
  const doubled = timing.retryDelayMs * 2 ** Math.min(attempt - 1, 30);
  const spread = doubled * (1 + jitter * random.next());
  return Math.round(Math.min(spread, timing.retryDelayMaxMs ?? Number.POSITIVE_INFINITY));
}

export const undefinedJobError = (name: string): CoreError =>
  new CoreError('INTERNAL', `No job "${name}" was defined. Call define() with it before using it.`);

export const duplicateHandlerError = (name: string): CoreError =>
  new CoreError('INTERNAL', `The job "${name}" already has a handler in this process.`);

export const duplicateKeyError = (name: string, id: string): CoreError =>
  new CoreError(
    'CONFLICT',
    `The job ${id} cannot run again: another "${name}" job with its key is queued or running. Wait for that one.`,
    { details: { name, id } },
  );
