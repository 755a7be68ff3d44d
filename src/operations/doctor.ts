// `headworks doctor`: checks of the machine, the stores and the domains, each with a remedy for what is wrong.
import type { Config } from '../config/index.ts';
import { version } from '../config/version.ts';
import type { JobQueue } from '../core/index.ts';
import { HeadworksError, systemClock } from '../core/index.ts';
import type { ModelView } from '../gateway/index.ts';
import type { GraphService } from '../knowledge/index.ts';
import type { LedgerEntry, LedgerStore, RepairRegistry } from '../ledger/index.ts';
import { stateFolder } from '../platform/data-folder/files.ts';
import type { Database } from '../platform/postgres/index.ts';
import { loadMigrations } from '../platform/postgres/index.ts';
import { checkNotifyRoundTrip } from '../platform/postgres/change-feed.ts';
import type { RedisConnection } from '../platform/redis/connection.ts';
import type { Check, DoctorReport, Finding } from './checks/check.ts';
import { notConfigured, ok, problem, runChecks } from './checks/check.ts';
import type { AlertStatus, EmbeddingStatus } from './checks/domains.ts';
import * as domains from './checks/domains.ts';
import * as machine from './checks/machine.ts';
import * as stores from './checks/stores.ts';
import type { Readiness } from './readiness.ts';

/** What the checks read. One implementation: the running server; tests replace parts of it. */
export interface DoctorDeps {
  readonly config: Config;
  readonly database: Database;
  readonly redis: RedisConnection | null;
  readonly readiness: Readiness;
  readonly jobs: Pick<JobQueue, 'counts' | 'list'>;
  readonly ledger: Pick<LedgerStore, 'counts'>;
  readonly repairs: Pick<RepairRegistry, 'get'>;
  readonly embedding: EmbeddingStatus;
  readonly graph: Pick<GraphService, 'status'>;
  /** The enabled models. */
  models(): Promise<readonly ModelView[]>;
  /** Open ledger rows of keys that a provider rejects. */
  rejectedKeys(): Promise<readonly LedgerEntry[]>;
  alerts(): Promise<readonly AlertStatus[]>;
}

/** Runs every check, whatever the others find. */
export async function runDoctor(deps: DoctorDeps): Promise<DoctorReport> {
  return {
    checks: await runChecks([...machineChecks(deps.config), ...storeChecks(deps), ...domainChecks(deps)]),
  };
}

/** Checks that need no store. */
function machineChecks(config: Config): readonly Check[] {
  const { folder } = config.data;
  const { node, sqlite } = process.versions;
  const platform = `${process.platform} ${process.arch}`;
  return [
    ['version', () => machine.versions({ headworks: version, node, sqlite, platform })],
    ['address', () => machine.address(config.server)],
    ['data folder', () => machine.dataFolder(folder)],
    ['folder rights', () => machine.folderRights(folder)],
    ['admin token', () => machine.adminToken(config)],
    ['open files', async () => machine.openFiles(await machine.readLimits())],
    ['settings', () => machine.settings(config)],
  ];
}

function storeChecks({ config, database, redis, readiness }: DoctorDeps): readonly Check[] {
  const { kind, isShared, vector, trigram } = database.capabilities;
  const { folder } = config.data;
  const onDisk = async () => ({
    files: await machine.folderBytes(stateFolder(folder)),
    free: await machine.freeBytes(folder),
  });
  const dependency = async (name: string) => stores.dependency(await readiness.report(), name);
  return [
    ['state store', () => dependency('state store')],
    ['migrations', async () => stores.migrations(database, await loadMigrations())],
    ['database size', async () => stores.databaseSize(database, kind === 'embedded' ? await onDisk() : null)],
    ['connections', () => stores.connections(database)],
    ['vector search', () => stores.capability(vector)],
    ['trigram search', () => stores.capability(trigram)],
    [
      'notifications',
      async () => stores.notifications(isShared, !isShared || (await checkNotifyRoundTrip(database))),
    ],
    ['redis', () => dependency('redis')],
    ['redis memory', () => stores.redisMemory(redis)],
    ['clock', () => stores.clock(database, redis, () => systemClock.now())],
  ];
}

function domainChecks(deps: DoctorDeps): readonly Check[] {
  const models = deps.models();
  // Two checks await it and report its failure.
  models.catch(() => undefined);
  return [
    ['models', async () => domains.models(await models)],
    ['model keys', async () => domains.modelKeys(await models, await deps.rejectedKeys())],
    ['vectors', () => domains.vectors(deps.embedding)],
    ['graph', async () => domains.graph(await deps.graph.status())],
    ['jobs', () => domains.jobs(deps.jobs, systemClock.now())],
    ['ledger', () => domains.ledger(deps.ledger, deps.repairs)],
    ['alerts', async () => domains.alerts(await deps.alerts())],
  ];
}

/** Shorter than the time limit of a check, so that the finding is the store's own error. */
const connectTimeoutMs = 2_000;

const remedy = 'Follow the message; "headworks config" shows what is configured and where.';

/** Without a server. `failure`: why there is none; a store that it names is not tried again. Writes nothing. */
export async function runOfflineDoctor(
  config: Config,
  failure: HeadworksError | null,
): Promise<DoctorReport> {
  const failureOf = (prefix: string) => (failure?.code.startsWith(prefix) ? failure : null);
  return {
    checks: await runChecks([
      ...machineChecks(config),
      ['state store', () => connectFinding(failureOf('STATE_'), () => connectDatabase(config))],
      ['redis', () => connectFinding(failureOf('REDIS_'), () => connectToRedis(config))],
    ]),
  };
}

async function connectFinding(
  known: HeadworksError | null,
  connect: () => Promise<Finding>,
): Promise<Finding> {
  if (known) return problem(known.message, remedy);
  try {
    return await connect();
  } catch (error) {
    if (!(error instanceof HeadworksError)) throw error;
    return problem(error.message, remedy);
  }
}

async function connectDatabase({ state, data }: Config): Promise<Finding> {
  if (state.databaseUrl === null)
    return ok(`Embedded, in ${stateFolder(data.folder)}; not opened by this check.`);
  const { openServerDatabase } = await import('../platform/postgres/server/server-store.ts');
  const database = await openServerDatabase({
    url: state.databaseUrl,
    schema: state.schema,
    clock: systemClock,
    poolSize: 1,
    statementTimeoutMs: connectTimeoutMs,
    connectTimeoutMs,
  });
  try {
    return ok(`Postgres ${database.capabilities.version}, ${database.capabilities.kind} responds.`);
  } finally {
    await database.close();
  }
}

async function connectToRedis({ redis }: Config): Promise<Finding> {
  if (redis.url === null) return notConfigured('Limits are counted in one process.', stores.redisRemedy);
  const { connectRedis } = await import('../platform/redis/connection.ts');
  const connection = await connectRedis({
    url: redis.url,
    connectTimeoutMs,
    commandTimeoutMs: connectTimeoutMs,
  });
  await connection.close();
  return ok(`Redis at ${connection.address} responds.`);
}
