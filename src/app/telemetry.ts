// One event bus and its consumers: log lines, metrics and spans. The live stream is in http.
import type { Config } from '../config/index.ts';
import { secretsOf } from '../config/index.ts';
import { version } from '../config/version.ts';
import type { Log, Tracer } from '../core/index.ts';
import { EventBus, Redactor, event, kindOf, noTracer } from '../core/index.ts';
import type { RunEvents } from '../extraction/index.ts';
import { runEvents } from '../extraction/index.ts';
import type { GatewayEvents } from '../gateway/index.ts';
import { gatewayEvents } from '../gateway/index.ts';
import type { HttpEvents } from '../http/index.ts';
import { httpEvents } from '../http/index.ts';
import type { LedgerEvents } from '../ledger/index.ts';
import { ledgerEvents } from '../ledger/index.ts';
import type { AlertEvents } from '../operations/alerts/alert-monitor.ts';
import { alertEvents } from '../operations/alerts/alert-monitor.ts';
import type { Readiness } from '../operations/readiness.ts';
import type { RetentionEvents } from '../operations/retention.ts';
import { retentionEvents } from '../operations/retention.ts';
import type { JobEventSpecs } from '../platform/jobs/events.ts';
import { jobEventSpecs } from '../platform/jobs/events.ts';
import { createLogger, logEvents } from '../platform/telemetry/logger.ts';
import { countEvents, Metrics } from '../platform/telemetry/metrics.ts';
import type { AdmissionEvents, ExecutionEvents, TenantEvents } from '../tenancy/index.ts';
import { admissionEvents, executionEvents, tenantEvents } from '../tenancy/index.ts';
import { traceEvents } from '../platform/telemetry/tracing.ts';
import type { Presence, ServerRole } from './client/local-server.ts';
import { logFormat } from './options.ts';

export const appEvents = {
  'server:started': event<{ role: string; url: string; startedInMs: number }>({
    level: 'info',
    message: 'server started',
  }),
  'server:stopping': event<{ reason: string }>({ level: 'info', message: 'server is stopping' }),
  'server:stopped': event<{ reason: string }>({ level: 'info', message: 'server has stopped' }),
  'server:blocked': event<{ cpuMs: number }>({
    level: 'warn',
    message: 'a task occupied the main thread; requests waited',
    counter: {
      name: 'headworks_event_loop_blocked_total',
      help: 'Turns of the event loop with more than 250 ms of CPU time, during which no request was served.',
      labels: [],
    },
    histogram: {
      name: 'headworks_event_loop_blocked_seconds',
      help: 'CPU time of these turns.',
      field: 'cpuMs',
      buckets: [0.25, 0.5, 1, 2.5, 5, 10, 30],
    },
  }),
  'server:process-ended': event<{ pid: number; cause: string; restartInMs: number }>({
    level: 'error',
    message: 'a process of the gateway ended; its connections are lost, and it is replaced',
    counter: {
      name: 'headworks_gateway_process_ends_total',
      help: 'Processes of the gateway that ended without being stopped.',
      labels: [],
    },
  }),
  'server:process-started': event<{ pid: number; startedInMs: number }>({
    level: 'info',
    message: 'a process of the gateway accepts requests',
  }),
  'dependency:changed': event<{ dependency: string; state: string }>({
    level: 'warn',
    message: 'a dependency went down or is available again',
    counter: {
      name: 'headworks_dependency_changes_total',
      help: 'State changes of a store, by dependency and new state.',
      labels: ['dependency', 'state'],
      knownValues: ['state store', 'redis'].flatMap((name) => [
        [name, 'up'],
        [name, 'down'],
      ]),
    },
  }),
};

export type AppEvents = typeof appEvents;

/** Spelled out: the declarations of the package cannot name the payload types of an inferred one. */
type ServerEvents = AdmissionEvents &
  AlertEvents &
  AppEvents &
  ExecutionEvents &
  GatewayEvents &
  HttpEvents &
  JobEventSpecs &
  LedgerEvents &
  RetentionEvents &
  RunEvents &
  TenantEvents;

export const eventSpecs: ServerEvents = {
  ...admissionEvents,
  ...alertEvents,
  ...appEvents,
  ...executionEvents,
  ...gatewayEvents,
  ...tenantEvents,
  ...httpEvents,
  ...jobEventSpecs,
  ...ledgerEvents,
  ...retentionEvents,
  ...runEvents,
};

export interface Telemetry {
  readonly redactor: Redactor;
  readonly log: Log;
  readonly events: EventBus<ServerEvents>;
  readonly metrics: Metrics;
  readonly tracer: Tracer;
}

/** `isForwarded`: the events are counted and logged in another process. */
export function createTelemetry(
  config: Config,
  role: ServerRole,
  tracer: Tracer = noTracer,
  isForwarded = false,
): Telemetry {
  const redactor = new Redactor();
  for (const secret of secretsOf(config)) redactor.add(secret);
  const isTerminal = process.stderr.isTTY;
  const log = createLogger({
    level: levelFor(config, role),
    format: logFormat(config, isTerminal),
    redactor,
    isColored: isTerminal,
    context: tracer === noTracer ? undefined : () => tracer.current(),
  });
  const events = new EventBus(eventSpecs, (error) =>
    log.error('an event listener failed', { cause: kindOf(error), error }),
  );
  const metrics = new Metrics({ redactor });
  if (!isForwarded) {
    logEvents(events, log);
    countEvents(events, metrics);
  }
  if (tracer !== noTracer) traceEvents(events, tracer);
  return { redactor, log, events, metrics, tracer };
}

/** A command that became the server logs errors only, so that its output stays readable, unless a level is set. */
function levelFor(config: Config, role: ServerRole): Config['logging']['level'] {
  const isSet = config.resolution.origins['logging.level']?.kind !== 'default';
  if (isSet) return config.logging.level;
  return role === 'command' ? 'error' : role === 'demo' ? 'warn' : config.logging.level;
}

export interface ProcessMetricsDeps {
  readonly metrics: Pick<Metrics, 'gauge'>;
  readonly role: ServerRole;
  readonly presence: Pick<Presence, 'attached'>;
  readonly readiness: Pick<Readiness, 'dependencies'>;
}

/** Shorter than the limit of a gauge: a store that hangs is reported as 0, not left out. */
const pingTimeoutMs = 1_000;

/** Metrics of every process: its role and version, attached clients, and the state of its stores. */
export function registerProcessMetrics({ metrics, role, presence, readiness }: ProcessMetricsDeps): void {
  metrics.gauge({
    name: 'headworks_process_info',
    help: 'Always 1. Role of this process (serve, worker, demo; command: a command that became the server) and its version.',
    labels: ['role', 'version'],
    collect: () => [{ labels: { role, version }, value: 1 }],
  });
  metrics.gauge({
    name: 'headworks_clients_attached',
    help: 'Commands, MCP clients and dashboards attached to this server.',
    labels: [],
    collect: () => [{ labels: {}, value: presence.attached }],
  });
  metrics.gauge({
    name: 'headworks_dependency_up',
    help: 'Whether a configured store responds: 1 or 0.',
    labels: ['dependency'],
    collect: async () =>
      (await readiness.dependencies(pingTimeoutMs))
        .filter(({ state }) => state !== 'not-configured')
        .map(({ name, state }) => ({ labels: { dependency: name }, value: state === 'up' ? 1 : 0 })),
  });
}
