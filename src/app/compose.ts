// Opens the stores and every domain. `closing` receives what is opened, and is disposed in reverse order.
import type { Config, Environment } from '../config/index.ts';
import { secretsOf, serverSecretVariables } from '../config/index.ts';
import type { JobQueue } from '../core/index.ts';
import { noTracer, systemClock, systemIds, systemRandom } from '../core/index.ts';
import type { Extraction } from '../extraction/index.ts';
import { openExtraction } from '../extraction/index.ts';
import type { Gateway } from '../gateway/index.ts';
import { modelFailingKind, openGateway } from '../gateway/index.ts';
import type { ServerDeps } from '../http/index.ts';
import type { Knowledge } from '../knowledge/index.ts';
import { openKnowledge } from '../knowledge/index.ts';
import type { LedgerRecorder } from '../ledger/index.ts';
import {
  BatchingLedgerRecorder,
  PostgresLedgerStore,
  RepairRegistry,
  RepairRunner,
  dueRepairs,
  ledgerRepairHandler,
  ledgerRepairJob,
  openRowsGauge,
  repairCron,
  requestRepairs,
} from '../ledger/index.ts';
import { AuditTrail } from '../operations/audit.ts';
import {
  coreRetentionRules,
  purgeRepair,
  registerRetentionMetrics,
  retentionHandler,
  retentionJob,
} from '../operations/retention.ts';
import { recordShortages, shortageRepair } from '../operations/readiness.ts';
import { stateFolder } from '../platform/data-folder/files.ts';
import { createJobQueue } from '../platform/jobs/queue.ts';
import type { Database } from '../platform/postgres/index.ts';
import { loadMigrations, migrate } from '../platform/postgres/index.ts';
import type { RedisConnection } from '../platform/redis/connection.ts';
import { countEvents } from '../platform/telemetry/metrics.ts';
import { traceEvents } from '../platform/telemetry/tracing.ts';
import { openTenancy } from '../tenancy/index.ts';
import type { ServerRole } from './client/local-server.ts';
import type { Telemetry } from './telemetry.ts';
import { documentIntakeOf, knowledgeSearchOf, languageModelOf } from './workflow-services.ts';

export interface Stores {
  readonly database: Database;
  readonly redis: RedisConnection | null;
}

/** Opens the configured stores and migrates the database. A failure half-way leaves nothing open. */
export async function openStores(
  config: Config,
  { log, events }: Telemetry,
  closing: AsyncDisposableStack,
): Promise<Stores> {
  const [state, redis] = await Promise.allSettled([openDatabase(config, log), openRedis(config)]);
  if (state.status === 'fulfilled') closing.defer(() => state.value.close());
  if (redis.status === 'fulfilled') closing.defer(() => redis.value?.close());
  if (state.status === 'rejected') throw state.reason;
  if (redis.status === 'rejected') throw redis.reason;
  await migrate(state.value, await loadMigrations(), { clock: systemClock });

  const report = (dependency: string) => (to: 'up' | 'down' | 'closed') => {
    if (to !== 'closed') events.emit('dependency:changed', { dependency, state: to });
  };
  state.value.onStateChange(report('state store'));
  redis.value?.onStateChange(report('redis'));
  if (redis.value?.state === 'down') report('redis')('down');
  return { database: state.value, redis: redis.value };
}

/** Each adapter is imported only when it is used: PGlite alone takes 0.1 s. */
async function openDatabase({ state, data, knowledge }: Config, log: Telemetry['log']): Promise<Database> {
  const common = { schema: state.schema, clock: systemClock, log };
  if (state.databaseUrl === null) {
    const { openEmbeddedDatabase } = await import('../platform/postgres/embedded/embedded-store.ts');
    return openEmbeddedDatabase({
      ...common,
      folder: stateFolder(data.folder),
      withAge: knowledge.graphBackend === 'age',
    });
  }
  const { openServerDatabase } = await import('../platform/postgres/server/server-store.ts');
  return openServerDatabase({
    ...common,
    url: state.databaseUrl,
    poolSize: state.poolSize,
    statementTimeoutMs: state.statementTimeoutSeconds * 1000,
  });
}

/** An unreachable Redis does not prevent the start; one that rejects the connection does. */
async function openRedis({ redis }: Config): Promise<RedisConnection | null> {
  if (redis.url === null) return null;
  const { connectRedis } = await import('../platform/redis/connection.ts');
  return connectRedis({
    url: redis.url,
    keyPrefix: redis.keyPrefix,
    commandTimeoutMs: redis.commandTimeoutMs,
    whenUnreachable: 'stay-down',
  });
}

export interface Domains {
  readonly jobs: JobQueue;
  readonly audit: AuditTrail;
  readonly ledger: ServerDeps['ledger'] & {
    readonly repairs: RepairRegistry;
    readonly recorder: LedgerRecorder;
  };
  readonly extraction: Extraction;
  readonly gateway: Gateway;
  readonly tenants: ServerDeps['tenants'];
  readonly knowledge: Knowledge;
}

/**
 * Opens every domain and starts its workers. Schedules run in long-running processes only: a command that is the server
 * for a moment could not finish what they start.
 */
