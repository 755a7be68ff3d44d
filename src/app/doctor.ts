// What a support engineer would ask first, answered with a remedy for everything that is not as it should be.
import { messageOf, systemClock } from '../core/index.ts';
import type { Config } from '../config/index.ts';
import type { DoctorCheck, DoctorReport } from '../http/index.ts';
import { loadMigrations } from '../platform/postgres/index.ts';
import type { Background } from './background.ts';
import type { Finding } from './doctor/findings.ts';
import { problem } from './doctor/findings.ts';
import * as machine from './doctor/machine-checks.ts';
import * as store from './doctor/store-checks.ts';
import * as work from './doctor/work-checks.ts';
import { hearsItself } from './hears-itself.ts';
import type { Readiness } from './readiness.ts';
import type { Stores } from './stores.ts';
import { version } from './version.ts';

export interface Patient {
  readonly config: Config;
  readonly stores: Stores;
  readonly background: Background;
  readonly readiness: Readiness;
}

type Check = readonly [name: string, make: () => Finding | Promise<Finding>];

/** Every check is made, whatever the others find; one that fails itself is a finding, not a crash. */
export async function examine(patient: Patient): Promise<DoctorReport> {
  const checks = [...ofTheMachine(patient), ...ofTheStores(patient), ...ofTheWork(patient)];
  return { checks: await Promise.all(checks.map(made)) };
}

async function made([name, make]: Check): Promise<DoctorCheck> {
  try {
    return { name, ...(await make()) };
  } catch (error) {
    return {
      name,
      ...problem(`The check itself failed: ${messageOf(error)}`, 'See the check of the state store.'),
    };
  }
}

function ofTheMachine({ config }: Patient): readonly Check[] {
  const { folder } = config.data;
  const { node, sqlite } = process.versions;
  const platform = `${process.platform} ${process.arch}`;
  return [
    ['version', () => machine.versions({ headworks: version, node, sqlite, platform })],
    ['address', () => machine.address(config.server)],
    ['data folder', async () => machine.dataFolder(folder, await machine.freeBytes(folder))],
    ['folder rights', () => machine.folderRights(folder)],
    ['admin token', () => machine.adminToken(config)],
    ['open files', async () => machine.openFiles(await machine.readLimits())],
    ['settings', () => machine.settings(config)],
  ];
}

function ofTheStores({ config, stores: { database, redis }, readiness }: Patient): readonly Check[] {
  const { kind, isShared, vector, trigram } = database.capabilities;
  const free = () => (kind === 'embedded' ? machine.freeBytes(config.data.folder) : null);
  const dependency = async (name: string) => store.dependency(await readiness.report(), name);
  return [
    ['state store', () => dependency('state store')],
    [
      'migrations',
      async () => store.migrations(database, await loadMigrations(new URL('./migrations/', import.meta.url))),
    ],
    ['database size', async () => store.databaseSize(database, await free())],
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
  // Two checks wait for it; what it fails with is their finding.
  active.catch(() => undefined);
  return [
    ['models', async () => work.models(await active)],
    ['model keys', async () => work.modelKeys(await active)],
    ['vectors', () => work.vectors(knowledge.embedders)],
    ['graph', async () => work.graph(await knowledge.desks.graph.status())],
    ['jobs', () => work.jobs(jobs, systemClock.now())],
    ['ledger', () => work.ledger(ledgerStore, repairs)],
    ['alerts', () => work.alerts(tenants.alerts)],
  ];
}
