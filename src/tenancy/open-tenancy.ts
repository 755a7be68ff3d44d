// All wiring of tenancy: organizations, keys, deployments, admission, executions and their jobs.
import type { Clock, Emitter, IdSource, JobQueue, Log, Random, Redactor } from '../core/index.ts';
import { every, CoreError, kindOf } from '../core/index.ts';
import type { LedgerRecorder } from '../ledger/index.ts';
import { requestRepairs } from '../ledger/index.ts';
import type { DocumentsOptions } from '../platform/documents/documents.ts';
import { Documents } from '../platform/documents/documents.ts';
import { createWebhookTransport, isPrivateHost } from '../platform/http-client/addresses.ts';
import type { SchemaChecksOptions } from '../platform/json-schema/schema-checks.ts';
import { SchemaChecks } from '../platform/json-schema/schema-checks.ts';
import type { Database } from '../platform/postgres/index.ts';
import { ChangeFeed } from '../platform/postgres/change-feed.ts';
import type { RedisConnection } from '../platform/redis/connection.ts';
import type { Metrics } from '../platform/telemetry/metrics.ts';
import { MemorySlotStore } from './admission/memory-slot-store.ts';
import { openAdmission, redisDownKind } from './admission/open-admission.ts';
import { RedisSlotStore } from './admission/redis/redis-slot-store.ts';
import { openServerGuard } from './admission/server-guard.ts';
import type { AdmissionDeps, ExecutionIndex } from './admission/types.ts';
import type { DeploymentRules } from './deployments/deployments.ts';
import { DeploymentService } from './deployments/deployments.ts';
import type { AdmissionEvents, ExecutionEvents, TenantEvents } from './events.ts';
import type { ExecutionDeps } from './executions/executions.ts';
import { executionRetentionRules, ExecutionService } from './executions/executions.ts';
import { executionHandler, executionJob } from './executions/run-execution.ts';
import { ExecutionStarter } from './executions/start-execution.ts';
import type { ExecutionStore } from './executions/types.ts';
import { ensureWebhookSecret, webhookJob, Webhooks } from './executions/webhooks.ts';
import type { AdmissionOptions, DeploymentOptions } from './options.ts';
import { ApiKeyService } from './organizations/api-keys.ts';
import type { MirrorDeps } from './organizations/organizations.ts';
import { OrganizationService } from './organizations/organizations.ts';
import { PostgresExecutionStore } from './postgres/postgres-execution-store.ts';
import {
  postgresServerRegistry,
  limitsChannel,
  limitsTopic,
  postgresLimitStore,
  postgresTenantStores,
} from './postgres/postgres-tenant-store.ts';
import type { TenantStores } from './types.ts';
import { ingestWorkflow, searchWorkflow } from './workflows/knowledge.ts';
import { promptWorkflow } from './workflows/prompt.ts';
import { structureWorkflow } from './workflows/structure.ts';
import type { Workflow, WorkflowDeps } from './workflows/workflow.ts';

export interface TenancyDeps extends Pick<WorkflowDeps, 'model' | 'search' | 'ingest'> {
  readonly database: Database;
  readonly redis: RedisConnection | null;
  readonly clock: Clock;
  readonly random: Random;
  readonly ids: IdSource;
  readonly events: Emitter<AdmissionEvents & TenantEvents & ExecutionEvents>;
  readonly metrics: Pick<Metrics, 'gauge'>;
  readonly log: Log;
  readonly redactor: Pick<Redactor, 'add' | 'text'>;
  readonly jobs: JobQueue;
  readonly ledger: LedgerRecorder;
  readonly options: {
    readonly admission: AdmissionOptions;
    readonly deployments: DeploymentOptions;
    readonly retention: { readonly executionsDays: number; readonly executionFilesDays: number };
    readonly redis: { readonly url: string | null; readonly keyPrefix: string };
    /** Null for the embedded database. */
    readonly state: { readonly databaseUrl: string | null };
    readonly data: { readonly folder: string };
  };
  /** A `worker` accepts no requests; a `command` acts as a server for its own duration. Others are permanent servers. */
  readonly role: string;
}

/** An execution whose job is gone is ended after this time. */
const orphanCheckIntervalMs = 10_000;

