// Starts a server: opens the stores and domains, listens, and stops everything in reverse order.
import type { Config, Environment } from '../config/index.ts';
import { describeConfig, processEnvironment } from '../config/index.ts';
import { version } from '../config/version.ts';
import type { Log } from '../core/index.ts';
import { CoreError, kindOf, messageOf, systemClock, systemIds } from '../core/index.ts';
import { keyRejectedKind } from '../gateway/index.ts';
import { buildServer, createTokenCheck, DashboardSessions, drain } from '../http/index.ts';
import { Activity } from '../operations/activity.ts';
import { AlertMonitor } from '../operations/alerts/alert-monitor.ts';
import { BackupService } from '../operations/backup/backup-service.ts';
import { removeStaleScratch } from '../operations/backup/disk-space.ts';
import { holdWorkerLock } from '../operations/backup/open-target.ts';
import { DashboardLogins, openDashboardFiles } from '../operations/dashboard.ts';
import type { DoctorDeps } from '../operations/doctor.ts';
import { runDoctor } from '../operations/doctor.ts';
import { Readiness } from '../operations/readiness.ts';
import { monitorEventLoop } from '../platform/telemetry/process-metrics.ts';
import { openTracer, tracingWarnings } from '../platform/telemetry/tracing.ts';
import { acquireDataFolder } from './client/data-folder.ts';
import {
  Presence,
  removeServerFile,
  writeServerFile,
  ensureAdminToken,
  markAdminTokenSeen,
} from './client/local-server.ts';
import type { ServerRole, AdminToken } from './client/local-server.ts';
import type { Domains, Stores } from './compose.ts';
import { openDomains, openStores } from './compose.ts';
import { listen, serverSettings } from './listen.ts';
import { openMcp } from './mcp.ts';
import { GatewayProcesses, processCount } from './processes/gateway-processes.ts';
import type { Telemetry } from './telemetry.ts';
import { createTelemetry, registerProcessMetrics } from './telemetry.ts';

export interface StartServerOptions {
  readonly role: ServerRole;
  /** Environment with the secrets of registered sources. Default: that of this process. */
  readonly env?: Environment;
  /** The command line, shown to other processes that find the folder locked. Default `headworks ROLE`. */
  readonly purpose?: string;
  /** Receives progress messages during the start. */
  readonly announce?: (sentence: string) => void;
  /** Cancels the start. Stop a started server with `stop()`. */
  readonly signal?: AbortSignal;
}

export interface RunningServer {
  readonly url: string;
  readonly adminToken: string;
  /** The token, if it was never printed: print it, it is not shown again. */
  readonly newAdminToken: string | null;
  readonly presence: Presence;
  /** Resolves when everything is closed, for whatever reason. */
  readonly stopped: Promise<void>;
  /** Drains requests and jobs within the configured times and closes everything. Safe to call twice. */
  stop(): Promise<void>;
}

/** Delay between two attempts to start while Postgres is unavailable. */
const startRetryMs = 1_000;

/**
 * Fails with one line of cause and remedy, and leaves nothing open then. A server or worker waits for a Postgres server that
 * is not available yet, as after the boot of a machine.
 */
