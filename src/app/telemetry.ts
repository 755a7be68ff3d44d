// What the house says about itself: one event bus, and its consumers (log lines, metrics); the live stream is in http.
import type { Config } from '../config/index.ts';
import { secretsOf } from '../config/index.ts';
import type { Log, Tracer } from '../core/index.ts';
import { EventBus, Redactor, kindOf, noTracer, systemClock } from '../core/index.ts';
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
import { createLogger, logEvents } from '../platform/logging/index.ts';
import type { Metrics } from '../platform/metrics/index.ts';
import { countEvents, createMetrics } from '../platform/metrics/index.ts';
import type { AdmissionEvents, ExecutionEvents, TenantEvents } from '../tenancy/index.ts';
import { admissionEvents, executionEvents, tenantEvents } from '../tenancy/index.ts';
import type { AppEvents } from './events.ts';
import { appEvents } from './events.ts';
import { logFormat } from './log-format.ts';
import type { ServerRole } from './server-role.ts';
import { traceEvents } from './trace-events.ts';

type HouseEvents = AdmissionEvents &
  AppEvents &
  ExecutionEvents &
  GatewayEvents &
  HttpEvents &
  JobEventSpecs &
  LedgerEvents &
  RetentionEvents &
  RunEvents &
  TenantEvents;

export const eventSpecs: HouseEvents = {
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
  readonly events: EventBus<HouseEvents>;
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
    ...(tracer === noTracer ? {} : { context: () => tracer.current() }),
  });
  const events = new EventBus(
    eventSpecs,
    () => systemClock.now(),
    (error) => log.error('A consumer of events failed.', { cause: kindOf(error), error }),
  );
  const metrics = createMetrics({ redactor });
  logEvents(events, log);
  countEvents(events, metrics);
  if (tracer !== noTracer) traceEvents(events, tracer);
  return { redactor, log, events, metrics, tracer };
}

/** A command that became a server does not talk over its own output, unless somebody asked for a level. */
function levelFor(config: Config, role: ServerRole): Config['logging']['level'] {
  const isAskedFor = config.resolution.origins['logging.level']?.kind !== 'default';
  if (isAskedFor) return config.logging.level;
  return role === 'command' ? 'error' : role === 'demo' ? 'warn' : config.logging.level;
}