export async function openTenancy(deps: TenancyDeps) {
  const { clock, database, ids, jobs, log, options, redactor, role } = deps;
  const { maxWaitSeconds } = options.admission;
  const { allowPrivateWebhooks, webhookSecret: configured } = options.deployments;
  await using closing = new AsyncDisposableStack();
  const workflows = openWorkflows(deps, closing);
  const folder = role === 'worker' ? null : options.data.folder;
  const { isShared } = database.capabilities;
  const webhookSecret = await ensureWebhookSecret({ configured, folder, isShared }, ids);
  if (webhookSecret !== null) redactor.add(webhookSecret);
  const transport = createWebhookTransport(allowPrivateWebhooks);
  closing.defer(() => transport.close());
  const store = new PostgresExecutionStore(database);
  const tenants = await openTenants({
    ...deps,
    stores: postgresTenantStores(database),
    workflows,
    maxWaitSeconds,
    webhookSecret,
    isForbiddenHost: allowPrivateWebhooks ? () => false : isPrivateHost,
  });
  closing.defer(() => tenants.close());
  // Admission and executions need each other; until both are open, no execution is overdue.
  let executions: ExecutionService | undefined;
  // A key of this process: a repair requested by another server may run where Redis is still down.
  const repairKey = ids.uuid();
  const admission = await openServerAdmission({
    ...deps,
    executions: store,
    endOverdue: async ({ executionId }) => executions?.endOverdue(executionId),
    onOutageEnded: (kind) => requestRepairs(jobs, [kind], repairKey),
  });
  closing.defer(() => admission.close());
  for (const gauge of admission.gauges) deps.metrics.gauge(gauge);
  const opened = await openExecutions({
    ...deps,
    ...tenants,
    store,
    transport,
    redact: (text) => redactor.text(text),
    slots: admission.controller,
    releaseSlot: admission.releaseSlotOf,
  });
  executions = opened.executions;
  closing.defer(() => opened.close());
  const failOrphans = () =>
    opened.executions
      .failOrphans()
      .catch((error: unknown) =>
        log.warn('orphaned executions could not be checked', { cause: kindOf(error) }),
      );
  const open = closing.move();
  return {
    ...tenants,
    starter: opened.starter,
    executions: opened.executions,
    limits: admission.limits,
    /** Requests queued for a slot in this process. */
    queued: () => admission.controller.queued,
    repairs: [admission.repair, ...opened.repairs],
    retention: executionRetentionRules(store, options.retention),
    /** Runs executions and webhooks, in a process that is allowed to. Call it when everything else is ready. */
    work: async () => {
      if (role === 'command' || !admission.canRunExecutions) return;
      await opened.work();
      open.defer(every(clock, orphanCheckIntervalMs, failOrphans));
    },
    close: () => open.disposeAsync(),
  };
}

export interface OpenWorkflowsDeps extends Omit<WorkflowDeps, 'documents' | 'schemas'> {
  readonly clock: Clock;
  /** Overrides for tests. */
  readonly documentLimits?: Omit<DocumentsOptions, 'clock'>;
  readonly schemaLimits?: Omit<SchemaChecksOptions, 'clock'>;
}

/** All workflows. The threads that read documents and validate JSON schemas start on first use and end with `closing`. */
export function openWorkflows(
  { clock, documentLimits, schemaLimits, ...given }: OpenWorkflowsDeps,
  closing: AsyncDisposableStack,
): readonly Workflow[] {
  const documents = new Documents({ clock, ...documentLimits });
  closing.defer(() => documents.close());
  const schemas = new SchemaChecks({ clock, ...schemaLimits });
  closing.defer(() => schemas.close());
  const deps = { ...given, documents, schemas };
  return [
    structureWorkflow(deps),
    promptWorkflow(deps),
    searchWorkflow(deps.search),
    ingestWorkflow(deps.ingest),
  ];
}

/** @internal For tests. */
export type TenantServices = Awaited<ReturnType<typeof openTenants>>;

/** A notification can be lost: then a revoked key is rejected a quarter of a minute later. */
const pollMs = 15_000;
/** Deployments are large and seldom change. */
const deploymentsPollMs = 60_000;

/** Organizations, keys and deployments with their copies in memory. Fails with STATE_UNAVAILABLE. */
export async function openTenants(deps: MirrorDeps & DeploymentRules & { readonly stores: TenantStores }) {
  const { stores, clock } = deps;
  const organizations = new OrganizationService({
    ...deps,
    store: stores.organizations,
    onDeleted: (id) => {
      keys.dropOrganization(id);
      deployments.dropOrganization(id);
    },
  });
  const keys = new ApiKeyService({ ...deps, store: stores.keys, organizations });
  const deployments = new DeploymentService({ ...deps, store: stores.deployments, organizations });
  const mirrors = {
    organizations: organizations.mirror,
    keys: keys.mirror,
    deployments: deployments.mirror,
  };
  const refreshSome = async (...which: readonly (keyof typeof mirrors)[]): Promise<boolean> =>
    (await Promise.all(which.map((name) => mirrors[name].refresh()))).every(Boolean);
  /** Reads everything again. False when the store failed; the copies in memory stay. Never rejects. */
  const refresh = (): Promise<boolean> => refreshSome('organizations', 'keys', 'deployments');

  const closing = new AsyncDisposableStack();
  for (const mirror of Object.values(mirrors)) closing.defer(() => mirror.close());
  try {
    // Listen first, then load: a change between the two is not missed.
    const unwatch = await stores.changes.watch(
      (topic) => void (topic === 'everything' ? refresh() : mirrors[topic].refresh()),
    );
    closing.defer(() => unwatch().catch(() => undefined));
    for (const mirror of Object.values(mirrors)) await mirror.start();
  } catch (error) {
    await closing.disposeAsync();
    throw error;
  }
  if (stores.changes.isShared) {
    closing.defer(every(clock, pollMs, () => refreshSome('organizations', 'keys')));
    closing.defer(every(clock, deploymentsPollMs, () => refreshSome('deployments')));
  }
  return { organizations, keys, deployments, refresh, close: () => closing.disposeAsync() };
}

