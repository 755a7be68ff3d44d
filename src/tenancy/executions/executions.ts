// Executions: get, list, wait for the end, cancel; the only place where they end; and their retention.
import type { Clock, Emitter, HttpTransport, IdSource, JobQueue, JobView, Log } from '../../core/index.ts';
import { CoreError, onAbort, withTimeout } from '../../core/index.ts';
import type { LedgerRecorder } from '../../ledger/index.ts';
import type { AdmissionController } from '../admission/admission-controller.ts';
import type { DeploymentService } from '../deployments/deployments.ts';
import type { ExecutionEvents } from '../events.ts';
import { asSentence } from '../names.ts';
import type { AdmissionOptions, DeploymentOptions } from '../options.ts';
import type { OrganizationService } from '../organizations/organizations.ts';
import type { Deployment } from '../types.ts';
import { internalTenantMessage } from '../errors.ts';
import type { Execution, ExecutionFilter, ExecutionOutcome, ExecutionStore } from './types.ts';

/** For one execution; a healthy store takes milliseconds, and one that hangs must not hold slots or callers. */
export const storeTimeoutMs = 5_000;
/** Waiting requests also poll: a notification can be missed while the store reconnects. */
const pollMs = 5_000;
/** More than any global limit; jobs beyond are read one by one. */
const maxJobs = 10_000;

export const executionJobName = 'deployments.execute';

export const storeTimeout = (timeoutMs: number) => (): CoreError =>
  new CoreError(
    'STATE_UNAVAILABLE',
    `The state store did not reply within ${timeoutMs / 1_000} s. Check that it runs and is not overloaded.`,
    { isRetryable: true },
  );

export interface ExecutionDeps {
  readonly store: ExecutionStore;
  readonly organizations: Pick<OrganizationService, 'find'>;
  readonly deployments: Pick<DeploymentService, 'find' | 'byId' | 'workflowOf' | 'signingSecret'>;
  readonly slots: Pick<AdmissionController, 'acquire' | 'attach' | 'detach' | 'release'>;
  /** Releases the slot held by this execution id; whether there was one. */
  readonly releaseSlot: (executionId: string) => Promise<boolean>;
  readonly jobs: JobQueue;
  readonly ledger: LedgerRecorder;
  /** Transport of webhooks; must not follow redirects. */
  readonly transport: HttpTransport;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly events: Emitter<ExecutionEvents>;
  readonly log: Log;
  readonly redact: (text: string) => string;
  readonly options: {
    readonly admission: Pick<AdmissionOptions, 'maxWaitSeconds' | 'ttlHours'>;
    readonly deployments: DeploymentOptions;
  };
}

export class ExecutionService {
  readonly #deps: ExecutionDeps;
  readonly #enqueueWebhook: (execution: Execution, transaction: unknown) => Promise<void>;
  readonly #waiting: EndNotifier;

  /** `enqueueWebhook` adds the webhook's job to the transaction, if the deployment has a webhook. */
  constructor(
    deps: ExecutionDeps,
    enqueueWebhook: (execution: Execution, transaction: unknown) => Promise<void>,
  ) {
    this.#deps = deps;
    this.#enqueueWebhook = enqueueWebhook;
    this.#waiting = new EndNotifier(deps.clock);
  }

