// Events and metrics of organizations, deployments, executions and admission.
import { event } from '../core/index.ts';
import type { ExecutionState, WorkflowName } from './vocabulary.ts';

export const tenantEvents = {
  'tenants:store-failed': event<{ what: string; cause: string }>({
    level: 'warn',
    message: 'organizations, keys or deployments could not be read; the copies in memory are used',
    counter: {
      name: 'headworks_tenants_store_failures_total',
      help: 'Failed reads of organizations, keys or deployments.',
      labels: ['what'],
    },
  }),
} as const;

export type TenantEvents = typeof tenantEvents;

interface ExecutionEvent {
  readonly executionId: string;
  readonly organizationId: string;
  readonly deploymentId: string;
}

export const executionEvents = {
  'deployments:execution-accepted': event<ExecutionEvent & { workflow: WorkflowName; files: number }>({
    level: 'info',
    message: 'execution accepted',
    counter: {
      name: 'headworks_executions_accepted_total',
      help: 'Accepted executions, by workflow.',
      labels: ['workflow'],
    },
  }),
  'deployments:execution-started': event<ExecutionEvent & { attempt: number }>({
    level: 'debug',
    message: 'execution started',
  }),
  'deployments:execution-ended': event<
    ExecutionEvent & {
      state: ExecutionState;
      /** The code of its failure. */
      code: string | null;
      /** Since its acceptance. */
      durationMs: number;
    }
  >({
    level: 'info',
    message: 'execution ended',
    counter: {
      name: 'headworks_executions_ended_total',
      help: 'Ended executions, by state.',
      labels: ['state'],
    },
    histogram: {
      name: 'headworks_execution_duration_seconds',
      help: 'Time from the acceptance of an execution to its end.',
      field: 'durationMs',
      labels: ['state'],
      buckets: [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600],
    },
  }),
  'deployments:orphan-ended': event<Pick<ExecutionEvent, 'executionId'> & { reason: string }>({
    level: 'warn',
    message: 'execution ended: no process was running it any more, or it took too long',
    counter: {
      name: 'headworks_executions_orphaned_total',
      help: 'Executions ended because their job no longer existed or they took too long.',
    },
  }),
  'deployments:webhook-sent': event<
    Pick<ExecutionEvent, 'executionId'> & { status: number; attempt: number }
  >({
    level: 'info',
    message: 'webhook delivered',
    counter: { name: 'headworks_webhooks_sent_total', help: 'Delivered webhooks.' },
  }),
  'deployments:webhook-failed': event<
    Pick<ExecutionEvent, 'executionId'> & { reason: string; attempt: number; isGivenUp: boolean }
  >({
    level: 'warn',
    message: 'webhook not delivered',
    counter: { name: 'headworks_webhook_failures_total', help: 'Failed attempts to deliver a webhook.' },
  }),
};

export type ExecutionEvents = typeof executionEvents;

/* ---- admission ---- */

/** Redis decides in well under a millisecond; a decision takes a second at most. */
const decisionBuckets = [0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1];

const decisionSeconds = {
  name: 'headworks_admission_decision_seconds',
  help: 'Duration of a decision, without time in the queue.',
  field: 'decisionMs',
  labels: ['decider'],
  buckets: decisionBuckets,
} as const;

const cacheHits = {
  name: 'headworks_admission_limit_cache_hits_total',
  help: 'Decisions with a cached limit.',
  by: 'cacheHits',
} as const;

const cacheMisses = {
  name: 'headworks_admission_limit_cache_misses_total',
  help: 'Decisions for which the limit was read from the state store.',
  by: 'cacheMisses',
} as const;

const localDecisions = {
  name: 'headworks_admission_local_decisions_total',
  help: 'Decisions that this server made without Redis during an outage.',
  by: 'localDecisions',
} as const;

/** The decision that admitted or rejected a request; the counts are 0 or 1. */
interface DecisionPayload {
  readonly organizationId: string;
  readonly executionId: string;
  /** `queue`: rejected without a decision because others were queued. */
  readonly decider: 'store' | 'local' | 'queue';
  readonly decisionMs: number;
  readonly cacheHits: number;
  readonly cacheMisses: number;
  readonly localDecisions: number;
}

const decisionSpan = { name: 'admission decision', duration: 'decisionMs' } as const;
const decisionAttributes = ['organizationId', 'executionId', 'decider'] as const;

