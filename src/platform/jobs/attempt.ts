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
import {
  CoreError,
  HeadworksError,
  camelCaseKeys,
  kindOf,
  messageOf,
  snakeCaseKeys,
  storableText,
} from '../../core/index.ts';
import type { JobEventSpecs } from './events.ts';
import type { Settlement } from './statements.ts';

/** How long a handler may run after its signal aborted before its slot is freed. */
export const defaultAbortGraceMs = 2_000;

/** Why an attempt was stopped: by a person, by the end of the process, or because another process has the job now. */
export type StopCause = 'canceled' | 'drained' | 'lost';

export interface AttemptDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly events: Emitter<JobEventSpecs>;
  /** Removes secrets from everything that is stored or shown. */
  readonly redact: (text: string) => string;
  readonly abortGraceMs: number;
}

export interface ClaimedJob {
  readonly id: string;
  readonly payload: unknown;
  /** 1 for the first. */
  readonly attempt: number;
  /** Whether the definition allows no attempt after this one. */
  readonly isLast: boolean;
}

const maxReasonLength = 500;
const progressEventIntervalMs = 250;

type Interruption = StopCause | 'timeout';

export class JobAttempt {
  readonly job: ClaimedJob;
  /** Never rejects. Null: canceled, or another process has the job, so there is nothing to write. */
  readonly ended: Promise<Settlement | null>;
  readonly #definition: JobDefinition<unknown>;
  readonly #deps: AttemptDeps;
  readonly #startedAt: number;
  readonly #controller = new AbortController();
  readonly #abandoned = Promise.withResolvers<null>();
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

  /** Emits the event of the settlement; call it once the store has it. */
  emitEnd({ kind, delayMs, output }: Settlement): void {
    const { events } = this.#deps;
    const ended = { ...this.#names(), durationMs: this.durationMs };
    const reason = output.reason ?? output.skipped ?? '';
    if (kind === 'completed') events.emit('job:completed', { ...ended, state: kind });
    if (kind === 'skipped') events.emit('job:skipped', { ...ended, state: kind, reason });
    if (kind === 'failed') events.emit('job:failed', { ...ended, state: kind, reason });
    if (kind === 'retried') events.emit('job:retried', { ...ended, state: kind, reason, retryInMs: delayMs });
  }

  async #run(handler: JobHandler<unknown>): Promise<Settlement | null> {
    let payload: unknown;
    try {
      payload = this.#definition.parse(camelCaseKeys(this.job.payload));
    } catch (error) {
      this.#hasEnded = true;
      return this.#failed(`Its payload is not what the job expects: ${this.#reason(error)}`, true);
    }
    this.#after(this.#definition.timeoutMs, () => this.#interrupt('timeout'));
    const end = await Promise.race([this.#call(handler, payload), this.#abandoned.promise]);
    this.#hasEnded = true;
    if (this.#isProgressEventDue) this.#emitProgress();
    for (const cancel of this.#timers) cancel();
    const settlement = this.#applyInterruption(end);
    if (!settlement || !this.#progress) return settlement;
    return { ...settlement, output: { ...settlement.output, progress: this.#progress } };
  }

  async #call(handler: JobHandler<unknown>, payload: unknown): Promise<Settlement> {
    const context: JobContext = {
      id: this.job.id,
      attempt: this.job.attempt,
      signal: this.#controller.signal,
      progress: (progress) => this.#report(progress),
    };
    try {
      return this.#finished(await handler(payload, context));
    } catch (error) {
      return this.#failed(this.#reason(error), error instanceof HeadworksError && !error.isRetryable);
    }
  }

  #finished(outcome: JobOutcome): Settlement {
    if (outcome && 'skipped' in outcome)
      return { kind: 'skipped', delayMs: 0, output: { skipped: this.#text(outcome.skipped) } };
    // Converted through JSON here, so that a result that cannot be stored fails the attempt and every store returns the
    // same.
    const result: unknown = JSON.parse(JSON.stringify(snakeCaseKeys(outcome?.result ?? null)));
    return { kind: 'completed', delayMs: 0, output: { result } };
  }

  /** `isFinal`: another attempt would end the same way. */
  #failed(reason: string, isFinal: boolean): Settlement {
    const output = { reason };
    if (isFinal || this.job.isLast) return { kind: 'failed', delayMs: 0, output };
    const delayMs = retryDelay(this.#definition, this.job.attempt, this.#deps.random);
    return { kind: 'retried', delayMs, output };
  }

  /** Work that finished while the process drained is kept, not repeated. */
  #applyInterruption(end: Settlement | null): Settlement | null {
    const isFinished = end?.kind === 'completed' || end?.kind === 'skipped';
    switch (this.#interruption) {
      case 'timeout':
        return this.#failed(`It took longer than ${this.#definition.timeoutMs} ms and was stopped.`, false);
      case 'drained':
        return isFinished ? end : { kind: 'released', delayMs: 0, output: {} };
      case 'canceled':
      case 'lost':
        return null;
      default:
        return end;
    }
  }

  #interrupt(cause: Interruption): void {
    if (this.#interruption || this.#hasEnded) return;
    this.#interruption = cause;
    const code = cause === 'timeout' ? 'DEADLINE_EXCEEDED' : 'CANCELED';
    const text = `The job ${this.#definition.name} was stopped: ${cause}.`;
    this.#controller.abort(new CoreError(code, text, { details: { cause } }));
    this.#after(this.#deps.abortGraceMs, () => this.#abandoned.resolve(null));
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
   * The text without secrets, stack trace or excessive length. Redacted before it is cut: a truncated secret is not
   * recognized.
   */
  #text(text: string): string {
    const [withoutStack = ''] = this.#deps.redact(text).split(/\n\s+at /);
    return storableText(withoutStack, maxReasonLength);
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
