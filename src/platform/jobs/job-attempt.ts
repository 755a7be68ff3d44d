// One try of one job: checks the payload, runs the handler within its time, and says how it ended. Never rejects.
import type {
  Clock,
  Emitter,
  JobContext,
  JobDefinition,
  JobHandler,
  JobOutcome,
  JobProgress,
} from '../../core/index.ts';
import { CoreError, HeadworksError, kindOf, messageOf } from '../../core/index.ts';
import type { JobEventSpecs } from './job-events.ts';

/** Why a try was stopped from outside: a person, the end of the process, or another process that has the job now. */
export type StopCause = 'cancelled' | 'drained' | 'lost';

export type AttemptEnd =
  | { readonly kind: 'done'; readonly result: unknown }
  | { readonly kind: 'skipped'; readonly reason: string }
  /** `isFinal`: another try would end the same way. */
  | { readonly kind: 'failed'; readonly reason: string; readonly isFinal: boolean }
  | { readonly kind: 'stopped'; readonly cause: StopCause };

export interface AttemptDependencies {
  readonly clock: Clock;
  readonly events: Emitter<JobEventSpecs>;
  /** Takes secrets out of anything that is stored or shown. */
  readonly redact: (text: string) => string;
  /** How long a handler may go on after its signal aborted before its slot is taken from it. */
  readonly abortGraceMs: number;
}

export interface ClaimedJob {
  readonly id: string;
  readonly payload: unknown;
  readonly attempt: number;
}

const longestReason = 500;
const progressEventEveryMs = 250;

type Interruption = StopCause | 'timeout';

export class JobAttempt {
  readonly job: ClaimedJob;
  readonly ended: Promise<AttemptEnd>;
  readonly #definition: JobDefinition<unknown>;
  readonly #dependencies: AttemptDependencies;
  readonly #startedAt: number;
  readonly #controller = new AbortController();
  readonly #abandoned = Promise.withResolvers<void>();
  readonly #timers = new Set<() => void>();
  #interruption: Interruption | undefined;
  #hasEnded = false;
  #progress: JobProgress | null = null;
  #isProgressEventDue = false;
  #isProgressQuiet = false;

  constructor(
    definition: JobDefinition<unknown>,
    handler: JobHandler<unknown>,
    job: ClaimedJob,
    dependencies: AttemptDependencies,
  ) {
    this.job = job;
    this.#definition = definition;
    this.#dependencies = dependencies;
    this.#startedAt = dependencies.clock.monotonic();
    dependencies.events.emit('job:started', this.#names());
    this.ended = this.#run(handler);
  }

  /** The last progress the handler told, with secrets taken out. */
  get progress(): JobProgress | null {
    return this.#progress;
  }

  /** Whole milliseconds. */
  get durationMs(): number {
    return Math.round(this.#dependencies.clock.monotonic() - this.#startedAt);
  }

  /** Aborts the handler's signal. Its slot is free when it has ended, or after the abort grace. */
  stop(cause: StopCause): void {
    this.#interrupt(cause);
  }

  async #run(handler: JobHandler<unknown>): Promise<AttemptEnd> {
    let payload: unknown;
    try {
      payload = this.#definition.parse(this.job.payload);
    } catch (error) {
      this.#hasEnded = true;
      const why = this.#reason(error);
      return { kind: 'failed', isFinal: true, reason: `Its payload is not what the job expects: ${why}` };
    }
    this.#after(this.#definition.timeoutMs, () => this.#interrupt('timeout'));
    const worked = this.#call(handler, payload);
    const end = await Promise.race([worked, this.#abandoned.promise]);
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
      progress: (progress) => this.#tell(progress),
    };
    try {
      return ending(await handler(payload, context));
    } catch (error) {
      // An error of ours that says that trying again is of no use is believed.
      const isFinal = error instanceof HeadworksError && !error.isRetryable;
      return { kind: 'failed', isFinal, reason: this.#reason(error) };
    }
  }

  /** What an interruption makes of an end. Work that finished while the process drained is done, not repeated. */
  #judge(end: AttemptEnd | undefined): AttemptEnd {
    const interruption = this.#interruption;
    const hasFinished = end !== undefined && end.kind !== 'failed';
    if (interruption === 'timeout') {
      const reason = `It took longer than ${this.#definition.timeoutMs} ms and was stopped.`;
      return { kind: 'failed', isFinal: false, reason };
    }
    if (interruption && !(interruption === 'drained' && hasFinished))
      return { kind: 'stopped', cause: interruption };
    return this.#clean(end ?? { kind: 'failed', isFinal: false, reason: 'It ended without an outcome.' });
  }

  #clean(end: AttemptEnd): AttemptEnd {
    return end.kind === 'skipped' ? { ...end, reason: this.#text(end.reason) } : end;
  }

  #interrupt(cause: Interruption): void {
    if (this.#interruption || this.#hasEnded) return;
    this.#interruption = cause;
    const code = cause === 'timeout' ? 'DEADLINE_EXCEEDED' : 'CANCELED';
    const text = `The job ${this.#definition.name} was stopped: ${cause}.`;
    this.#controller.abort(new CoreError(code, text, { details: { cause } }));
    this.#after(this.#dependencies.abortGraceMs, () => this.#abandoned.resolve());
  }

  #tell(progress: JobProgress): void {
    if (this.#interruption || this.#hasEnded) return;
    this.#progress =
      progress.message === undefined ? progress : { ...progress, message: this.#text(progress.message) };
    this.#isProgressEventDue = true;
    if (!this.#isProgressQuiet) this.#emitProgress();
  }

  /** At once, then not again for a while; what came in between is told at the end of that while. */
  #emitProgress(): void {
    const { done = 0, total = null, message = null } = this.#progress ?? {};
    this.#isProgressEventDue = false;
    this.#isProgressQuiet = true;
    this.#dependencies.events.emit('job:progress', { ...this.#names(), done, total, message });
    this.#after(progressEventEveryMs, () => {
      this.#isProgressQuiet = false;
      if (this.#isProgressEventDue) this.#emitProgress();
    });
  }

  #after(ms: number, run: () => void): void {
    const cancel = this.#dependencies.clock.after(ms, () => {
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
   * Without secrets, stack trace or great length. Redacted before it is cut: half a secret is still one. Postgres
   * has no place for NUL or for half a character, which a cut can leave.
   */
  #text(text: string): string {
    const [withoutStack = ''] = this.#dependencies
      .redact(text)
      .replaceAll('\0', '')
      .split(/\n\s+at /);
    const isLong = withoutStack.length > longestReason;
    return (isLong ? `${withoutStack.slice(0, longestReason - 1)}…` : withoutStack).toWellFormed();
  }
}

function ending(outcome: JobOutcome): AttemptEnd {
  if (outcome === undefined) return { kind: 'done', result: null };
  if ('skipped' in outcome) return { kind: 'skipped', reason: outcome.skipped };
  // Through JSON here, so that a result that cannot be stored fails the try and every store gives back the same.
  return { kind: 'done', result: JSON.parse(JSON.stringify(outcome.result ?? null)) };
}