export const admissionEvents = {
  'admission:request-admitted': event<DecisionPayload>({
    level: 'debug',
    message: 'request admitted',
    counter: [
      {
        name: 'headworks_admission_admissions_total',
        help: 'Requests that got a slot.',
        labels: ['decider'],
        knownValues: [['store'], ['local']],
      },
      cacheHits,
      cacheMisses,
      localDecisions,
    ],
    histogram: decisionSeconds,
    span: { ...decisionSpan, attributes: decisionAttributes },
  }),
  'admission:request-rejected': event<DecisionPayload & { readonly reason: 'organization' | 'global' }>({
    level: 'debug',
    message: 'request rejected: limit reached',
    counter: [
      {
        name: 'headworks_admission_rejections_total',
        help: 'Requests that got no slot, by the limit that was reached.',
        labels: ['reason'],
        knownValues: [['organization'], ['global']],
      },
      cacheHits,
      cacheMisses,
      localDecisions,
    ],
    histogram: decisionSeconds,
    span: { ...decisionSpan, attributes: [...decisionAttributes, 'reason'] },
  }),
  'admission:decision-failed': event<{ readonly organizationId: string; readonly cause: string }>({
    level: 'debug',
    message: 'no decision for a request: a store is unavailable',
    counter: {
      name: 'headworks_admission_undecided_total',
      help: 'Requests rejected with 503 because a store was unavailable.',
      labels: ['cause'],
      knownValues: [['STATE_UNAVAILABLE'], ['ADMISSION_UNAVAILABLE']],
    },
  }),
  'admission:request-waited': event<{
    readonly organizationId: string;
    readonly outcome: 'admitted' | 'rejected' | 'canceled';
    readonly waitedMs: number;
  }>({
    level: 'debug',
    message: 'request left the queue',
    histogram: {
      name: 'headworks_admission_wait_seconds',
      help: 'Time requests spent in the queue for a slot.',
      field: 'waitedMs',
      labels: ['outcome'],
      buckets: [0.01, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
    },
  }),
  'admission:outage-suspected': event<{ readonly cause: string }>({
    level: 'debug',
    message: 'a call to Redis failed or is slow; requests wait while it is probed',
    counter: {
      name: 'headworks_admission_redis_suspicions_total',
      help: 'Calls to Redis that failed or were slow and triggered a probe.',
    },
  }),
  'admission:outage-confirmed': event<{ readonly cause: string; readonly failureMode: string }>({
    level: 'warn',
    message: 'Redis is down: outage confirmed',
    counter: { name: 'headworks_admission_redis_outages_total', help: 'Confirmed outages of Redis.' },
  }),
  'admission:outage-ended': event<{ readonly downMs: number; readonly localAdmissions: number }>({
    level: 'info',
    message: 'Redis is up and reconciled; it is used for decisions again',
  }),
  'admission:slots-restored': event<{
    readonly count: number;
    /** `missing`: deleted, or not renewed for a lease. */
    readonly reason: 'missing' | 'store-was-empty' | 'store-was-down';
  }>({
    level: 'warn',
    message: 'missing slots of unfinished executions restored',
    counter: {
      name: 'headworks_admission_slots_restored_total',
      help: 'Missing slots that were created again.',
      by: 'count',
    },
  }),
  'admission:slots-released': event<{ readonly count: number }>({
    level: 'warn',
    message: 'leaked slots of ended executions released',
    counter: {
      name: 'headworks_admission_slots_leaked_total',
      help: 'Slots of ended executions released by the reconciler.',
      by: 'count',
    },
  }),
  'admission:limits-corrected': event<{ readonly count: number }>({
    level: 'warn',
    message: 'stale cached limits invalidated',
    counter: {
      name: 'headworks_admission_limits_corrected_total',
      help: 'Cached limits that were stale.',
      by: 'count',
    },
  }),
  'admission:execution-overdue': event<{ readonly organizationId: string; readonly executionId: string }>({
    level: 'warn',
    message: 'execution ended: it held its slot for the longest time allowed',
    counter: {
      name: 'headworks_admission_overdue_total',
      help: 'Executions that reached API_DEPLOYMENT_RATE_LIMIT_TTL_HOURS.',
    },
  }),
  'admission:reconcile-failed': event<{ readonly cause: string }>({
    level: 'warn',
    message: 'reconciliation of slots with executions failed; it is repeated',
    counter: {
      name: 'headworks_admission_reconcile_failures_total',
      help: 'Failed rounds of the reconciler.',
    },
  }),
  'admission:server-lock-changed': event<{ readonly state: 'held' | 'lost' | 'taken' }>({
    level: 'warn',
    message: 'lock that separates servers with and without Redis',
  }),
} as const;

export type AdmissionEvents = typeof admissionEvents;
