// Puts executions together: the door, the desk, the job that runs them, their webhooks, and the watch over all of it.
import type { Clock, Emitter, HttpTransport, IdSource, JobQueue, Log } from '../../core/index.ts';
import { CoreError } from '../../core/index.ts';
import type { LedgerRecorder, RegisteredRepair } from '../../ledger/index.ts';
import type { DeploymentDesk, Door, ExecutionDesk, OrganizationDesk } from '../desk-ports.ts';
import type { DeploymentOptions } from '../options.ts';
import type { Execution, ExecutionStore, Workflow, WorkflowName } from '../ports.ts';
import type { AdmissionController } from '../admission/index.ts';
import { createSendWebhook } from './send-webhook.ts';
import { webhookHandler, webhookJob } from './webhook-job.ts';
import { webhookRepair } from './webhook-repair.ts';
import { DeploymentDoor } from './deployment-door.ts';
import { DeploymentExecutionDesk } from './deployment-execution-desk.ts';
import { createEndExecution } from './end-execution.ts';
import type { ExecutionEvents } from './events.ts';
import { executionHandler } from './execution-handler.ts';
import { executionJob } from './execution-job.ts';
import { endOverdue, settleExecutions } from './execution-watch.ts';
import { Waiters } from './waiters.ts';

export interface OpenExecutionsParts {
  readonly store: ExecutionStore;
  readonly organizations: Pick<OrganizationDesk, 'find'>;
  readonly deployments: Pick<DeploymentDesk, 'find' | 'get' | 'signingSecret'>;
  readonly workflows: readonly Workflow[];
  readonly slots: Pick<AdmissionController, 'acquire' | 'attach' | 'detach' | 'release'>;
  /** Frees whatever slot is held in this execution's name; whether one was. */
  readonly freeSlot: (executionId: string) => Promise<boolean>;
  readonly jobs: JobQueue;
  readonly ledger: LedgerRecorder;
  readonly transport: HttpTransport;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly events: Emitter<ExecutionEvents>;
  readonly log: Log;
  readonly redact: (text: string) => string;
  readonly options: DeploymentOptions;
  readonly longestWaitSeconds: number;
  /** The longest an execution may hold its slot. */
  readonly longestHours: number;
}

export interface OpenExecutions {
  readonly door: Door;
  readonly desk: ExecutionDesk;
  readonly repairs: readonly RegisteredRepair[];
  /** Takes executions and webhooks in this process. */
  work(): Promise<void>;
  /** Ends executions that nobody else will; how many. To be called now and then. */
  settle(): Promise<number>;
  /** Ends one that has held its slot for as long as it may. */
  endOverdue(executionId: string): Promise<void>;
  /** Listens no more. Jobs are stopped by their queue. */
  close(): Promise<void>;
}

/** Makes the jobs known and listens for ends; runs nothing before `work`. */
export async function openExecutions(parts: OpenExecutionsParts): Promise<OpenExecutions> {
  const { store, jobs, clock, options, events } = parts;
  const timeoutMs = options.executionTimeoutSeconds * 1_000;
  const job = executionJob({
    concurrency: options.concurrency,
    executionTimeoutMs: timeoutMs,
  });
  await jobs.define([job, webhookJob]);
  const waiters = new Waiters(clock);
  const end = createEndExecution({ ...parts, waiters, queueWebhook: webhookQueue(parts) });
  const send = createSendWebhook(parts);
  const workflowOf = workflowFinder(parts.workflows);
  const door = new DeploymentDoor({
    ...parts,
    workflowOf,
    enqueue: async (executionId, transaction) =>
      added(await jobs.enqueue(job, { executionId }, { key: executionId, transaction })),
    uploads: {
      maxFiles: options.maxFiles,
      maxFileBytes: options.maxFileBytes,
      maxBodyBytes: options.maxBodyBytes,
      maxUploadMemoryBytes: Math.max(options.maxUploadMemoryBytes, options.maxBodyBytes),
      timeoutMs: options.uploadTimeoutSeconds * 1_000,
      minBytesPerSecond: options.minUploadBytesPerSecond,
    },
    longestWaitMs: parts.longestWaitSeconds * 1_000,
  });
  const unlisten = await store.onEnded((executionId) => waiters.wake(executionId));
  return {
    door,
    desk: new DeploymentExecutionDesk({ ...parts, end, waiters }),
    repairs: [webhookRepair(send)],
    work: async () => {
      const handler = executionHandler({ ...parts, end, workflowOf, timeoutMs, retries: job.retries });
      await jobs.work(job, handler);
      await jobs.work(webhookJob, webhookHandler({ send, ledger: parts.ledger, events }));
    },
    settle: () => settleExecutions({ store, jobs, end, events }),
    endOverdue: (executionId) => endOverdue({ store, jobs, end, events }, executionId, parts.longestHours),
    close: unlisten,
  };
}

/** Also for a deployment that this process does not know yet: the job finds out whether it has a webhook. */
function webhookQueue({ deployments, jobs }: OpenExecutionsParts) {
  return async ({ executionId, deploymentId }: Execution, transaction: unknown): Promise<void> => {
    if (hasNoWebhook(deployments, deploymentId)) return;
    await jobs.enqueue(webhookJob, { executionId }, { key: executionId, transaction });
  };
}

function hasNoWebhook(deployments: Pick<DeploymentDesk, 'get'>, deploymentId: string): boolean {
  try {
    return deployments.get(deploymentId).webhookUrl === null;
  } catch {
    return false;
  }
}

function workflowFinder(workflows: readonly Workflow[]): (name: WorkflowName) => Workflow {
  const byName = new Map(workflows.map((workflow) => [workflow.name, workflow]));
  return (name) => {
    const workflow = byName.get(name);
    if (!workflow) throw new CoreError('INTERNAL', `There is no workflow ${name}.`);
    return workflow;
  };
}

function added(jobId: string | null): string {
  if (jobId === null) throw new CoreError('INTERNAL', 'An execution has its job already.');
  return jobId;
}
