// Opens the gateway: all wiring of its parts over stores, network and environment.
import type { Clock, Emitter, HttpTransport, IdSource, Random, Redactor, Tracer } from '../core/index.ts';
import { noTracer } from '../core/index.ts';
import type { LedgerRecorder } from '../ledger/index.ts';
import { createUndiciTransport } from '../platform/http-client/undici-transport.ts';
import { ChangeFeed } from '../platform/postgres/change-feed.ts';
import type { Database } from '../platform/postgres/ports.ts';
import type { RedisConnection } from '../platform/redis/connection.ts';
import { countTokens, GatewayClient } from './client.ts';
import { parseRequest } from './dialects/parse-request.ts';
import type { GatewayEvents } from './events.ts';
import { effectiveCatalog } from './models/catalog.ts';
import type { Discoveries } from './models/discovery.ts';
import { DiscoveryService } from './models/discovery.ts';
import {
  failingModelRepair,
  idleModels,
  modelFailing,
  modelStateGauge,
  keyRejected,
  isProbedOnSchedule,
  probeModels,
  rejectedKeyRepair,
  startChecks,
  startHealthChecks,
} from './models/health-check.ts';
import type { Models } from './models/model-service.ts';
import { ModelService } from './models/model-service.ts';
import { ProviderKeys } from './models/provider-keys.ts';
import type { GatewayOptions } from './options.ts';
import {
  gatewayChannel,
  PostgresCooldownStore,
  PostgresDiscoveryStore,
  PostgresModelStore,
} from './postgres/model-stores.ts';
import { PostgresAttemptStore, PostgresContentStore } from './postgres/attempt-stores.ts';
import {
  PostgresGatewayKeyStore,
  PostgresProbeSchedule,
  PostgresResponseStore,
  PostgresUsageStore,
} from './postgres/usage-stores.ts';
import { createProviderClient } from './providers/provider-client.ts';
import { ProviderQuotas } from './quotas/provider-quotas.ts';
import { RedisQuotaCounter } from './quotas/quota-counter.ts';
import { TieredCounter } from './quotas/tiered-counter.ts';
import { likelyModels, unknownInSettings } from './routing/model-names.ts';
import type { OnResult } from './routing/router.ts';
import { Router } from './routing/router.ts';
import { routingPolicy } from './routing/routed-request.ts';
import { traceAttempts, traceRequests } from './routing/trace-requests.ts';
import { FailureBackoff } from './state/availability.ts';
import { createKeyService, retentionRules } from './state/gateway-keys.ts';
import { GatewayState } from './state/gateway-state.ts';
import type { AttemptLog } from './state/attempt-log.ts';
import { KeyLimiter } from './state/key-limits.ts';
import { ContentLog, RequestLog } from './state/request-log.ts';
import { StoredResponses } from './state/stored-responses.ts';
import type { GatewayStores } from './stores.ts';
import { gatewayTopics } from './stores.ts';
import type { CompletionOptions, CompletionRequest, Model } from './types.ts';

/** The stores of a server. */
interface ServerStores {
  readonly database: Database;
  readonly redis: RedisConnection | null;
}

export interface GatewayDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly ids: IdSource;
  readonly events: Emitter<GatewayEvents>;
  /** Receives the provider keys. */
  readonly redactor: Redactor;
  readonly stores: ServerStores | GatewayStores;
  readonly options: GatewayOptions;
  /** Contains the provider keys. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** For rejected keys and models that fail. */
  readonly ledger?: LedgerRecorder;
  /** Models that failed may work again: their ledger rows can be repaired. */
  readonly onModelRecovered?: () => void;
  /** Probe and discover models on schedule. Default: false, for processes that run only for a moment. */
  readonly probesModels?: boolean;
  /** Other processes use the stores through this one: see `shared`. Default: false. */
  readonly isServed?: boolean;
  /** Default: no traces. */
  readonly tracer?: Tracer;
  /** Default: one of its own. */
  readonly transport?: HttpTransport;
}

/** A thousand streams may wait for one provider; undici's connections carry one each. */
const connectionsPerProvider = 4_096;
/** How often the schedule of discoveries is checked; with a short interval, four times per interval. */
const discoveryCheckMs = 600_000;
/** Long enough that a busy gateway does not reconnect for every burst. */
const keepAliveMs = 30_000;

export type Gateway = Awaited<ReturnType<typeof open>>;

/** Ready when it resolves. Fails with STATE_UNAVAILABLE. */
export async function openGateway(deps: GatewayDeps): Promise<Gateway> {
  const closing = new AsyncDisposableStack();
  try {
    return await open(deps, closing);
  } catch (error) {
    await closing.disposeAsync();
    throw error;
  }
}