export interface ServerAdmissionDeps extends Pick<
  TenancyDeps,
  'database' | 'redis' | 'clock' | 'ids' | 'events' | 'ledger' | 'role'
> {
  readonly options: Pick<TenancyDeps['options'], 'admission' | 'redis' | 'state'>;
  readonly executions: ExecutionIndex & Pick<ExecutionStore, 'onEnded'>;
  readonly endOverdue: AdmissionDeps['endOverdue'];
  /** Redis decides again: the ledger's entry of this kind can be closed. */
  readonly onOutageEnded: (kind: string) => void;
}

/**
 * Admission on the stores of this process. Fails with ADMISSION_NEEDS_REDIS when this server or another one on the same
 * database counts slots in its own memory.
 */
export async function openServerAdmission(deps: ServerAdmissionDeps) {
  const { database, redis, clock, ids, executions, role } = deps;
  const { admission: options, state } = deps.options;
  await using closing = new AsyncDisposableStack();
  const isServer = role !== 'worker' && role !== 'command';
  const guard = await openServerGuard({ ...deps, ...state, hasRedis: redis !== null, isServer }, closing);
  const store = { ...options, clock };
  const slots = redis ? new RedisSlotStore({ ...store, redis }) : new MemorySlotStore(store);
  const probe = await openProbe(deps.options.redis);
  closing.defer(() => probe?.close());
  const admission = await openAdmission({
    ...deps,
    options,
    slots,
    probe,
    limits: postgresLimitStore(database, ids),
    servers: redis ? postgresServerRegistry(database, options.leaseSeconds) : undefined,
    serverId: isServer ? ids.uuid() : null,
    storeName: redis?.address ?? 'this process',
    countsSlots: guard() === null,
    onOutageEnded: () => deps.onOutageEnded(redisDownKind),
    checkReady: () => {
      const problem = guard();
      if (problem) throw problem;
      if (database.state === 'down') throw stateDown();
    },
  });
  closing.defer(() => admission.close());
  closing.defer(await executions.onEnded((executionId) => admission.controller.executionEnded(executionId)));
  if (redis) closing.defer(redis.onStateChange((state) => admission.connectionChanged(state === 'up')));
  // With Redis, the process that changes a limit invalidates the shared cache, but it cannot reach the memory of this
  // process.
  else {
    const changes = new ChangeFeed(database, limitsChannel(database.schema), [limitsTopic]);
    closing.defer(await changes.watch(() => void slots.invalidateLimits('all')));
  }
  const open = closing.move();
  return {
    ...admission,
    /** Without Redis only the server that counts slots may run executions: elsewhere they would have none. */
    canRunExecutions: guard() === null,
    close: () => open.disposeAsync(),
  };
}

/** Loaded only when it is used. */
async function openProbe({ url, keyPrefix }: TenancyDeps['options']['redis']) {
  if (url === null) return undefined;
  const { RedisProbe } = await import('../platform/redis/probe.ts');
  return new RedisProbe({ url, keyPrefix });
}

const stateDown = (): CoreError =>
  new CoreError(
    'STATE_UNAVAILABLE',
    'The state store is down; nothing can be accepted. Try again in a moment.',
    {
      isRetryable: true,
      retryAfterMs: 2_000,
    },
  );

/** @internal For tests. */
export type OpenExecutions = Awaited<ReturnType<typeof openExecutions>>;

/** Defines the jobs and listens for ends; runs nothing before `work`. */
export async function openExecutions(deps: ExecutionDeps) {
  const { store, jobs, options } = deps;
  const job = executionJob(options.deployments);
  await jobs.define([job, webhookJob]);
  const webhooks = new Webhooks(deps);
  const executions = new ExecutionService(deps, (execution, transaction) =>
    webhooks.enqueue(execution, transaction),
  );
  const starter = new ExecutionStarter(deps, async ({ executionId, organizationId }, transaction) => {
    const options = { key: executionId, group: organizationId, transaction };
    const jobId = await jobs.enqueue(job, { executionId }, options);
    if (jobId === null) throw new CoreError('INTERNAL', 'The execution already has a job.');
    return jobId;
  });
  const close = await store.onEnded((executionId) => executions.ended(executionId));
  return {
    starter,
    executions,
    repairs: [webhooks.repair],
    /** Runs executions and webhooks in this process. */
    work: async () => {
      await jobs.work(job, executionHandler(deps, executions));
      await jobs.work(webhookJob, webhooks.handler);
    },
    /** Stops listening. The queue stops the jobs. */
    close,
  };
}
