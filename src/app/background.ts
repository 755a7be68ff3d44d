// Work that goes on beside requests: jobs, repairs, retention.
import type { Config, Environment } from '../config/index.ts';
import { secretsOf, serverSecretVariables } from '../config/index.ts';
import type { JobQueue } from '../core/index.ts';
import { noTracer, systemClock, systemIds, systemRandom } from '../core/index.ts';
import type { Extraction } from '../extraction/index.ts';
import { openExtraction } from '../extraction/index.ts';
import type { Gateway } from '../gateway/index.ts';
import type { ServerDeps, TenantServices } from '../http/index.ts';
import {
  BatchingLedgerRecorder,
  RepairRegistry,
  RepairRunner,
  dueRepairs,
  ledgerRepairHandler,
  ledgerRepairJob,
  openRowsGauge,
  repairCron,
} from '../ledger/index.ts';
import { PostgresLedgerStore } from '../ledger/store.ts';
import { AuditTrail } from '../operations/audit.ts';
import {
  coreRetentionRules,
  purgeRepair,
  retentionHandler,
  retentionJob,
  registerRetentionMetrics,
} from '../operations/retention.ts';
import { createJobQueue } from '../platform/jobs/queue.ts';
import { countEvents } from '../platform/telemetry/metrics.ts';
import { traceEvents } from '../platform/telemetry/tracing.ts';
import { openTenancy } from '../tenancy/index.ts';
import { openGateway } from '../gateway/index.ts';
import type { Knowledge } from '../knowledge/index.ts';
import { openKnowledge } from '../knowledge/index.ts';
import { knowledgeSearchOf } from './knowledge-search.ts';
import type { ServerRole } from './client/server-file.ts';
import type { Stores } from './stores.ts';
import type { Telemetry } from './telemetry.ts';
import { documentIntakeOf, languageModelOf } from './workflows.ts';

export interface Background {
  readonly jobs: JobQueue;
  readonly audit: AuditTrail;
  readonly ledgerStore: PostgresLedgerStore;
  readonly recorder: BatchingLedgerRecorder;
  readonly repairs: RepairRegistry;
  readonly runner: RepairRunner;
  readonly extraction: Extraction;
  readonly gateway: Gateway;
  readonly tenants: TenantServices;
  readonly knowledge: Knowledge;
  readonly alerts: ServerDeps['alerts'];
}

/**
 * Starts taking jobs. Schedules belong to servers and workers that stay: a command that is a server for a second
 * would only start things that it cannot finish.
 */
export async function startBackground(
  config: Config,
  stores: Stores,
  telemetry: Telemetry,
  { role, env }: { readonly role: ServerRole; readonly env: Environment },
  closing: AsyncDisposableStack,
): Promise<Background> {
  const { database } = stores;
  const { redactor, events, metrics } = telemetry;
  const withSchedules = role !== 'command';
  const parts = { clock: systemClock, random: systemRandom, redactor, events };
  const ledgerStore = new PostgresLedgerStore(database, systemIds);
  const recorder = new BatchingLedgerRecorder({ ...parts, store: ledgerStore, options: config.ledger });
  closing.defer(() => recorder.close());
  const audit = new AuditTrail(database, systemIds, redactor);

  const jobs = await createJobQueue({
    database,
    ...parts,
    ids: systemIds,
    redact: (text) => redactor.text(text),
    runSchedules: withSchedules,
    wrapAttempt: (name, id, work) =>
      telemetry.tracer.within(`job ${name}`, { 'headworks.job': name, 'headworks.job_id': id }, work),
  });
  closing.defer(() => jobs.stop(config.jobs.drainSeconds * 1000));

  const gateway = await openGateway({
    ...parts,
    ids: systemIds,
    stores,
    options: config.gateway,
    env,
    ledger: recorder,
    probesModels: withSchedules,
  });
  closing.defer(() => gateway.close());
  const knowledge = await openKnowledge({
    database,
    jobs,
    ledger: recorder,
    clock: systemClock,
    ids: systemIds,
    log: telemetry.log,
    metrics,
    events,
    options: config.knowledge,
    gateway,
    model: {
      ...languageModelOf(gateway),
      isConfigured: () => gateway.models.listCallable().some(({ capabilities }) => !capabilities.embeddings),
    },
  });
  closing.defer(() => knowledge.close());
  const tenancy = await openTenancy({
    ...stores,
    ...telemetry,
    clock: systemClock,
    random: systemRandom,
    ids: systemIds,
    jobs,
    ledger: recorder,
    options: config,
    role,
    model: languageModelOf(gateway),
    search: knowledgeSearchOf(knowledge),
    ingest: documentIntakeOf(knowledge),
  });
  closing.defer(() => tenancy.close());
  // Jobs stop before everything that executions need is closed. A later stop is the same one.
  closing.defer(() => jobs.stop(config.jobs.drainSeconds * 1000));
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
      if (telemetry.tracer !== noTracer) traceEvents(observed, telemetry.tracer);
    },
    closing,
  });
  const rules = [
    ...coreRetentionRules({ audit, ledger: ledgerStore, jobs }, config.retention),
    { ...extraction.retention, keepDays: config.retention.extractionRunsDays },
    ...gateway.retentionRules(config.retention),
    ...tenancy.retention,
  ];
  registerRetentionMetrics(metrics, rules);
  const repairs = new RepairRegistry();
  repairs.register(purgeRepair({ ...parts, rules }));
  for (const repair of [...gateway.repairs, ...tenancy.repairs, ...knowledge.repairs])
    repairs.register(repair);
  const runner = new RepairRunner({
    ...parts,
    store: ledgerStore,
    registry: repairs,
    options: config.ledger,
  });

  await jobs.define([ledgerRepairJob, retentionJob]);
  await jobs.work(
    ledgerRepairJob,
    ledgerRepairHandler(runner, () => knowledge.resetCooldowns()),
  );
  await jobs.work(retentionJob, retentionHandler({ ...parts, ledger: recorder, rules }));
  if (withSchedules) await schedule(config, jobs);

  await tenancy.work();
  await knowledge.start({ isLongRunning: withSchedules, scansFolders: role === 'serve' || role === 'demo' });

  metrics.gauge(openRowsGauge(ledgerStore));
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
    ledgerStore,
    recorder,
    repairs,
    runner,
    extraction,
    gateway,
    tenants: tenancy,
    knowledge,
    alerts: () => [...tenancy.alerts.list(), ...knowledge.alerts.list()],
  };
}

async function schedule(config: Config, jobs: JobQueue): Promise<void> {
  await jobs.schedule(retentionJob, config.retention.cron, null);
  const cron = repairCron(config.ledger.repairIntervalMinutes);
  if (cron === null) await jobs.unschedule(ledgerRepairJob);
  else await jobs.schedule(ledgerRepairJob, cron, dueRepairs);
}
