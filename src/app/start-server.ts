// Composition root: opens the stores, plugs the parts together, listens, and stops it all in reverse order.
import type { Config } from '../config/index.ts';
import { processEnvironment } from '../config/index.ts';
import { version } from '../config/version.ts';
import type { Log } from '../core/index.ts';
import { CoreError, systemClock, systemIds } from '../core/index.ts';
import { buildServer, createSessions, createTokenCheck, drain } from '../http/index.ts';
import { Activity } from '../operations/activity.ts';
import { BackupService } from '../operations/backup/backup-service.ts';
import { removeStaleScratch } from '../operations/backup/disk-space.ts';
import { holdWorkerLock } from '../operations/backup/open-target.ts';
import { DashboardLogins, openDashboardFiles } from '../operations/dashboard.ts';
import type { DoctorDeps } from '../operations/doctor.ts';
import { runDoctor } from '../operations/doctor.ts';
import { Readiness } from '../operations/readiness.ts';
import type { AdminToken } from './admin-token.ts';
import { ensureAdminToken, markAdminTokenSeen } from './admin-token.ts';
import type { Background } from './background.ts';
import { startBackground } from './background.ts';
import { keyRefusedKind } from './gateway-ledger.ts';
import { registerHouseGauges } from './house-gauges.ts';
import { httpDependencies } from './http-dependencies.ts';
import { listen } from './listen.ts';
import { openMcp } from './mcp.ts';
import { Presence } from './presence.ts';
import { removeServerFile, writeServerFile } from './server-file.ts';
import type { ServerRole } from './server-role.ts';
import type { Stores } from './stores.ts';
import { openStores } from './stores.ts';
import { takeDataFolder } from './take-data-folder.ts';
import { createTelemetry } from './telemetry.ts';
import { openTracer, tracingWarnings } from './tracing.ts';

export interface StartServerOptions {
  readonly role: ServerRole;
  /** Where registered sources find their secrets. Default: the environment of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** The command, as a person would recognise it. Default `headworks ROLE`. */
  readonly purpose?: string;
  /** Told, in whole sentences, what takes a while. */
  readonly announce?: (sentence: string) => void;
  /** Gives up starting when it aborts. A server that has started is stopped with `stop()`. */
  readonly signal?: AbortSignal;
}

export interface RunningServer {
  readonly url: string;
  readonly adminToken: string;
  /** The token if it was made just now: print it, it is not shown again. */
  readonly newAdminToken: string | null;
  readonly presence: Presence;
  /** Resolves when everything is closed, whoever asked for it. */
  readonly stopped: Promise<void>;
  /** Finishes what runs, within the configured times, and closes everything. Safe to call twice. */
  stop(): Promise<void>;
}

/** Fails with one line of cause and remedy, and then has left nothing open. */
export async function startServer(config: Config, options: StartServerOptions): Promise<RunningServer> {
  const closing = new AsyncDisposableStack();
  try {
    return await start(config, options, closing);
  } catch (error) {
    await closing.disposeAsync();
    throw error;
  }
}