async function open(deps: GatewayDeps, closing: AsyncDisposableStack) {
  const { clock, ids, events, redactor, options, ledger, tracer = noTracer } = deps;
  const isTraced = tracer !== noTracer;
  const own = 'database' in deps.stores ? openGatewayStores(deps.stores, clock, deps.isServed) : deps.stores;
  const stores = deps.isServed === true ? announceUsage(own, clock) : own;
  const transport = deps.transport ?? ownTransport(closing);
  const keys = new ProviderKeys(deps.env);
  const catalog = effectiveCatalog(options.providers, options.models);
  const state = await GatewayState.open({
    ...deps,
    ...catalog,
    stores,
    windowDays: options.scoreWindowDays,
    onHealthChange: (model, health) =>
      health.isFailing ? void ledger?.record(modelFailing(model, health)) : deps.onModelRecovered?.(),
  });
  closing.defer(() => state.close());
  const counter = new TieredCounter({ clock, events, shared: stores.quotas });
  const quotas = new ProviderQuotas(clock, counter);
  const policy = routingPolicy(options);
  const limiter = new KeyLimiter({
    clock,
    keys: state.keys,
    usage: state.usage,
    counter,
    pricesFor: ({ model }) =>
      likelyModels(model, state.models.list(), policy).flatMap((each) =>
        each.price && each.isActive && keys.keysOf(each).length > 0 ? each.price : [],
      ),
  });
  const backoff = new FailureBackoff(clock, policy.rateLimitPausesMs);
  const router = new Router({
    clock,
    events,
    admit: (request, given) => limiter.admit(request, given),
    models: () => state.models.list(),
    keys,
    cooldowns: state.cooldowns,
    scores: state.scores,
    backoff,
    quotas,
    provider: createProviderClient({ ...deps, transport, maxResponseBytes: options.maxResponseBytes }),
    attempts: releasing(state.attempts, limiter),
    onKeyRejected: (model, cause) => void ledger?.record(keyRejected(model, cause, keys.keySourceOf(model))),
    trace: isTraced ? traceAttempts(tracer) : undefined,
    policy,
  });
  for (const unknown of unknownInSettings(policy, state.models.list()))
    events.emit('gateway:unknown-names', unknown);
  const addSecrets = () => {
    for (const secret of keys.secretsOf(state.models.list())) redactor.add(secret);
  };
  addSecrets();
  for (const secret of keys.secretsOf(catalog.providers)) redactor.add(secret);
  await quotas.seed(state.models.list(), keys, stores.attempts);
  const contentLog = options.logContent ? new ContentLog(deps, redactor, stores.contents) : null;
  if (contentLog) closing.defer(() => contentLog.close());
  const route = (request: CompletionRequest, given: CompletionOptions) => router.complete(request, given);
  const captured = contentLog ? contentLog.capture(route) : route;
  const complete = isTraced ? traceRequests(tracer, captured) : captured;
  const probeDeps = { complete, keys, ids, deadlineMs: options.responseTimeoutSeconds * 1_000 };
  const models = new ModelService({
    clock,
    ids,
    state,
    keys,
    backoff,
    policy,
    quotas,
    probe: (chosen: readonly Model[], signal) => probeModels(probeDeps, chosen, signal),
    onDefined: addSecrets,
  });
  const intervalMs = options.healthCheckIntervalSeconds * 1_000;
  if (deps.probesModels === true && intervalMs > 0)
    closing.defer(
      startHealthChecks({
        clock,
        schedule: stores.probes,
        intervalMs,
        probeIdle: async (signal) => {
          await state.attempts.flush();
          const since = new Date(clock.now() - intervalMs);
          const idle = await idleModels(
            stores.attempts,
            models.listCallable().filter(isProbedOnSchedule),
            since,
          );
          return probeModels(probeDeps, idle, signal);
        },
        onFailure: (cause) => events.emit('gateway:probes-failed', { cause }),
      }),
    );
  const discovery = new DiscoveryService({
    clock,
    ids,
    events,
    transport,
    redactor,
    providers: catalog.providers,
    keys,
    models: state.models,
    store: stores.discoveries,
    limit: options.discoveryLimit,
    ledger,
    onDefined: addSecrets,
  });
  const discoveryMs = options.discoveryIntervalHours * 3_600_000;
  if (deps.probesModels === true && discoveryMs > 0)
    closing.defer(
      startChecks({
        clock,
        everyMs: Math.min(discoveryCheckMs, discoveryMs / 4),
        check: (signal) => discovery.discoverDue(discoveryMs, signal),
        onFailure: (cause) => events.emit('gateway:discovery-failed', { cause }),
      }),
    );
  const defaults = {
    maxBodyBytes: options.maxBodyBytes,
    deadlineMs: options.requestTimeoutSeconds * 1_000,
    waitMs: options.waitForModelSeconds * 1_000,
  };
  const client: Pick<GatewayClient, keyof GatewayClient> = new GatewayClient({
    clock,
    complete,
    models: state.models,
    aliases: policy.aliases,
    defaults,
  });
  return {
    defaults,
    /** Fails with INPUT_INVALID, naming the field. */
    parseRequest,
    /** Fails with a GatewayError, INPUT_INVALID, CANCELED or DEADLINE_EXCEEDED. */
    complete,
    /** `complete` with a callback: a usual request needs no promise. See Router.start. */
    start: (
      request: CompletionRequest,
      given: CompletionOptions,
      onResult: OnResult,
    ): (() => void) | undefined => {
      if (complete === route) return router.start(request, given, onResult);
      onResult(complete(request, given));
      return undefined;
    },
    /** Tokens of a Messages request: as its first model counts them, or an estimate. */
    countTokens: (request: CompletionRequest, given: CompletionOptions) =>
      countTokens(complete, request, given),
    /** Responses that callers continue by their id. */
    responses: new StoredResponses({ clock, events, store: stores.responses }) as Pick<
      StoredResponses,
      keyof StoredResponses
    >,
    /** For callers in this process. */
    client,
    /** Current load of this process. */
    load: () => router.load(),
    models: models as Models,
    discovery: discovery as Discoveries,
    keys: createKeyService(state.keys, state.usage),
    /** Requests that have ended. */
    requests: new RequestLog({
      clock,
      attempts: state.attempts,
      store: stores.attempts,
      contents: stores.contents,
      contentLog,
      models: stores.models,
    }) as Pick<RequestLog, keyof RequestLog>,
    /** Null for anything that is not a known gateway key. */
    checkKey: (credential: string) => state.keys.check(credential),
    /** For processes that have no stores of their own: these, with the counts of all processes. */
    shared: { ...stores, quotas: counter.asShared() } satisfies GatewayStores,
    repairs: [rejectedKeyRepair(models), failingModelRepair(models), discovery.repair] as const,
    gauges: [modelStateGauge(models)] as const,
    retentionRules: (days: Parameters<typeof retentionRules>[1]) => retentionRules(stores, days),
    /** Writes what is buffered. Nothing may be called afterwards. */
    close: () => closing.disposeAsync(),
  };
}

