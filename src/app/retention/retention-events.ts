// What retention tells the rest of the house.
import { event } from '../../core/index.ts';
import type { Metrics } from '../../platform/metrics/index.ts';
import type { RetentionRule } from './retention-rule.ts';

const failures = {
  name: 'headworks_retention_failures_total',
  help: 'Retention rules that failed.',
  labels: ['kind'],
} as const;

/**
 * Shows the failures of each rule as 0 before the first: a series that begins at 1 is one that Prometheus' `increase`
 * misses, and only who composes the rules knows their kinds.
 */
export function showRetentionFailures(
  metrics: Pick<Metrics, 'counter'>,
  rules: readonly RetentionRule[],
): void {
  const count = metrics.counter(failures);
  for (const { kind } of rules) count(0, [kind]);
}

export const retentionEvents = {
  'retention:purged': event<{ kind: string; count: number; before: string }>({
    level: 'info',
    message: 'deleted rows that are older than they need to be',
    counter: {
      name: 'headworks_retention_purged_total',
      help: 'Rows deleted by retention.',
      labels: ['kind'],
      by: 'count',
    },
  }),
  'retention:failed': event<{ kind: string; cause: string }>({
    level: 'error',
    message: 'could not delete old rows',
    counter: failures,
  }),
} as const;

export type RetentionEvents = typeof retentionEvents;