async function start(
  config: Config,
  options: StartServerOptions,
  closing: AsyncDisposableStack,
): Promise<RunningServer> {
  const startedAt = systemClock.monotonic();
  const { role, signal } = options;
  checkRole(config, role);
  let log: Log | undefined;
  const tracer = await openTracer(config, closing, () => log);
  const telemetry = createTelemetry(config, role, tracer);
  ({ log } = telemetry);
  for (const warning of tracingWarnings(config)) log.warn(warning);
  const token = await prepareFolder(config, options, closing);
  telemetry.redactor.add(token.token);
  signal?.throwIfAborted();
  if (role === 'worker') await holdWorkerLock(config, closing);
  const stores = await openStores(config, telemetry, closing);
  signal?.throwIfAborted();
  const background = await startBackground(
    config,
    stores,
    telemetry,
    { role, env: options.env ?? processEnvironment().env },
    closing,
  );
  const activity = new Activity(systemClock);
  closing.defer(telemetry.events.listen(activity.take));
  const readiness = new Readiness(stores);
  const presence = new Presence();
  registerHouseGauges({ metrics: telemetry.metrics, role, presence, readiness });
  const instance = systemIds.uuid();
  const stopping = Promise.withResolvers<void>();

  let url = '';
  const mcp = openMcp(telemetry, () => url);
  closing.defer(() => mcp.close());
  const server = await buildServer(
    httpDependencies({
      config,
      telemetry,
      background,
      instance,
      isAdminToken: createTokenCheck(token.token),
      readiness: () => readiness.report(),
      doctor: () => runDoctor(doctorDeps(config, stores, background, readiness)),
      backup: new BackupService({
        config,
        database: stores.database,
        redactor: telemetry.redactor,
        isHolder: role !== 'worker',
      }),
      activity,
      dashboard: {
        files: await openDashboardFiles(),
        logins: new DashboardLogins(stores.database, systemClock, systemIds),
        sessions: createSessions(token.token, systemClock, systemIds),
      },
      mcp,
      presence: { attach: () => presence.attach(), requestHandover: () => role === 'command' && handOver() },
    }),
  );
  closing.defer(async () => {
    await drain(server, config.server.drainSeconds * 1000);
  });
  url = await listen(server, config.server.host, portFor(config, role));
  if (role !== 'worker') {
    await writeServerFile(config.data.folder, { pid: process.pid, url, instance, role, version });
    closing.defer(() => removeServerFile(config.data.folder, instance));
  }
  closing.defer(() => presence.close());
  const isToBePrinted = token.isUnseen && (role === 'serve' || role === 'demo');
  if (isToBePrinted) await markAdminTokenSeen(config.data.folder);
  telemetry.events.emit('server:started', {
    role,
    url,
    startedInMs: Math.round(systemClock.monotonic() - startedAt),
  });

  let stopped: Promise<void> | undefined;
  const stop = (reason: string): Promise<void> => {
    stopped ??= (async () => {
      telemetry.events.emit('server:stopping', { reason });
      await closing.disposeAsync().finally(stopping.resolve);
      telemetry.events.emit('server:stopped', { reason });
    })();
    return stopped;
  };
  /** Answers first, then goes: the one who asks waits for the folder. */
  function handOver(): boolean {
    systemClock.after(0, () => void stop('handover'));
    return true;
  }
  return {
    url,
    adminToken: token.token,
    newAdminToken: isToBePrinted ? token.token : null,
    presence,
    stopped: stopping.promise,
    stop: () => stop('asked to'),
  };
}

function doctorDeps(
  config: Config,
  stores: Stores,
  { jobs, ledgerStore, repairs, gateway, knowledge, tenants }: Background,
  readiness: Readiness,
): DoctorDeps {
  return {
    config,
    ...stores,
    readiness,
    jobs,
    ledger: ledgerStore,
    repairs,
    embedding: knowledge.embedders,
    graph: knowledge.graph,
    models: () =>
      gateway.models.list({
        activeOnly: true,
        availableOnly: false,
        configuredOnly: false,
        includeRecent: false,
        windowDays: 7,
      }),
    rejectedKeys: () => ledgerStore.list({ state: 'open', kind: keyRefusedKind, limit: 100 }),
    alerts: () => tenants.alerts.list(),
  };
}

/** Without shared stores a worker would find no jobs, and count limits that others count as well. */
function checkRole({ state, redis }: Config, role: ServerRole): void {
  if (role !== 'worker') return;
  const missing = [
    ...(state.databaseUrl === null ? ['state.databaseUrl (DATABASE_URL)'] : []),
    ...(redis.url === null ? ['redis.url (REDIS_URL)'] : []),
  ];
  if (missing.length === 0) return;
  throw new CoreError(
    'CONFIG_INVALID',
    `A worker shares its stores with servers; set ${missing.join(' and ')} to the same as theirs. ` +
      'On one machine "headworks serve" alone does the jobs as well.',
  );
}

/** A worker keeps nothing on its machine; everybody else holds the data folder while they run. */
async function prepareFolder(
  config: Config,
  options: StartServerOptions,
  closing: AsyncDisposableStack,
): Promise<AdminToken> {
  if (options.role === 'worker')
    return { token: config.server.adminToken ?? systemIds.token(32), isUnseen: false };
  const folder = await takeDataFolder(config, options);
  closing.defer(() => folder.release());
  await removeStaleScratch(folder.path);
  return ensureAdminToken(folder.path, config.server.adminToken, systemIds);
}

/** The default port belongs to "headworks serve"; what else runs beside it takes any, unless it was told one. */
function portFor({ server, resolution }: Config, role: ServerRole): number {
  const isDefault = resolution.origins['server.port']?.kind === 'default';
  return role === 'command' || (role === 'worker' && isDefault) ? 0 : server.port;
}
