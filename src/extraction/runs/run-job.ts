// Runs an extraction as a job; the run's row is updated about once a second.
import { z } from 'zod';
import type {
  Clock,
  Emitter,
  EventListener,
  JobContext,
  JobDefinition,
  JobHandler,
} from '../../core/index.ts';
import { CoreError, every, HeadworksError, messageOf } from '../../core/index.ts';
import type { ProgressFigures, RunEvents } from '../events.ts';
import type { ExtractionResult } from '../pipeline/run-session.ts';
import type { SessionSpec } from '../types.ts';
import type { ExtractionRun, RunFigures, RunStore, SourceStore } from './stores.ts';
import { figuresOf, itemsOf, noFigures, totalOf } from './stores.ts';
import type { ExtractionSource } from '../vocabulary.ts';

export interface ExtractSourceOptions extends Pick<SessionSpec, 'fresh' | 'retryFailed'> {
  readonly signal: AbortSignal;
  readonly onEvent: EventListener;
}

/** Extracts from a registered source. */
export type ExtractSource = (
  source: ExtractionSource,
  options: ExtractSourceOptions,
) => Promise<
  Pick<
    ExtractionResult,
    'session' | 'state' | 'types' | 'calls' | 'rateLimitedCalls' | 'rateLimiter' | 'itemsPerSecond'
  >
>;

export interface RunHandlerDeps {
  readonly sources: Pick<SourceStore, 'get'>;
  readonly runs: Pick<RunStore, 'get' | 'put'>;
  readonly extract: ExtractSource;
  readonly clock: Clock;
  readonly events: Emitter<RunEvents>;
  readonly redact: (text: string) => string;
}

/**
 * The run's row has the result. The job completes, also with failed pages; it is skipped when the run fails, and retried,
 * to resume the run, only when it was interrupted.
 */
export function extractionRunHandler(deps: RunHandlerDeps): JobHandler<RunRequest> {
  return async ({ sourceId, runId, fresh, retryFailed }, context) => {
    const { sources, runs, events, clock } = deps;
    const run = await runs.get(runId);
    if (!run) return { skipped: 'The run no longer exists.' };
    const now = new Date(clock.now());
    const isFirstTry = run.session === null;
    const before = isFirstTry ? noFigures : run;
    const writer = new RunWriter(runs, clock, {
      ...run,
      ...before,
      state: 'running',
      startedAt: run.startedAt ?? now,
      finishedAt: null,
      message: null,
    });
    events.emit('extraction:run-started', { run: run.id, source: run.source, origin: run.origin });
    try {
      const source = await sources.get(sourceId);
      if (!source) throw new CoreError('NOT_FOUND', `The source ${run.source} was removed.`);
      const result = await deps.extract(source, {
        // A new run starts a new session unless the last one has something left; a retried job resumes its own session.
        fresh: isFirstTry && (fresh || 'when-finished'),
        retryFailed: isFirstTry && retryFailed,
        signal: context.signal,
        onEvent: trackProgress(writer, before, context, events),
      });
      const { session, state } = result;
      const message = endMessage(state, context.signal);
      await finish(deps, writer, { ...addCalls(before, figuresOf(result)), session, state, message });
      if (state === 'interrupted') context.signal.throwIfAborted();
      return { result: { run: runId, state, items: itemsOf(writer.run), calls: writer.run.calls } };
    } catch (error) {
      if (!writer.isClosed) await finish(deps, writer, failure(error, context.signal, deps.redact));
      if (context.signal.aborted) throw error;
      return { skipped: `The run failed: ${writer.run.message ?? 'no reason is known'}` };
    }
  };
}

/** Reports progress; the writer decides when it is stored. */
function trackProgress(
  writer: RunWriter,
  before: RunFigures,
  context: JobContext,
  events: Emitter<RunEvents>,
): EventListener {
  return ({ name, payload }) => {
    if (name === 'extraction:started') {
      writer.change({ session: String(payload['session']) });
      return;
    }
    if (name !== 'extraction:progress') return;
    const isWritten = writer.change(addCalls(before, figuresOf(payload as unknown as ProgressFigures)));
    const total = totalOf(writer.run);
    context.progress({
      done: itemsOf(writer.run),
      ...(total === null ? {} : { total }),
      message: `${writer.run.calls} ${writer.run.calls === 1 ? 'call' : 'calls'}`,
    });
    if (isWritten) emitProgress(events, writer.run);
  };
}

/** A resumed run adds to its calls; items are those of the session anyway. */
const addCalls = (before: RunFigures, figures: RunFigures): RunFigures => ({
  ...figures,
  calls: before.calls + figures.calls,
  rateLimitedCalls: before.rateLimitedCalls + figures.rateLimitedCalls,
});

async function finish(
  { clock, events }: RunHandlerDeps,
  writer: RunWriter,
  change: Partial<ExtractionRun>,
): Promise<void> {
  await writer.close({ ...change, finishedAt: new Date(clock.now()) });
  emitFinished(events, writer.run);
}

