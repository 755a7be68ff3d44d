// What a support engineer would ask first, answered with a remedy for everything that is not as it should be.
import { join } from 'node:path';
import { systemClock } from '../core/index.ts';
import type { Config } from '../config/index.ts';
import type { DoctorReport } from '../http/index.ts';
import { loadMigrations } from '../platform/postgres/index.ts';
import type { Background } from './background.ts';
import type { Check } from './doctor/checks.ts';
import { machineChecks, makeAll } from './doctor/checks.ts';
import { folderBytes, freeBytes } from './doctor/machine-checks.ts';
import * as store from './doctor/store-checks.ts';
import * as work from './doctor/work-checks.ts';
import { keyRefusedKind } from './gateway-ledger.ts';
import { hearsItself } from './hears-itself.ts';
import type { Readiness } from './readiness.ts';
import type { Stores } from './stores.ts';

export interface Patient {
  readonly config: Config;
  readonly stores: Stores;
  readonly background: Background;
  readonly readiness: Readiness;
}

/** Every check is made, whatever the others find. */
export async function examine(patient: Patient): Promise<DoctorReport> {
  const checks = [...machineChecks(patient.config), ...ofTheStores(patient), ...ofTheWork(patient)];
  return { checks: await makeAll(checks) };
}

function ofTheStores({ config, stores: { database, redis }, readiness }: Patient): readonly Check[] {
  const { kind, isShared, vector, trigram } = database.capabilities;
  const { folder } = config.data;
  const onDisk = async () => ({
    files: await folderBytes(join(folder, 'state')),
    free: await freeBytes(folder),
  });
  const dependency = async (name: string) => store.dependency(await readiness.report(), name);
  return [
    ['state store', () => dependency('state store')],
    ['migrations', async () => store.migrations(database, await loadMigrations())],
    ['database size', async () => store.databaseSize(database, kind === 'embedded' ? await onDisk() : null)],
    ['connections', () => store.connections(database)],
    ['vector search', () => store.capability(vector)],
    ['trigram search', () => store.capability(trigram)],
    ['notifications', async () => store.notifications(isShared, !isShared || (await hearsItself(database)))],
    ['redis', () => dependency('redis')],
    ['redis memory', () => store.redisMemory(redis)],
    ['clock', () => store.clock(database, redis, () => systemClock.now())],
  ];
}

function ofTheWork({ background }: Patient): readonly Check[] {
  const { gateway, knowledge, jobs, ledgerStore, repairs, tenants } = background;
  const active = gateway.models.list({
    activeOnly: true,
    availableOnly: false,
    configuredOnly: false,
    includeRecent: false,
    windowDays: 7,
  });
  const refused = () => ledgerStore.list({ state: 'open', kind: keyRefusedKind, limit: 100 });
  // Two checks wait for it; what it fails with is their finding.
  active.catch(() => undefined);
  return [
    ['models', async () => work.models(await active)],
    ['model keys', async () => work.modelKeys(await active, await refused())],
    ['vectors', () => work.vectors(knowledge.embedders)],
    ['graph', async () => work.graph(await knowledge.desks.graph.status())],
    ['jobs', () => work.jobs(jobs, systemClock.now())],
    ['ledger', () => work.ledger(ledgerStore, repairs)],
    ['alerts', () => work.alerts(tenants.alerts)],
  ];
}
