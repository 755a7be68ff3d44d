// Labels of repairs: subject, state, result.
import type { Job } from '../../../../src/api/jobs.ts';
import type { Tone } from '../../theme.ts';

interface Report {
  readonly tried: number;
  readonly repaired: number;
  readonly gone: number;
  readonly still_broken: number;
}

/** `knowledge.chunk-not-read`, `one entry`, `all entries`. */
export function repairSubject(payload: unknown): string {
  const { kind, id, due } = (payload ?? {}) as {
    readonly kind?: string;
    readonly id?: string;
    readonly due?: boolean;
  };
  if (kind !== undefined) return kind;
  if (id !== undefined) return 'one entry';
  return due === true ? 'due entries' : 'all entries';
}

export function repairOutcome(job: Pick<Job, 'state' | 'result' | 'reason'>): string {
  if (job.state === 'queued') return 'queued';
  if (job.state === 'running') return 'running';
  if (job.state === 'skipped') return `skipped: ${job.reason ?? ''}`;
  if (job.state === 'canceled') return 'canceled';
  if (job.state === 'failed') return `failed: ${job.reason ?? ''}`;
  const { repaired = 0, gone = 0, still_broken: stillBroken = 0 } = (job.result ?? {}) as Partial<Report>;
  const parts = [
    repaired > 0 ? `${repaired} repaired` : null,
    gone > 0 ? `${gone} no longer needed` : null,
    stillBroken > 0 ? `${stillBroken} still open` : null,
  ].filter((part) => part !== null);
  return `completed: ${parts.length === 0 ? 'nothing repaired' : parts.join(', ')}`;
}

export function repairTone({ state, result }: Pick<Job, 'state' | 'result'>): Tone {
  const { still_broken: stillBroken = 0 } = (result ?? {}) as Partial<Report>;
  if (state === 'failed') return 'bad';
  if (state === 'completed') return stillBroken > 0 ? 'warning' : 'good';
  return 'busy';
}

/** Sort order: running, queued, finished. */
export const rankOf = ({ state }: Pick<Job, 'state'>): number =>
  state === 'running' ? 0 : state === 'queued' ? 1 : 2;

/** State of the queued or running repair of one entry; null without one. */
export function repairOfEntry(id: string, repairs: readonly Pick<Job, 'state' | 'payload'>[]): string | null {
  const own = repairs.find(
    ({ state, payload }) =>
      (state === 'running' || state === 'queued') && (payload as { readonly id?: string } | null)?.id === id,
  );
  if (own === undefined) return null;
  if (own.state === 'running') return 'Repair running.';
  const other = repairs.find(({ state }) => state === 'running');
  return `Repair queued${other === undefined ? '' : ` behind the repair of ${repairSubject(other.payload)}`}.`;
}