function failure(
  error: unknown,
  signal: AbortSignal,
  redact: (text: string) => string,
): Pick<ExtractionRun, 'state' | 'message'> {
  if (signal.aborted) return { state: 'interrupted', message: endMessage('interrupted', signal) };
  return { state: 'failed', message: redact(messageOf(error)).slice(0, 2000) };
}

function endMessage(state: ExtractionRun['state'], signal: AbortSignal): string | null {
  if (state === 'incomplete') return 'Some pages failed; "headworks vault verify" lists them too.';
  if (state !== 'interrupted') return null;
  if (!signal.aborted) return 'It reached its limit of calls; the next run continues from there.';
  const { reason } = signal as { readonly reason: unknown };
  const cause = reason instanceof HeadworksError ? reason.details['cause'] : undefined;
  return stopMessages[String(cause)] ?? messageOf(reason);
}

/** Messages by the cause of the job's stop. */
const stopMessages: Readonly<Record<string, string>> = {
  canceled: 'It was stopped; the next run continues from there.',
  drained: 'The server stopped; the run continues when it is back.',
  lost: 'The server lost its job; the run continues on the next server that takes it.',
  timeout: 'It took as long as a job may take; it continues at once.',
};

const payload = z.strictObject({
  sourceId: z.guid(),
  runId: z.guid(),
  fresh: z.boolean().default(false),
  retryFailed: z.boolean().default(false),
});

export type RunRequest = z.infer<typeof payload>;

export const extractionRunJob: JobDefinition<RunRequest> = {
  name: 'extraction.run',
  description: 'Extracts from a registered source into its vault.',
  parse: (raw) => payload.parse(raw),
  // Only an attempt that took too long is repeated, and continues from there: together they may take a week. A failed
  // run is not: pages are retried within it, and other errors need an operator or the next occurrence.
  retries: 6,
  retryDelayMs: 1_000,
  retryBackoff: false,
  concurrency: 2,
  // The job queue's maximum.
  timeoutMs: 23 * 3_600_000,
};

const everyMs = 1_000;
/** Well below the time after which a run counts as interrupted. */
const heartbeatMs = 10_000;
const maxWriteAttempts = 5;

export class RunWriter {
  readonly #runs: Pick<RunStore, 'put'>;
  readonly #clock: Clock;
  #run: ExtractionRun;
  #writtenAt = -Infinity;
  #writing: Promise<unknown> = Promise.resolve();
  #isWriting = false;
  #isClosed = false;
  readonly #stopHeartbeat: () => void;

  constructor(runs: Pick<RunStore, 'put'>, clock: Clock, run: ExtractionRun) {
    this.#runs = runs;
    this.#clock = clock;
    this.#run = run;
    this.#write();
    this.#stopHeartbeat = every(clock, heartbeatMs, async () => this.#write());
  }

  get run(): ExtractionRun {
    return this.#run;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /**
   * Cheap to call. A new session id is written at once, because a retried job resumes by it. Returns true when it is
   * written now.
   */
  change(change: Partial<ExtractionRun>): boolean {
    if (this.#isClosed) return false;
    const isUrgent = change.session !== undefined && change.session !== this.#run.session;
    this.#run = { ...this.#run, ...change };
    const isDue = isUrgent || this.#clock.monotonic() - this.#writtenAt >= everyMs;
    if (isDue) this.#write(isUrgent);
    return isDue;
  }

  /** Writes the end, with retries while the store is unavailable. */
  async close(change: Partial<ExtractionRun>): Promise<void> {
    this.#isClosed = true;
    this.#stopHeartbeat();
    await this.#writing;
    this.#run = { ...this.#run, ...change, reportedAt: new Date(this.#clock.now()) };
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#runs.put(this.#run);
        return;
      } catch (error) {
        if (attempt === maxWriteAttempts) throw error;
        await this.#clock.sleep(attempt * 500);
      }
    }
  }

  /** A failed write is made up for by the next one. */
  #write(isUrgent = false): void {
    if (this.#isWriting && !isUrgent) return;
    this.#writtenAt = this.#clock.monotonic();
    this.#run = { ...this.#run, reportedAt: new Date(this.#clock.now()) };
    const { run } = this;
    this.#isWriting = true;
    this.#writing = this.#writing
      .then(() => this.#runs.put(run))
      .catch(() => undefined)
      .finally(() => (this.#isWriting = false));
  }
}

export function emitProgress(events: Emitter<RunEvents>, run: ExtractionRun): void {
  const { id, source, calls, rateLimitedCalls, multiplier } = run;
  const figures = { items: itemsOf(run), total: totalOf(run), calls, rateLimitedCalls, multiplier };
  events.emit('extraction:run-progress', { run: id, source, ...figures });
}

export function emitFinished(events: Emitter<RunEvents>, run: ExtractionRun): void {
  const { id, source, origin, state, calls, message } = run;
  events.emit('extraction:run-finished', {
    run: id,
    source,
    origin,
    state,
    items: itemsOf(run),
    calls,
    message,
  });
}
