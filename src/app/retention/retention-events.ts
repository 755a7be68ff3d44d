// What retention tells the rest of the house.
import { event } from '../../core/index.ts';

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
    counter: {
      name: 'headworks_retention_failures_total',
      help: 'Retention rules that failed.',
      labels: ['kind'],
    },
  }),
} as const;

export type RetentionEvents = typeof retentionEvents;
