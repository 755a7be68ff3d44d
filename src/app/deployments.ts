// Plugs admission, organizations, deployments and executions together, and into the house.
import type { Config } from '../config/index.ts';
import type { JobQueue } from '../core/index.ts';
import { kindOf, systemClock, systemIds, systemRandom } from '../core/index.ts';
import type { Gateway } from '../gateway/index.ts';
import type { ServerDeps, TenantDesks } from '../http/index.ts';
import type { LedgerRecorder, RegisteredRepair } from '../ledger/index.ts';
import type { RetentionRule } from '../operations/retention.ts';
import { isPrivateHost } from '../platform/http-client/index.ts';
import { every } from '../resilience/index.ts';
import type { OpenExecutions } from '../tenancy/index.ts';
import { executionRetentionRules, openExecutions, openTenants } from '../tenancy/index.ts';
import { PostgresExecutionStore } from '../tenancy/postgres/postgres-execution-store.ts';
import { postgresTenantStores } from '../tenancy/postgres/postgres-tenant-stores.ts';
import { startAdmission } from './admission.ts';
import { requestRepairs } from './request-repairs.ts';
import type { ServerRole } from './client/server-file.ts';
import type { Stores } from './stores.ts';
import type { Telemetry } from './telemetry.ts';
import { ensureWebhookSecret } from './webhook-secret.ts';
import { createWebhookTransport } from './webhook-transport.ts';
import { createWorkflows } from './workflow-parts.ts';

export interface DeploymentHouseParts {
  readonly config: Config;
  readonly stores: Stores;
  readonly telemetry: Telemetry;
  readonly role: ServerRole;
  readonly jobs: JobQueue;
  readonly ledger: LedgerRecorder;
  readonly gateway: Gateway;
  /** What workflows bring documents into and look things up in. */
  readonly knowledge: ServerDeps['knowledge'];
}

export interface HouseDeployments {
  readonly desks: TenantDesks;
  readonly repairs: readonly RegisteredRepair[];
  readonly retention: readonly RetentionRule[];
  /** Takes executions, in a process that stays and may. Call it when everything else is ready. */
  work(): Promise<void>;
}

/** An execution whose job is gone is noticed after this. */
const settleEveryMs = 10_000;

export async function startDeployments(
  parts: DeploymentHouseParts,
  closing: AsyncDisposableStack,
): Promise<HouseDeployments> {
  const { config, stores, telemetry, role, jobs, ledger } = parts;
  const { events, redactor, log } = telemetry;
  const store = new PostgresExecutionStore(stores.database);
  const workflows = createWorkflows(parts, closing);
  const tenants = await startTenants(parts, workflows, closing);
  // Of this process: a repair that another server asked for may run where Redis is still away, and leave the row open.
  const returnKey = systemIds.uuid();
  // Admission needs executions, and they need admission: what is called later is looked up later.
  let executions: OpenExecutions | undefined;
  const admission = await startAdmission(
    {
      config,
      stores,
      telemetry,
      role,
      ledger,
      executions: store,
      endOverdue: async ({ executionId }) => executions?.endOverdue(executionId),
      onRedisBack: (kind) => requestRepairs(jobs, [kind], returnKey),
    },
    closing,
  );
  const transport = createWebhookTransport(config.deployments.allowPrivateWebhooks);
  closing.defer(() => transport.close());
  const opened = await openExecutions({
    store,
    organizations: tenants.organizations,
    deployments: tenants.deployments,
    workflows,
    slots: admission.controller,
    freeSlot: admission.releaseSlotOf,
    jobs,
    ledger,
    transport,
    clock: systemClock,
    ids: systemIds,
    events,
    log,
    redact: (text) => redactor.text(text),
    options: config.deployments,
    longestWaitSeconds: config.admission.maxWaitSeconds,
    longestHours: config.admission.ttlHours,
  });
  executions = opened;
  closing.defer(() => opened.close());
  // Before everything that executions need is closed. Asked again later it is the same stop.
  closing.defer(() => jobs.stop(config.jobs.drainSeconds * 1_000));
  return {
    desks: {
      organizations: tenants.organizations,
      keys: tenants.keys,
      deployments: tenants.deployments,
      door: opened.door,
      executions: opened.desk,
      limits: admission.limits,
      alerts: admission.alerts,
      waiting: () => admission.controller.queued,
    },
    repairs: [admission.repair, ...opened.repairs],
    retention: executionRetentionRules(store, config.retention),
    work: async () => {
      if (role === 'command' || !admission.takesExecutions) return;
      await opened.work();
      const settle = () =>
        opened
          .settle()
          .catch((error: unknown) =>
            log.warn('Executions could not be looked at.', { cause: kindOf(error) }),
          );
      closing.defer(every(systemClock, settleEveryMs, settle));
    },
  };
}

async function startTenants(
  { config, stores: { database }, telemetry, role }: DeploymentHouseParts,
  workflows: Parameters<typeof openTenants>[0]['workflows'],
  closing: AsyncDisposableStack,
) {
  const webhookSecret = await ensureWebhookSecret(
    {
      configured: config.deployments.webhookSecret,
      folder: role === 'worker' ? null : config.data.folder,
      isShared: database.capabilities.isShared,
    },
    systemIds,
  );
  if (webhookSecret !== null) telemetry.redactor.add(webhookSecret);
  const tenants = await openTenants({
    clock: systemClock,
    random: systemRandom,
    ids: systemIds,
    events: telemetry.events,
    stores: postgresTenantStores(database),
    workflows,
    longestWaitSeconds: config.admission.maxWaitSeconds,
    webhookSecret,
    isForbiddenHost: config.deployments.allowPrivateWebhooks ? () => false : isPrivateHost,
  });
  closing.defer(() => tenants.close());
  return tenants;
}
