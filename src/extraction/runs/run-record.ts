// A run as it is stored: how it begins, what it counts, and the events about it.
import type { Emitter } from '../../core/index.ts';
import type { ExtractionRun, RunFigures, RunOrigin, RunState } from './stores.ts';
import type { ExtractionSource } from './source-schema.ts';
import type { ProgressFigures } from '../events.ts';
import type { RunEvents } from './events.ts';

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