  /** An execution of any organization. Fails with NOT_FOUND. */
  async get(id: string): Promise<Execution> {
    return (await this.#find(id)) ?? notFound(id);
  }

  /** An execution of this deployment only. Fails with NOT_FOUND. */
  async getOf(deployment: Deployment, id: string): Promise<Execution> {
    const execution = await this.#find(id);
    const isOwn = execution?.deploymentId === deployment.id;
    return execution && isOwn ? execution : notFound(id);
  }

  list(filter: ExecutionFilter): Promise<readonly Execution[]> {
    return this.#deps.store.list(filter);
  }

  /** Resolves when the execution has ended; or with its current state after `timeoutMs` or when the signal aborts. */
  async whenEnded(id: string, timeoutMs: number, signal: AbortSignal): Promise<Execution> {
    const { clock } = this.#deps;
    const until = clock.monotonic() + timeoutMs;
    for (;;) {
      const remainingMs = until - clock.monotonic();
      // Registered before the read: an end in between is not missed.
      const waiting = this.#waiting.wait(id, Math.min(Math.max(remainingMs, 0), pollMs), signal);
      try {
        const execution = await this.get(id);
        if (execution.finishedAt !== null || remainingMs <= 0 || signal.aborted) return execution;
        await waiting.over;
      } finally {
        waiting.cancel();
      }
    }
  }

  /** Ends it as canceled, and its job; an ended one is returned as it is. Fails with NOT_FOUND. */
  async cancel(id: string): Promise<Execution> {
    const execution = await this.get(id);
    if (execution.finishedAt !== null) return execution;
    // Ended before the job is canceled: the outcome of the running job no longer counts.
    const canceled = await this.finish(id, { status: 'canceled' });
    await this.#deps.jobs.cancel(execution.jobId);
    return canceled ?? this.get(id);
  }

  /** Releases the slot of an ended or unknown execution. Fails with CONFLICT while it is unfinished. */
  async release(id: string): Promise<{ readonly isReleased: boolean }> {
    const execution = await this.#find(id);
    if (execution && execution.finishedAt === null)
      throw new CoreError(
        'CONFLICT',
        `The execution ${id} is ${execution.status} and needs its slot. Cancel it, which releases the slot as well.`,
      );
    return { isReleased: await this.#deps.releaseSlot(id) };
  }

  /**
   * Ends an execution: row and webhook in one transaction, then waiting requests, the event, and the slot. Null when it
   * had ended before; then nothing is done.
   */
  async finish(executionId: string, outcome: ExecutionOutcome): Promise<Execution | null> {
    const { store, slots, clock, events } = this.#deps;
    const at = new Date(clock.now());
    const ended = await store.end(executionId, outcome, at, this.#enqueueWebhook);
    if (!ended) return null;
    this.ended(executionId);
    const { organizationId, deploymentId, status } = ended;
    events.emit('deployments:execution-ended', {
      executionId,
      organizationId,
      deploymentId,
      state: status,
      code: ended.failure?.code ?? null,
      durationMs: at.getTime() - ended.acceptedAt.getTime(),
    });
    // The reconciler releases the slot if this process dies here.
    await slots.release({ organizationId, executionId });
    return ended;
  }

  /** The execution ended, in this or another process: wakes the requests that wait for it. */
  ended(executionId: string): void {
    this.#waiting.notify(executionId);
  }

  /** Ends executions whose job failed, was canceled or is gone; returns how many. Any number of processes may call it. */
  async failOrphans(): Promise<number> {
    const { store, jobs } = this.#deps;
    const unfinished = await store.unfinished();
    if (unfinished.length === 0) return 0;
    const open = await jobs.list({ name: executionJobName, states: ['queued', 'running'], limit: maxJobs });
    const openIds = new Set(open.map(({ id }) => id));
    let count = 0;
    for (const execution of unfinished) {
      if (openIds.has(execution.jobId)) continue;
      const outcome = outcomeOfJob(await jobs.get(execution.jobId));
      if (outcome && (await this.#endOrphan(execution, outcome))) count++;
    }
    return count;
  }

  /** Ends an execution that has held its slot for as long as it may, whatever its job does. */
  async endOverdue(executionId: string): Promise<void> {
    const { store, options } = this.#deps;
    const execution = await store.get(executionId);
    if (!execution) return;
    const message = `The execution took longer than the ${options.admission.ttlHours} hours allowed.`;
    await this.#endOrphan(execution, { status: 'failed', failure: { code: 'DEADLINE_EXCEEDED', message } });
  }

  async #endOrphan(
    { executionId, jobId }: Pick<Execution, 'executionId' | 'jobId'>,
    outcome: ExecutionOutcome,
  ): Promise<boolean> {
    const ended = await this.finish(executionId, outcome);
    if (!ended) return false;
    await this.#deps.jobs.cancel(jobId);
    const reason = outcome.status === 'failed' ? outcome.failure.message : outcome.status;
    this.#deps.events.emit('deployments:orphan-ended', { executionId, reason });
    return true;
  }

  #find(id: string): Promise<Execution | null> {
    const { store, clock } = this.#deps;
    return withTimeout((signal) => store.get(id, signal), {
      clock,
      timeoutMs: storeTimeoutMs,
      onTimeout: storeTimeout(storeTimeoutMs),
    });
  }
}

function notFound(id: string): never {
  throw new CoreError('NOT_FOUND', `There is no execution ${id}.`);
}

/** Null while the job may still end the execution. */
function outcomeOfJob(job: JobView | null): ExecutionOutcome | null {
  if (job?.state === 'queued' || job?.state === 'running') return null;
  if (job?.state === 'canceled' || job?.state === 'skipped') return { status: 'canceled' };
  return {
    status: 'failed',
    failure: {
      code: 'INTERNAL',
      message: asSentence(`The execution could not be completed: ${job?.reason ?? 'its job is gone'}`),
      tenantMessage: internalTenantMessage,
    },
  };
}

/** Requests of this process that wait for the end of an execution. */
class EndNotifier {
  readonly #clock: Clock;
  readonly #byExecution = new Map<string, Set<() => void>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  notify(executionId: string): void {
    for (const end of this.#byExecution.get(executionId) ?? []) end();
  }

  /** `over` resolves on a notification, after `ms`, or when the signal aborts. `cancel` may be called twice. */
  wait(
    executionId: string,
    ms: number,
    signal: AbortSignal,
  ): { readonly over: Promise<void>; readonly cancel: () => void } {
    const { promise, resolve } = Promise.withResolvers<void>();
    const end = () => {
      cancelTimer();
      removeListener();
      const waiting = this.#byExecution.get(executionId);
      waiting?.delete(end);
      if (waiting?.size === 0) this.#byExecution.delete(executionId);
      resolve();
    };
    this.#byExecution.set(executionId, (this.#byExecution.get(executionId) ?? new Set()).add(end));
    const cancelTimer = this.#clock.after(ms, end);
    let removeListener: () => void = () => undefined;
    removeListener = onAbort(signal, end);
    return { over: promise, cancel: end };
  }
}

/** In the shape of the retention rules of operations. */
export function executionRetentionRules(
  store: Pick<ExecutionStore, 'purge' | 'purgeFiles'>,
  days: { readonly executionsDays: number; readonly executionFilesDays: number },
) {
  return [
    {
      kind: 'execution-files',
      describe: 'files of ended executions',
      keepDays: days.executionFilesDays,
      purge: (before: Date, limit: number) => store.purgeFiles(before, limit),
    },
    {
      kind: 'executions',
      describe: 'ended executions',
      keepDays: days.executionsDays,
      purge: (before: Date, limit: number) => store.purge(before, limit),
    },
  ];
}
