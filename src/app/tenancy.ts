// Composes tenancy: stores, workflows, webhooks and metrics of this process.
import type { Config } from '../config/index.ts';
import type { JobQueue } from '../core/index.ts';
import { systemClock, systemIds, systemRandom } from '../core/index.ts';
import type { Gateway } from '../gateway/index.ts';
import type { ServerDeps } from '../http/index.ts';
import type { LedgerRecorder } from '../ledger/index.ts';
import { requestRepairs } from '../ledger/index.ts';
import { isPrivateHost } from '../platform/http-client/index.ts';
import type { OpenTenancy } from '../tenancy/index.ts';
import { openTenancy } from '../tenancy/index.ts';
import type { ServerRole } from './client/server-file.ts';
import type { Stores } from './stores.ts';
import type { Telemetry } from './telemetry.ts';
import { ensureWebhookSecret } from './webhook-secret.ts';
import { createWebhookTransport } from './webhook-transport.ts';
import { openWorkflows } from './workflows.ts';

export interface TenancyParts {
  readonly config: Config;
  readonly stores: Stores;
  readonly telemetry: Telemetry;
  readonly role: ServerRole;
  readonly jobs: JobQueue;
  readonly ledger: LedgerRecorder;
  readonly gateway: Gateway;
  readonly knowledge: ServerDeps['knowledge'];
}

export async function startTenancy(parts: TenancyParts, closing: AsyncDisposableStack): Promise<OpenTenancy> {
  const { config, stores, telemetry, role, jobs, ledger } = parts;
  const { database, redis } = stores;
  const { events, redactor, log, metrics } = telemetry;
  const workflows = openWorkflows(parts, closing);
  const webhookSecret = await ensureWebhookSecret(
    {
      configured: config.deployments.webhookSecret,
      folder: role === 'worker' ? null : config.data.folder,
      isShared: database.capabilities.isShared,
    },
    systemIds,
  );
  if (webhookSecret !== null) redactor.add(webhookSecret);
  const probe = await openProbe(config);
  closing.defer(() => probe?.close());
  const transport = createWebhookTransport(config.deployments.allowPrivateWebhooks);
  closing.defer(() => transport.close());
  // Of this process: a repair requested by another server may run where Redis is still down, and leave the entry open.
  const repairKey = systemIds.uuid();
  const tenancy = await openTenancy({
    database,
    databaseUrl: config.state.databaseUrl,
    redis,
    probe,
    clock: systemClock,
    random: systemRandom,
    ids: systemIds,
    events,
    log,
    redact: (text) => redactor.text(text),
    jobs,
    ledger,
    transport,
    options: config,
    workflows,
    webhookSecret,
    isForbiddenHost: config.deployments.allowPrivateWebhooks ? () => false : isPrivateHost,
    role: role === 'worker' || role === 'command' ? role : 'server',
    onOutageEnded: (kind) => requestRepairs(jobs, [kind], repairKey),
  });
  closing.defer(() => tenancy.close());
  // Jobs stop before everything that executions need is closed. A later stop is the same one.
  closing.defer(() => jobs.stop(config.jobs.drainSeconds * 1_000));
  for (const gauge of tenancy.admission.gauges) metrics.gauge(gauge);
  return tenancy;
}

/** Loaded only when it is used. */
async function openProbe({ redis }: Config) {
  if (redis.url === null) return undefined;
  const { RedisProbe } = await import('../platform/redis/index.ts');
  return new RedisProbe({ url: redis.url, keyPrefix: redis.keyPrefix });
}