export async function openDomains(
  config: Config,
  stores: Stores,
  telemetry: Telemetry,
  {
    role,
    env,
    isServed = false,
  }: { readonly role: ServerRole; readonly env: Environment; readonly isServed?: boolean },
  closing: AsyncDisposableStack,
): Promise<Domains> {
  const { database } = stores;
  const { redactor, events, metrics, tracer } = telemetry;
  const isLongRunning = role !== 'command';
  const shared = { clock: systemClock, random: systemRandom, ids: systemIds, redactor, events };
  const store = new PostgresLedgerStore(database, systemIds);
  const recorder = new BatchingLedgerRecorder({ ...shared, store, options: config.ledger });
  closing.defer(() => recorder.close());
  const audit = new AuditTrail(database, systemIds, redactor);

  const jobs = await createJobQueue({
    ...shared,
    database,
    redact: (text) => redactor.text(text),
    runSchedules: isLongRunning,
    wrapAttempt: (name, id, work) =>
      tracer.span(`job ${name}`, { 'headworks.job': name, 'headworks.job_id': id }, work),
  });
  const stopJobs = () => jobs.stop(config.jobs.drainSeconds * 1000);
  closing.defer(stopJobs);

  const gateway = await openGateway({
    ...shared,
    stores,
    options: config.gateway,
    env,
    tracer,
    ledger: recorder,
    probesModels: isLongRunning,
    isServed,
    onModelRecovered: () => requestRepairs(jobs, [modelFailingKind]),
  });
  closing.defer(() => gateway.close());
  for (const gauge of gateway.gauges) metrics.gauge(gauge);
  const model = languageModelOf(gateway);
  const knowledge = await openKnowledge({
    ...shared,
    database,
    jobs,
    ledger: recorder,
    log: telemetry.log,
    metrics,
    options: config.knowledge,
    gateway,
    model: {
      ...model,
      isConfigured: () => gateway.models.listCallable().some(({ capabilities }) => !capabilities.embeddings),
    },
  });
  closing.defer(() => knowledge.close());
  const tenancy = await openTenancy({
    ...stores,
    ...telemetry,
    ...shared,
    jobs,
    ledger: recorder,
    options: config,
    role,
    model,
    search: knowledgeSearchOf(knowledge),
    ingest: documentIntakeOf(knowledge),
  });
  closing.defer(() => tenancy.close());
  // Jobs stop before everything that executions need is closed. A later stop is the same one.
  closing.defer(stopJobs);
  const extraction = await openExtraction({
    ...telemetry,
    settings: config,
    secrets: secretsOf(config),
    database,
    jobs,
    env,
    serverSecretVariables: serverSecretVariables(),
    // A worker has no data folder for vaults, and a command that acts as a server ends too soon.
    runsJobs: role === 'serve' || role === 'demo',
    observe: (observed) => {
      countEvents(observed, metrics);
      if (tracer !== noTracer) traceEvents(observed, tracer);
    },
    closing,
  });

  const rules = [
    ...coreRetentionRules({ audit, ledger: store, jobs }, config.retention),
    { ...extraction.retention, keepDays: config.retention.extractionRunsDays },
    ...gateway.retentionRules(config.retention),
    ...tenancy.retention,
  ];
  registerRetentionMetrics(metrics, rules);
  const repairs = new RepairRegistry();
  for (const repair of [
    shortageRepair({ database }),
    purgeRepair({ ...shared, rules }),
    ...gateway.repairs,
    ...tenancy.repairs,
    ...knowledge.repairs,
  ])
    repairs.register(repair);
  closing.defer(recordShortages({ database, ledger: recorder, jobs }));
  const runner = new RepairRunner({ ...shared, store, registry: repairs, options: config.ledger });

  await jobs.define([ledgerRepairJob, retentionJob]);
  await jobs.work(
    ledgerRepairJob,
    ledgerRepairHandler(runner, () => knowledge.resetCooldowns()),
  );
  await jobs.work(retentionJob, retentionHandler({ ...shared, ledger: recorder, rules }));
  if (isLongRunning) await schedule(config, jobs);
  await tenancy.work();
  await knowledge.start({ isLongRunning, scansFolders: role === 'serve' || role === 'demo' });

  metrics.gauge(openRowsGauge(store));
  metrics.gauge({
    name: 'headworks_jobs',
    help: 'Background jobs, by kind and state.',
    labels: ['name', 'state'],
    collect: async () =>
      (await jobs.counts()).map(({ name, state, count }) => ({ labels: { name, state }, value: count })),
  });
  return {
    jobs,
    audit,
    ledger: { store, recorder, repairs, runner },
    extraction,
    gateway,
    tenants: tenancy,
    knowledge,
  };
}

async function schedule(config: Config, jobs: JobQueue): Promise<void> {
  await jobs.schedule(retentionJob, config.retention.cron, null);
  const cron = repairCron(config.ledger.repairIntervalMinutes);
  if (cron === null) await jobs.unschedule(ledgerRepairJob);
  else await jobs.schedule(ledgerRepairJob, cron, dueRepairs);
}
