// Events and metrics of organizations, deployments and executions. Those of admission: admission/events.ts.
import { event } from '../core/index.ts';
import type { ExecutionStatus } from './executions/types.ts';
import type { WorkflowName } from './vocabulary.ts';

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
      status: ExecutionStatus;
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
      help: 'Ended executions, by status.',
      labels: ['status'],
    },
    histogram: {
      name: 'headworks_execution_duration_seconds',
      help: 'Time from the acceptance of an execution to its end.',
      field: 'durationMs',
      labels: ['status'],
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
