// From how a try ended to what becomes of the job. The same on every store.
import type { Emitter, JobDefinition, Random } from '../../core/index.ts';
import type { AttemptEnd, JobAttempt } from './job-attempt.ts';
import type { JobEventSpecs } from './job-events.ts';
import { retryDelay } from './retry-delay.ts';

/**
 *   running ─┬─ done
 *            ├─ skipped
 *            ├─ retried    (pending again, after a delay)
 *            ├─ failed     (every try used up, or another would end the same way)
 *            ├─ released   (pending again as if this try had never begun: the process drained)
 *            └─ untouched  (cancelled, or another process has it: nothing of it is ours to write)
 */
export type Settlement =
  | { readonly kind: 'done'; readonly result: unknown }
  | { readonly kind: 'skipped'; readonly reason: string }
  | { readonly kind: 'retried'; readonly reason: string; readonly retryInMs: number }
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'released' }
  | { readonly kind: 'untouched' };

/** `isLastTry`: no try is left for a handler that fails. */
export function settle(
  end: AttemptEnd,
  definition: JobDefinition<unknown>,
  attempt: { readonly number: number; readonly isLastTry: boolean },
  random: Random,
): Settlement {
  if (end.kind === 'stopped') return end.cause === 'drained' ? { kind: 'released' } : { kind: 'untouched' };
  if (end.kind !== 'failed') return end;
  if (end.isFinal || attempt.isLastTry) return { kind: 'failed', reason: end.reason };
  return { kind: 'retried', reason: end.reason, retryInMs: retryDelay(definition, attempt.number, random) };
}

/** Tells what became of the job, once the store knows it. */
export function emitSettlement(
  events: Emitter<JobEventSpecs>,
  name: string,
  attempt: JobAttempt,
  settlement: Settlement,
): void {
  const ended = { name, jobId: attempt.job.id, attempt: attempt.job.attempt, durationMs: attempt.durationMs };
  switch (settlement.kind) {
    case 'done':
      return events.emit('job:done', { ...ended, state: 'done' });
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
