// What executions tell the rest of the house.
import { event } from '../../core/index.ts';
import type { ExecutionStatus, WorkflowName } from '../ports.ts';

interface ExecutionEvent {
  readonly executionId: string;
  readonly organizationId: string;
  readonly deploymentId: string;
}

export const executionEvents = {
  'deployments:execution-accepted': event<ExecutionEvent & { workflow: WorkflowName; files: number }>({
    level: 'info',
    message: 'an execution was accepted',
    counter: {
      name: 'headworks_executions_accepted_total',
      help: 'Executions accepted, by workflow.',
      labels: ['workflow'],
    },
  }),
  'deployments:execution-started': event<ExecutionEvent & { attempt: number }>({
    level: 'debug',
    message: 'an execution was taken up',
  }),
  'deployments:execution-ended': event<
    ExecutionEvent & {
      status: ExecutionStatus;
      /** The code of its failure. */
      code: string | null;
      /** From its acceptance. */
      durationMs: number;
    }
  >({
    level: 'info',
    message: 'an execution ended',
    counter: {
      name: 'headworks_executions_ended_total',
      help: 'Executions that ended, by status.',
      labels: ['status'],
    },
    histogram: {
      name: 'headworks_execution_duration_seconds',
      help: 'From the acceptance of an execution to its end.',
      field: 'durationMs',
      labels: ['status'],
      buckets: [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600],
    },
  }),
  'deployments:execution-settled': event<Pick<ExecutionEvent, 'executionId'> & { reason: string }>({
    level: 'warn',
    message: 'ended an execution that nobody ran any more',
    counter: {
      name: 'headworks_executions_settled_total',
      help: 'Executions that were ended because their job was gone or they took too long.',
    },
  }),
  'deployments:webhook-sent': event<
    Pick<ExecutionEvent, 'executionId'> & { status: number; attempt: number }
  >({
    level: 'info',
    message: 'a webhook was delivered',
    counter: { name: 'headworks_webhooks_sent_total', help: 'Webhooks that were delivered.' },
  }),
  'deployments:webhook-failed': event<
    Pick<ExecutionEvent, 'executionId'> & { reason: string; attempt: number; isGivenUp: boolean }
  >({
    level: 'warn',
    message: 'a webhook could not be delivered',
    counter: { name: 'headworks_webhook_failures_total', help: 'Tries of webhooks that failed.' },
  }),
};

export type ExecutionEvents = typeof executionEvents;
