// What is said of a repair: what it is about, how far it is, what came of it.
import type { JobAnswer } from '../../../../src/http/contract.ts';
import type { Tone } from '../../theme.ts';

interface Report {
  readonly tried: number;
  readonly repaired: number;
  readonly gone: number;
  readonly stillBroken: number;
}

/** `knowledge.chunk-not-read`, `one row`, `everything`. */
export function repairSubject(payload: unknown): string {
  const { kind, id, due } = (payload ?? {}) as {
    readonly kind?: string;
    readonly id?: string;
    readonly due?: boolean;
  };
  if (kind !== undefined) return kind;
  if (id !== undefined) return 'one row';
  return due === true ? 'what is due' : 'everything';
}

export function repairOutcome(job: Pick<JobAnswer, 'state' | 'result' | 'reason'>): string {
  if (job.state === 'queued') return 'waits for its turn';
  if (job.state === 'running') return 'goes on';
  if (job.state === 'skipped') return `had nothing to do: ${job.reason ?? ''}`;
  if (job.state === 'failed') return `failed: ${job.reason ?? ''}`;
  const { repaired = 0, gone = 0, stillBroken = 0 } = (job.result ?? {}) as Partial<Report>;
  const parts = [
    repaired > 0 ? `${repaired} repaired` : null,
    gone > 0 ? `${gone} not needed any more` : null,
    stillBroken > 0 ? `${stillBroken} still open` : null,
  ].filter((part) => part !== null);
  return `ended: ${parts.length === 0 ? 'none could be repaired' : parts.join(', ')}`;
}

export function repairTone({ state, result }: Pick<JobAnswer, 'state' | 'result'>): Tone {
  const { stillBroken = 0 } = (result ?? {}) as Partial<Report>;
  if (state === 'failed') return 'bad';
  if (state === 'completed') return stillBroken > 0 ? 'warning' : 'good';
  return 'busy';
}

/** What goes on comes before what waits, and that before what has ended. */
export const rankOf = ({ state }: Pick<JobAnswer, 'state'>): number =>
  state === 'running' ? 0 : state === 'queued' ? 1 : 2;

/** Of the repair that was asked for of one row, while it waits or goes on; null: there is none. */
export function repairOfRow(
  id: string,
  repairs: readonly Pick<JobAnswer, 'state' | 'payload'>[],
): string | null {
  const own = repairs.find(
    ({ state, payload }) =>
      (state === 'running' || state === 'queued') && (payload as { readonly id?: string } | null)?.id === id,
  );
  if (own === undefined) return null;
  if (own.state === 'running') return 'Its repair goes on.';
  const other = repairs.find(({ state }) => state === 'running');
  return `Its repair waits${other === undefined ? '' : ` until the repair of ${repairSubject(other.payload)} has ended`}.`;
}
