// Plugs the house into the HTTP server.
import type { Config, ConfigRow } from '../config/index.ts';
import { describeConfig } from '../config/index.ts';
import { version } from '../config/version.ts';
import { noTracer, systemClock, systemIds } from '../core/index.ts';
import type { ConfigValue, ServerDeps, LedgerService } from '../http/index.ts';
import { createTokenCheck, DashboardSessions } from '../http/index.ts';
import { closeEntry, ledgerRepairJob } from '../ledger/index.ts';
import { isLoopback } from '../platform/http-client/addresses.ts';
import type { Background } from './background.ts';
import type { Telemetry } from './telemetry.ts';

export interface HttpInput extends Pick<
  ServerDeps,
  'readiness' | 'doctor' | 'backup' | 'presence' | 'dashboard' | 'activity' | 'mcp'
> {
  readonly config: Config;
  readonly telemetry: Telemetry;
  readonly background: Background;
  readonly instance: string;
  readonly adminToken: string;
}

export function httpDependencies(parts: HttpInput): ServerDeps {
  const { config, telemetry, background } = parts;
  const { server } = config;
  const { redactor, log, events, metrics } = telemetry;
  return {
    clock: systemClock,
    ids: systemIds,
    redactor,
    log,
    events,
    liveEvents: events,
    metrics,
    ...(telemetry.tracer === noTracer ? {} : { tracer: telemetry.tracer }),
    version,
    instanceId: parts.instance,
    access: {
      isAdminToken: createTokenCheck(parts.adminToken),
      sessions: new DashboardSessions(parts.adminToken, systemClock, systemIds),
      gatewayKeys: background.gateway,
      organizationKeys: background.tenants.keys,
    },
    metricsAccess:
      server.metricsAccess === 'auto' ? (isLoopback(server.host) ? 'public' : 'admin') : server.metricsAccess,
    readiness: parts.readiness,
    doctor: parts.doctor,
    backup: parts.backup,
    configView: () => describeConfig(config).map((row) => configValue(row, config)),
    audit: background.audit,
    jobs: background.jobs,
    ledger: ledgerService(background, telemetry),
    extraction: {
      ...background.extraction,
      callsPerMinuteOf: ({ options }) =>
        options.rate_limit_per_minute ?? config.extraction.rateLimitPerMinute,
    },
    gateway: background.gateway,
    tenants: background.tenants,
    knowledge: { ...background.knowledge, search: tracedSearch(background, telemetry) },
    alerts: background.alerts,
    activity: parts.activity,
    dashboard: parts.dashboard,
    mcp: parts.mcp,
    presence: parts.presence,
    boundHost: server.host,
    allowedHosts: server.allowedHosts,
    allowedOrigins: server.allowedOrigins,
    limits: {
      bodyLimitBytes: server.bodyLimitBytes,
      requestTimeoutMs: server.requestTimeoutSeconds * 1000,
    },
  };
}

function tracedSearch({ knowledge }: Background, { tracer }: Telemetry): ServerDeps['knowledge']['search'] {
  if (tracer === noTracer) return knowledge.search;
  return {
    search: (space, request, signal) =>
      tracer.within('knowledge search', { 'headworks.space_id': space.spaceId }, () =>
        knowledge.search.search(space, request, signal),
      ),
  };
}

function ledgerService(background: Background, { redactor, events }: Telemetry): LedgerService {
  const { ledgerStore: store, repairs, runner, jobs } = background;
  return {
    list: (filter) => store.list(filter),
    get: (id) => store.get(id),
    counts: () => store.counts(),
    repairs: () => repairs.list(),
    requestRepair: async (request) => {
      await runner.check(request);
      return jobs.enqueue(ledgerRepairJob, request, { key: JSON.stringify([request.kind, request.id]) });
    },
    resolve: (id, how) => closeEntry({ store, clock: systemClock, redactor, events }, id, how),
  };
}

function configValue(
  { path: name, value, source: sourceName, secret: isSecret }: ConfigRow,
  config: Config,
): ConfigValue {
  const kind = config.resolution.origins[name]?.kind ?? 'default';
  // What a command insists on is as good as a flag that it gave itself.
  return { name, value, source: kind === 'command' ? 'flag' : kind, sourceName, isSecret };
}