/** Ends the reservation of a request when its end is recorded: then its usage is counted. */
function releasing(
  attempts: AttemptLog,
  limiter: KeyLimiter,
): Pick<AttemptLog, 'record' | 'recordFailedRequest'> {
  return {
    record: (given) => {
      const attempt = attempts.record(given);
      if (given.endsRequest) limiter.release(given.requestId);
      return attempt;
    },
    recordFailedRequest: (request) => {
      attempts.recordFailedRequest(request);
      limiter.release(request.requestId);
    },
  };
}

export function openGatewayStores(
  { database, redis }: ServerStores,
  clock: Clock,
  isServed = false,
): GatewayStores {
  return {
    models: new PostgresModelStore(database, clock),
    cooldowns: new PostgresCooldownStore(database),
    attempts: new PostgresAttemptStore(database),
    contents: new PostgresContentStore(database),
    keys: new PostgresGatewayKeyStore(database),
    usage: new PostgresUsageStore(database),
    responses: new PostgresResponseStore(database),
    probes: new PostgresProbeSchedule(database),
    discoveries: new PostgresDiscoveryStore(database),
    changes: new ChangeFeed(database, gatewayChannel(database), gatewayTopics, isServed),
    quotas: redis === null ? undefined : new RedisQuotaCounter(redis),
  };
}

/** What was used counts for the limits of a key in every process of this server a second later. */
const usageDelayMs = 1_000;

/** Announces usage to the processes of this server. Not through the database: servers on one database poll it. */
function announceUsage(stores: GatewayStores, clock: Clock): GatewayStores {
  const { usage, changes } = stores;
  const watchers = new Set<(topic: 'usage') => void>();
  let isDue = false;
  const announce = (): void => {
    if (isDue) return;
    isDue = true;
    clock.after(usageDelayMs, () => {
      isDue = false;
      for (const watcher of watchers) watcher('usage');
    });
  };
  return {
    ...stores,
    usage: {
      add: async (rows) => {
        await usage.add(rows);
        announce();
      },
      list: (filter) => usage.list(filter),
      purge: (beforeDay, limit) => usage.purge(beforeDay, limit),
    },
    changes: {
      isShared: changes.isShared,
      watch: async (onChange) => {
        const unwatch = await changes.watch(onChange);
        watchers.add(onChange);
        return () => {
          watchers.delete(onChange);
          return unwatch();
        };
      },
    },
  };
}

function ownTransport(closing: AsyncDisposableStack): HttpTransport {
  const transport = createUndiciTransport({ connectionsPerOrigin: connectionsPerProvider, keepAliveMs });
  closing.defer(() => transport.close());
  return transport;
}
