// Labels and figures of the diagram.
import type { Flow } from '../../../../src/api/overview.ts';
import { counted, numberText, percentText } from '../../components/format.ts';

export type Degraded = Flow['degraded'];

/** Kinds of one domain, without its prefix. */
export const degradedOf = (all: Degraded, domain: string): Degraded =>
  all
    .filter(({ kind }) => kind.startsWith(`${domain}.`))
    .map(({ kind, open }) => ({ kind: kind.slice(domain.length + 1), open }));

export const openOf = (degraded: Degraded): number => degraded.reduce((sum, { open }) => sum + open, 0);

/** Calls and limit of all active runs; the limit is null unless every run has one. */
export function callsNow(running: Flow['extraction']['running']): {
  readonly calls: number;
  readonly limit: number | null;
} {
  return {
    calls: running.reduce((sum, run) => sum + (run.calls_last_minute ?? 0), 0),
    limit: running.reduce<number | null>(
      (sum, { calls_per_minute_limit: limit }) => (sum === null || limit === null ? null : sum + limit),
      0,
    ),
  };
}

/** Backoff and 429s of a run; null without any. */
export function backoffText({
  multiplier,
  rate_limited_calls: rateLimited,
}: Pick<Flow['extraction']['running'][number], 'multiplier' | 'rate_limited_calls'>): string | null {
  const parts = [
    multiplier > 1 ? `backoff ×${multiplier.toFixed(1)}` : null,
    rateLimited > 0 ? `${rateLimited} rate-limited` : null,
  ].filter((part) => part !== null);
  return parts.length === 0 ? null : parts.join(', ');
}

/** Requests in flight, and those queued for a model. */
export function requestsInFlight({
  in_flight: all,
  queued,
}: Pick<Flow['gateway'], 'in_flight' | 'queued'>): string {
  if (all === 0) return 'No requests in flight';
  return `${counted(all, 'request')} in flight, ${queued} queued for a model`;
}

/** `server-error, 0% of 18 in 15 min`. */
export function failureText({
  last_failure: cause,
  success_rate: rate,
  request_count: count,
}: Omit<Flow['gateway']['failing'][number], 'id' | 'name'>): string {
  const parts = [cause, rate === null ? null : `${percentText(rate)} of ${numberText(count)} in 15 min`];
  return parts.filter((part) => part !== null).join(', ');
}
