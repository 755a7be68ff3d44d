// One event bus and its consumers: log lines, metrics and spans. The live stream is in http.
import type { Config } from '../config/index.ts';
import { secretsOf } from '../config/index.ts';
import type { Log, Tracer } from '../core/index.ts';
import { EventBus, Redactor, event, kindOf, noTracer, systemClock } from '../core/index.ts';
import type { RunEvents } from '../extraction/index.ts';
import { runEvents } from '../extraction/index.ts';
import type { GatewayEvents } from '../gateway/index.ts';
import { gatewayEvents } from '../gateway/index.ts';
import type { HttpEvents } from '../http/index.ts';
import { httpEvents } from '../http/index.ts';
import type { LedgerEvents } from '../ledger/index.ts';
import { ledgerEvents } from '../ledger/index.ts';
import type { RetentionEvents } from '../operations/retention.ts';
import { retentionEvents } from '../operations/retention.ts';
import type { JobEventSpecs } from '../platform/jobs/events.ts';
import { jobEventSpecs } from '../platform/jobs/events.ts';
import { createLogger, logEvents } from '../platform/telemetry/logger.ts';
import type { Metrics } from '../platform/telemetry/metrics.ts';
import { countEvents, createMetrics } from '../platform/telemetry/metrics.ts';
import type { AdmissionEvents, ExecutionEvents, TenantEvents } from '../tenancy/index.ts';
import { admissionEvents, executionEvents, tenantEvents } from '../tenancy/index.ts';
import { logFormat } from './options.ts';
import type { ServerRole } from './client/server-file.ts';
import { traceEvents } from './tracing.ts';

export const appEvents = {
  'server:started': event<{ role: string; url: string; startedInMs: number }>({
    level: 'info',
    message: 'server started',
  }),
  'server:stopping': event<{ reason: string }>({ level: 'info', message: 'server is stopping' }),
  'server:stopped': event<{ reason: string }>({ level: 'info', message: 'server has stopped' }),
  'dependency:changed': event<{ dependency: string; state: string }>({
    level: 'warn',
    message: 'a dependency went down or came back',
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

type ServerEvents = AdmissionEvents &
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

export function createTelemetry(config: Config, role: ServerRole, tracer: Tracer = noTracer): Telemetry {
  const redactor = new Redactor();
  for (const secret of secretsOf(config)) redactor.add(secret);
  const isTerminal = process.stderr.isTTY;
  const log = createLogger({
    level: levelFor(config, role),
    format: logFormat(config, isTerminal),
    redactor,
    colour: isTerminal,
    context: tracer === noTracer ? undefined : () => tracer.current(),
  });
  const events = new EventBus(
    eventSpecs,
    () => systemClock.now(),
    (error) => log.error('an event listener failed', { cause: kindOf(error), error }),
  );
  const metrics = createMetrics({ redactor });
  logEvents(events, log);
  countEvents(events, metrics);
  if (tracer !== noTracer) traceEvents(events, tracer);
  return { redactor, log, events, metrics, tracer };
}

/** A command that became the server logs errors only, so that its output stays readable, unless a level is set. */
function levelFor(config: Config, role: ServerRole): Config['logging']['level'] {
  const isSet = config.resolution.origins['logging.level']?.kind !== 'default';
  if (isSet) return config.logging.level;
  return role === 'command' ? 'error' : role === 'demo' ? 'warn' : config.logging.level;
}
