// Does a run as a job of this process: the row follows the extraction about once a second.
import type { Clock, Emitter, EventListener, JobContext, JobHandler } from '../../core/index.ts';
import { CoreError, HeadworksError, messageOf } from '../../core/index.ts';
import type { ProgressFigures } from '../events.ts';
import type { SessionSpec } from '../ports.ts';
import type { ExtractionResult } from '../pipeline/run-extraction.ts';
import type { RunEvents } from './events.ts';
import type { ExtractionRun, ExtractionSource, RunFigures, RunStore, SourceStore } from './ports.ts';
import type { RunRequest } from './run-job.ts';
import { figuresOf, itemsOf, noFigures, tellFinished, tellProgress, totalOf } from './run-record.ts';
import { RunWriter } from './run-writer.ts';

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
    'session' | 'status' | 'types' | 'calls' | 'refusals' | 'rateLimiter' | 'itemsPerSecond'
  >
>;

export interface RunHandlerParts {
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
export function extractionRunHandler(parts: RunHandlerParts): JobHandler<RunRequest> {
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
        fresh: isFirstTry && (fresh || 'when-over'),
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
  refusals: before.refusals + figures.refusals,
});

async function finish(
  { clock, events }: RunHandlerParts,
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
