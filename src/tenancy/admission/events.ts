// What admission tells the rest of the house.
import { event } from '../../core/index.ts';

/** Decisions take well under a millisecond; what takes 40 ms is decided without Redis. */
const decisionBuckets = [0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 1];

const decisionSeconds = {
  name: 'headworks_admission_decision_seconds',
  help: 'Time one decision took, waiting for a slot left out.',
  field: 'decisionMs',
  labels: ['decider'],
  buckets: decisionBuckets,
} as const;

const cacheHits = {
  name: 'headworks_admission_limit_cache_hits_total',
  help: 'Decisions by a limit that was cached.',
  by: 'cacheHits',
} as const;

const cacheMisses = {
  name: 'headworks_admission_limit_cache_misses_total',
  help: 'Decisions for which the limit was read from the state store.',
  by: 'cacheMisses',
} as const;

const failOpen = {
  name: 'headworks_admission_fail_open_total',
  help: 'Decisions that this process took by itself because Redis was away.',
  by: 'localDecisions',
} as const;

/** Of the decision that ended it; the numbers are 0 or 1. */
interface Decided {
  readonly organizationId: string;
  readonly executionId: string;
  /** `line`: others were waiting, so that nobody was asked. */
  readonly decider: 'store' | 'local' | 'line';
  readonly decisionMs: number;
  readonly cacheHits: number;
  readonly cacheMisses: number;
  readonly localDecisions: number;
}

export const admissionEvents = {
  'admission:admitted': event<Decided>({
    level: 'debug',
    message: 'a request was let in',
    counter: [
      {
        name: 'headworks_admission_admissions_total',
        help: 'Requests that got a slot.',
        labels: ['decider'],
        knownValues: [['store'], ['local']],
      },
      cacheHits,
      cacheMisses,
      failOpen,
    ],
    histogram: decisionSeconds,
  }),
  'admission:refused': event<Decided & { readonly reason: 'organization' | 'global' }>({
    level: 'debug',
    message: 'a request was refused',
    counter: [
      {
        name: 'headworks_admission_refusals_total',
        help: 'Requests that got no slot, by the limit that was reached.',
        labels: ['reason'],
        knownValues: [['organization'], ['global']],
      },
      cacheHits,
      cacheMisses,
      failOpen,
    ],
    histogram: decisionSeconds,
  }),
  'admission:unavailable': event<{ readonly organizationId: string; readonly cause: string }>({
    level: 'debug',
    message: 'a request could not be decided',
    counter: {
      name: 'headworks_admission_unavailable_total',
      help: 'Requests that were not decided because a store was away.',
      labels: ['cause'],
      knownValues: [['STATE_UNAVAILABLE'], ['ADMISSION_UNAVAILABLE']],
    },
  }),
  'admission:waited': event<{
    readonly organizationId: string;
    readonly outcome: 'admitted' | 'refused' | 'left';
    readonly waitedMs: number;
  }>({
    level: 'debug',
    message: 'a request waited for a slot',
    histogram: {
      name: 'headworks_admission_wait_seconds',
      help: 'Time that requests waited for a slot.',
      field: 'waitedMs',
      labels: ['outcome'],
      buckets: [0.01, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
    },
  }),
  'admission:redis-away': event<{ readonly cause: string; readonly policy: string }>({
    level: 'warn',
    message: 'Redis does not decide; this process does by itself',
    counter: { name: 'headworks_admission_redis_losses_total', help: 'Times that Redis could not decide.' },
  }),
  'admission:redis-back': event<{ readonly awayMs: number; readonly localAdmissions: number }>({
    level: 'info',
    message: 'Redis decides again, and knows what happened meanwhile',
  }),
  'admission:slots-restored': event<{
    readonly count: number;
    /** `missing`: somebody deleted them, or nobody had renewed them for a lease. */
    readonly why: 'missing' | 'store-was-empty' | 'store-was-away';
  }>({
    level: 'warn',
    message: 'executions under way had no slot; they have one again',
    counter: {
      name: 'headworks_admission_slots_restored_total',
      help: 'Slots that were missing and were taken again.',
      by: 'count',
    },
  }),
  'admission:slots-freed': event<{ readonly count: number }>({
    level: 'warn',
    message: 'executions that had ended still held slots; these are free now',
    counter: {
      name: 'headworks_admission_slots_leaked_total',
      help: 'Slots of ended executions that were freed by the reconciler.',
      by: 'count',
    },
  }),
  'admission:limits-corrected': event<{ readonly count: number }>({
    level: 'warn',
    message: 'cached limits differed from the state store; they were forgotten',
    counter: {
      name: 'headworks_admission_limits_corrected_total',
      help: 'Cached limits that were stale.',
      by: 'count',
    },
  }),
  'admission:execution-overdue': event<{ readonly organizationId: string; readonly executionId: string }>({
    level: 'warn',
    message: 'an execution held its slot for as long as it may; it is ended',
    counter: {
      name: 'headworks_admission_overdue_total',
      help: 'Executions that reached API_DEPLOYMENT_RATE_LIMIT_TTL_HOURS.',
    },
  }),
  'admission:reconcile-failed': event<{ readonly cause: string }>({
    level: 'warn',
    message: 'slots could not be compared with executions; tried again soon',
    counter: {
      name: 'headworks_admission_reconcile_failures_total',
      help: 'Rounds of the reconciler that failed.',
    },
  }),
  'admission:guard-changed': event<{ readonly state: 'held' | 'lost' | 'taken' }>({
    level: 'warn',
    message: 'the lock that keeps servers without Redis and others apart',
  }),
} as const;

export type AdmissionEvents = typeof admissionEvents;
