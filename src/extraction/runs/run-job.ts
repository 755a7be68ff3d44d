// Does a run as a job of this process: the row follows the extraction about once a second.
import { z } from 'zod';
import type {
  Clock,
  Emitter,
  EventListener,
  JobContext,
  JobDefinition,
  JobHandler,
} from '../../core/index.ts';
import { CoreError, HeadworksError, messageOf } from '../../core/index.ts';
import type { ProgressFigures } from '../events.ts';
import type { ExtractionResult } from '../pipeline/run-session.ts';
import type { SessionSpec } from '../types.ts';
import type { RunEvents } from './events.ts';
import { figuresOf, itemsOf, noFigures, tellFinished, tellProgress, totalOf } from './run-record.ts';
import type { ExtractionRun, RunFigures, RunStore, SourceStore } from './stores.ts';
import type { ExtractionSource } from './source-schema.ts';

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
    'session' | 'status' | 'types' | 'calls' | 'rateLimitedCalls' | 'rateLimiter' | 'itemsPerSecond'
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
 * How a run ended is said by its row. The job is done, misses of pages included; skipped when the run could not be
 * done; and tried again, to go on with the run, only when it was interrupted.
 */
export function extractionRunHandler(parts: RunHandlerDeps): JobHandler<RunRequest> {
  return async ({ sourceId, runId, fresh, retryFailed }, context) => {
    const { sources, runs, events, clock } = parts;
    const run = await runs.get(runId);
    if (!run) return { skipped: 'The run is no longer kept.' };
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
      const result = await parts.extract(source, {
        // A new run looks anew, unless the last one has something left; a try that goes on continues what it began.
        fresh: isFirstTry && (fresh || 'when-finished'),
        retryFailed: isFirstTry && retryFailed,
        signal: context.signal,
        onEvent: followInto(writer, before, context, events),
      });
      const { session, status: state } = result;
      const message = endMessage(state, context.signal);
      await finish(parts, writer, { ...goneOnFrom(before, figuresOf(result)), session, state, message });
      if (state === 'interrupted') context.signal.throwIfAborted();
      return { result: { run: runId, state, items: itemsOf(writer.run), calls: writer.run.calls } };
    } catch (error) {
      if (!writer.isClosed) await finish(parts, writer, failure(error, context.signal, parts.redact));
      if (context.signal.aborted) throw error;
      return { skipped: `The run failed: ${writer.run.message ?? 'no reason is known'}` };
    }
  };
}

/** Tells progress as it comes; the writer decides when it is written. */
function followInto(
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
    const isWritten = writer.change(goneOnFrom(before, figuresOf(payload as unknown as ProgressFigures)));
    const total = totalOf(writer.run);
    context.progress({
      done: itemsOf(writer.run),
      ...(total === null ? {} : { total }),
      message: `${writer.run.calls} ${writer.run.calls === 1 ? 'call' : 'calls'}`,
    });
    if (isWritten) tellProgress(events, writer.run);
  };
}

/** A run that goes on counts its calls from where it was; items are the session's anyway. */
const goneOnFrom = (before: RunFigures, figures: RunFigures): RunFigures => ({
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
  tellFinished(events, writer.run);
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
  if (state === 'incomplete')
    return 'Some pages did not come: the dead letters say which, here or by "headworks vault verify".';
  if (state !== 'interrupted') return null;
  if (!signal.aborted) return 'It reached its limit of calls; the next run goes on where it was.';
  const { reason } = signal as { readonly reason: unknown };
  const cause = reason instanceof HeadworksError ? reason.details['cause'] : undefined;
  return stopMessages[String(cause)] ?? messageOf(reason);
}

/** By what the job was stopped. */
const stopMessages: Readonly<Record<string, string>> = {
  cancelled: 'It was stopped; the next run goes on where it was.',
  drained: 'The server stopped; the run goes on when it is back.',
  lost: 'The server lost its job; the run goes on with the next server that takes it.',
  timeout: 'It took as long as a job may take; it goes on at once.',
};

// The job that does a run.

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
  // Only a try that took too long is repeated, and goes on where it was: together they may take a week. A run that
  // failed is not: pages are retried within it, and what is wrong then needs a person or the next occurrence.
  retries: 6,
  retryDelayMs: 1_000,
  retryBackoff: false,
  concurrency: 2,
  // The longest that the job queue knows.
  timeoutMs: 23 * 3_600_000,
};

// Writes a run that goes on: about once a second while it changes, now and then as a sign of life, and at its end.

const everyMs = 1_000;
/** Well within the silence after which a run counts as interrupted. */
const signOfLifeMs = 10_000;
const lastTries = 5;

export class RunWriter {
  readonly #runs: Pick<RunStore, 'put'>;
  readonly #clock: Clock;
  #run: ExtractionRun;
  #writtenAt = -Infinity;
  #writing: Promise<unknown> = Promise.resolve();
  #isWriting = false;
  #isClosed = false;
  #cancelSign: () => void = () => undefined;

  constructor(runs: Pick<RunStore, 'put'>, clock: Clock, run: ExtractionRun) {
    this.#runs = runs;
    this.#clock = clock;
    this.#run = run;
    this.#write();
    this.#signOfLife();
  }

  get run(): ExtractionRun {
    return this.#run;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Cheap: call it as often as you like. A session that becomes known is written at once. True: it is written now. */
  change(change: Partial<ExtractionRun>): boolean {
    if (this.#isClosed) return false;
    const isUrgent = change.session !== undefined && change.session !== this.#run.session;
    this.#run = { ...this.#run, ...change };
    const isDue = isUrgent || this.#clock.monotonic() - this.#writtenAt >= everyMs;
    if (isDue) this.#write(isUrgent);
    return isDue;
  }

  /** Writes the end, and tries again for a while when the store is away. */
  async close(change: Partial<ExtractionRun>): Promise<void> {
    this.#isClosed = true;
    this.#cancelSign();
    await this.#writing;
    this.#run = { ...this.#run, ...change, reportedAt: new Date(this.#clock.now()) };
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#runs.put(this.#run);
        return;
      } catch (error) {
        if (attempt === lastTries) throw error;
        await this.#clock.sleep(attempt * 500);
      }
    }
  }

  /** What cannot be written is written next time. */
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

  #signOfLife(): void {
    this.#cancelSign = this.#clock.after(signOfLifeMs, () => {
      this.#write();
      this.#signOfLife();
    });
  }
}
