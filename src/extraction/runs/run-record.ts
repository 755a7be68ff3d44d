// A run as it is stored: how it begins, what it counts, and its events for the log, metrics and the live stream.
import type { Emitter } from '../../core/index.ts';
import { event } from '../../core/index.ts';
import type { ExtractionRun, RunFigures, RunOrigin, RunState } from './stores.ts';
import type { ExtractionSource } from './source-schema.ts';
import type { ProgressFigures } from '../events.ts';

export const noFigures: RunFigures = {
  types: [],
  calls: 0,
  rateLimitedCalls: 0,
  multiplier: 1,
  itemsPerSecond: null,
};

export function newRun(
  id: string,
  { name, vault }: ExtractionSource,
  origin: RunOrigin,
  now: Date,
): ExtractionRun {
  return {
    ...noFigures,
    id,
    source: name,
    origin,
    vault,
    state: 'queued',
    jobId: null,
    session: null,
    startedAt: null,
    finishedAt: null,
    reportedAt: now,
    message: null,
  };
}

export const hasEnded = ({ state }: { readonly state: RunState }): boolean =>
  state !== 'queued' && state !== 'running';

/** Accepts an extraction's result too, which has the same fields. */
export function figuresOf({
  types,
  calls,
  rateLimitedCalls,
  rateLimiter,
  itemsPerSecond,
}: Pick<ProgressFigures, 'types' | 'calls' | 'rateLimitedCalls' | 'rateLimiter'> & {
  readonly itemsPerSecond: number | null;
}): RunFigures {
  return {
    types: types.map(({ type, items, total, status }) => ({ type, items, total, status })),
    calls,
    rateLimitedCalls,
    multiplier: rateLimiter.backoff_multiplier,
    itemsPerSecond,
  };
}

export const itemsOf = ({ types }: RunFigures): number => types.reduce((sum, { items }) => sum + items, 0);

/** Null until the total of every type is known. */
export function totalOf({ types }: RunFigures): number | null {
  return types.reduce<number | null>(
    (sum, { total }) => (sum === null || total === null ? null : sum + total),
    0,
  );
}

export const runEvents = {
  'extraction:run-started': event<{ run: string; source: string; origin: RunOrigin }>({
    level: 'info',
    message: 'an extraction run started',
  }),
  'extraction:run-progress': event<{
    run: string;
    source: string;
    items: number;
    /** Null until the total of every type is known. */
    total: number | null;
    calls: number;
    rateLimitedCalls: number;
    multiplier: number;
  }>({ level: 'debug', message: 'progress of an extraction run' }),
  'extraction:run-finished': event<{
    run: string;
    source: string;
    origin: RunOrigin;
    state: RunState;
    items: number;
    calls: number;
    message: string | null;
  }>({
    level: 'info',
    message: 'an extraction run ended',
    counter: {
      name: 'headworks_extraction_server_runs_total',
      help: 'Finished runs, by origin and state.',
      labels: ['origin', 'state'],
    },
  }),
  'extraction:schedule-skipped': event<{ source: string; reason: string }>({
    level: 'warn',
    message: 'a scheduled extraction was skipped',
  }),
};

export type RunEvents = typeof runEvents;

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