export async function startServer(config: Config, options: StartServerOptions): Promise<RunningServer> {
  const { announce, signal } = options;
  const { databaseUrl, startTimeoutSeconds } = config.state;
  const waitsUntil =
    databaseUrl === null || options.role === 'command'
      ? Number.NEGATIVE_INFINITY
      : systemClock.monotonic() + startTimeoutSeconds * 1_000;
  for (let attempt = 1; ; attempt++) {
    const closing = new AsyncDisposableStack();
    try {
      return await start(config, options, closing);
    } catch (error) {
      await closing.disposeAsync();
      if (kindOf(error) !== 'STATE_UNAVAILABLE' || systemClock.monotonic() >= waitsUntil) throw error;
      if (attempt === 1)
        announce?.(`Waiting up to ${startTimeoutSeconds} s for Postgres: ${messageOf(error)}`);
      await systemClock.sleep(startRetryMs, signal);
    }
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
  const env = options.env ?? processEnvironment().env;
  const processes = role === 'serve' ? processCount(config) : 1;
  let log: Log | undefined;
  const tracer = await openTracer(config.tracing, version, closing, () => log);
  const telemetry = createTelemetry(config, role, tracer);
  ({ log } = telemetry);
  for (const warning of tracingWarnings(config.tracing)) log.warn(warning);
  const token = await prepareFolder(config, options, closing);
  telemetry.redactor.add(token.token);
  signal?.throwIfAborted();
  if (role === 'worker') await holdWorkerLock(config, closing);
  const stores = await openStores(config, telemetry, closing);
  signal?.throwIfAborted();
  const domains = await openDomains(
    config,
    stores,
    telemetry,
    { role, env, isServed: processes > 1 },
    closing,
  );
  const others =
    processes > 1
      ? new GatewayProcesses({
          clock: systemClock,
          events: telemetry.events,
          count: processes - 1,
          objects: { ...domains.gateway.shared, ledger: domains.ledger.recorder, audit: domains.audit },
          changes: domains.gateway.shared.changes,
        })
      : null;
  const activity = new Activity(systemClock);
  closing.defer(telemetry.events.listen(activity.take, activity.isCounted));
  const alerts = new AlertMonitor({ ...telemetry, clock: systemClock });
  const readiness = new Readiness({ ...stores, alerts: () => alerts.firing() });
  const presence = new Presence();
  registerProcessMetrics({ metrics: telemetry.metrics, role, presence, readiness });
  if (role !== 'command') startAlerts(alerts, telemetry, closing);
  const instance = systemIds.uuid();
  const stopping = Promise.withResolvers<void>();

  let url = '';
  /** Of this process. */
  let ownUrl = '';
  const mcp = openMcp(telemetry, () => ownUrl);
  closing.defer(() => mcp.close());
  const server = await buildServer({
    ...domains,
    ...(others ? { gateway: withLoadOf(others, domains.gateway) } : {}),
    ...telemetry,
    clock: systemClock,
    ids: systemIds,
    liveEvents: telemetry.events,
    version,
    instanceId: instance,
    access: {
      isAdminToken: createTokenCheck(token.token),
      sessions: new DashboardSessions(token.token, systemClock, systemIds),
      gatewayKeys: domains.gateway,
      organizationKeys: domains.tenants.keys,
    },
    ...serverSettings(config),
    configView: () => describeConfig(config),
    readiness: () => readiness.report(),
    doctor: () => runDoctor(doctorDeps(config, stores, domains, readiness, alerts)),
    alerts: () => alerts.list(),
    backup: new BackupService({
      config,
      database: stores.database,
      redactor: telemetry.redactor,
      isHolder: role !== 'worker',
    }),
    extraction: {
      ...domains.extraction,
      callsPerMinuteOf: ({ options: own }) =>
        own.rate_limit_per_minute ?? config.extraction.rateLimitPerMinute,
    },
    activity,
    dashboard: {
      files: await openDashboardFiles(),
      logins: new DashboardLogins(stores.database, systemClock, systemIds),
    },
    mcp: mcp.answer,
    presence: { attach: () => presence.attach(), requestHandover: () => role === 'command' && handOver() },
  });
  const drainMs = config.server.drainSeconds * 1000;
  closing.defer(async () => {
    await Promise.all([drain(server, drainMs), others?.stop(drainMs)]);
    others?.close();
  });
  if (others) {
    ownUrl = await listen(server, '127.0.0.1', 0);
    url = await listen(others.acceptor, config.server.host, portFor(config, role));
    telemetry.metrics.gauge(others.gauge);
    const { uploadTimeoutSeconds } = domains.tenants.starter.uploads;
    const settings = { config, env, adminToken: token.token, mainUrl: ownUrl, uploadTimeoutSeconds };
    await others.start(server, settings, signal);
  } else {
    url = ownUrl = await listen(server, config.server.host, portFor(config, role));
  }
  if (role !== 'worker') {
    await writeServerFile(config.data.folder, { pid: process.pid, url, instance, role, version });
    closing.defer(() => removeServerFile(config.data.folder, instance));
  }
  closing.defer(() => presence.close());
  if (role !== 'command')
    closing.defer(
      monitorEventLoop({
        clock: systemClock,
        onBlocked: (cpuMs) => telemetry.events.emit('server:blocked', { cpuMs }),
      }),
    );
  const mustPrintToken = token.isUnseen && (role === 'serve' || role === 'demo');
  if (mustPrintToken) await markAdminTokenSeen(config.data.folder);
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
  /** Responds first, then stops: the requester waits for the data folder. */
  function handOver(): boolean {
    systemClock.after(0, () => void stop('handover'));
    return true;
  }
  return {
    url,
    adminToken: token.token,
    newAdminToken: mustPrintToken ? token.token : null,
    presence,
    stopped: stopping.promise,
    stop: () => stop('requested'),
  };
}

/** The load that this server shows is that of all its processes. */
function withLoadOf(others: GatewayProcesses, gateway: Domains['gateway']): Domains['gateway'] {
  const load = () => {
    const [own, more] = [gateway.load(), others.load()];
    return { inFlight: own.inFlight + more.inFlight, queued: own.queued + more.queued };
  };
  return { ...gateway, load };
}

/** Events after which alerts are evaluated at once. */
const urgentEvents: ReadonlySet<string> = new Set([
  'admission:outage-confirmed',
  'admission:outage-ended',
  'dependency:changed',
  'gateway:model-state-changed',
]);

function startAlerts(alerts: AlertMonitor, { events }: Telemetry, closing: AsyncDisposableStack): void {
  closing.defer(alerts.start());
  closing.defer(
    events.listen(
      () => alerts.evaluateSoon(),
      (name) => urgentEvents.has(name),
    ),
  );
}

function doctorDeps(
  config: Config,
  stores: Stores,
  { jobs, ledger, gateway, knowledge }: Domains,
  readiness: Readiness,
  alerts: AlertMonitor,
): DoctorDeps {
  return {
    config,
    ...stores,
    readiness,
    jobs,
    ledger: ledger.store,
    repairs: ledger.repairs,
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
    rejectedKeys: () => ledger.store.list({ state: 'open', kind: keyRejectedKind, limit: 100 }),
    alerts: () => alerts.list(),
  };
}

/** Without shared stores a worker would find no jobs, and would count limits of its own. */
function checkRole({ state, redis }: Config, role: ServerRole): void {
  if (role !== 'worker') return;
  const missing = [
    ...(state.databaseUrl === null ? ['state.databaseUrl (DATABASE_URL)'] : []),
    ...(redis.url === null ? ['redis.url (REDIS_URL)'] : []),
  ];
  if (missing.length === 0) return;
  throw new CoreError(
    'CONFIG_INVALID',
    `A worker shares the stores of the servers; set ${missing.join(' and ')} to the same values as theirs. ` +
      'On one machine "headworks serve" runs the jobs too.',
  );
}

/** A worker has no data folder; every other role holds it while running. */
async function prepareFolder(
  config: Config,
  options: StartServerOptions,
  closing: AsyncDisposableStack,
): Promise<AdminToken> {
  if (options.role === 'worker')
    return { token: config.server.adminToken ?? systemIds.token(32), isUnseen: false };
  const folder = await acquireDataFolder(config, options);
  closing.defer(() => folder.release());
  await removeStaleScratch(folder.path);
  return ensureAdminToken(folder.path, config.server.adminToken, systemIds);
}

/** The default port belongs to "headworks serve"; commands and workers use any free port unless one is set. */
function portFor({ server, resolution }: Config, role: ServerRole): number {
  const isDefault = resolution.origins['server.port']?.kind === 'default';
  return role === 'command' || (role === 'worker' && isDefault) ? 0 : server.port;
}
