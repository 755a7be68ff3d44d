// Opens the gateway: all wiring of its parts over stores, network and environment.
import type { Clock, Emitter, HttpTransport, IdSource, Random, Redactor } from '../core/index.ts';
import type { LedgerRecorder } from '../ledger/index.ts';
import { createUndiciTransport } from '../platform/http-client/undici-transport.ts';
import { ChangeFeed } from '../platform/postgres/change-feed.ts';
import type { Database } from '../platform/postgres/ports.ts';
import type { RedisConnection } from '../platform/redis/connection.ts';
import { GatewayClient } from './client.ts';
import { parseRequest } from './dialects/openai.ts';
import type { GatewayEvents } from './events.ts';
import { catalog } from './models/catalog.ts';
import {
  failingModelRepair,
  modelFailing,
  modelStateGauge,
  keyRejected,
  probeModels,
  rejectedKeyRepair,
  startHealthChecks,
} from './models/health-check.ts';
import type { Models } from './models/model-service.ts';
import { ModelService } from './models/model-service.ts';
import { ProviderKeys } from './models/provider-keys.ts';
import type { GatewayOptions } from './options.ts';
import { gatewayChannel, PostgresCooldownStore, PostgresModelStore } from './postgres/model-stores.ts';
import {
  PostgresAttemptStore,
  PostgresGatewayKeyStore,
  PostgresProbeSchedule,
  PostgresUsageStore,
} from './postgres/usage-stores.ts';
import { createProviderClient } from './providers/provider-client.ts';
import { ProviderQuotas } from './quotas/provider-quotas.ts';
import { RedisQuotaCounter } from './quotas/quota-counter.ts';
import { Router } from './routing/router.ts';
import { routingPolicy } from './routing/routed-request.ts';
import { FailureBackoff } from './state/availability.ts';
import { checkTokenCap, createKeyService, retentionRules } from './state/gateway-keys.ts';
import { GatewayState } from './state/gateway-state.ts';
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
  /** Probe models on schedule. Default: false, for processes that run only for a moment. */
  readonly probesModels?: boolean;
  /** Default: one of its own. */
  readonly transport?: HttpTransport;
}

/** A thousand streams may wait for one provider; undici's connections carry one each. */
const connectionsPerProvider = 4_096;
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
  const { clock, ids, events, redactor, options, ledger } = deps;
  const stores = 'database' in deps.stores ? openGatewayStores(deps.stores, clock) : deps.stores;
  const transport = deps.transport ?? ownTransport(closing);
  const keys = new ProviderKeys(deps.env);
  const state = await GatewayState.open({
    ...deps,
    stores,
    builtIn: catalog,
    configured: options.models,
    windowDays: options.scoreWindowDays,
    onHealthChange: (model, health) =>
      health.isFailing ? void ledger?.record(modelFailing(model, health)) : deps.onModelRecovered?.(),
  });
  closing.defer(() => state.close());
  const quotas = new ProviderQuotas({ clock, events, shared: stores.quotas });
  const backoff = new FailureBackoff(clock);
  const router = new Router({
    clock,
    events,
    admit: (caller) => checkTokenCap(state.keys, state.usage, caller, clock.now()),
    models: () => state.models.list(),
    keys,
    cooldowns: state.cooldowns,
    scores: state.scores,
    backoff,
    quotas,
    provider: createProviderClient({ ...deps, transport, maxResponseBytes: options.maxResponseBytes }),
    attempts: state.attempts,
    onKeyRejected: (model, cause) => void ledger?.record(keyRejected(model, cause, keys.keySourceOf(model))),
    policy: routingPolicy(options),
  });
  const addSecrets = () => {
    for (const secret of keys.secretsOf(state.models.list())) redactor.add(secret);
  };
  addSecrets();
  await quotas.seed(state.models.list(), keys, stores.attempts);
  const complete = (request: CompletionRequest, given: CompletionOptions) => router.complete(request, given);
  const probeDeps = { complete, keys, ids, deadlineMs: options.responseTimeoutSeconds * 1_000 };
  const models = new ModelService({
    clock,
    ids,
    state,
    keys,
    backoff,
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
        probeAll: (signal) => models.probe(null, signal),
        onFailure: (cause) => events.emit('gateway:probes-failed', { cause }),
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
    defaults,
  });
  return {
    defaults,
    /** Fails with INPUT_INVALID, naming the field. */
    parseRequest,
    /** Fails with a GatewayError, INPUT_INVALID, CANCELED or DEADLINE_EXCEEDED. */
    complete,
    /** For callers in this process. */
    client,
    /** Current load of this process. */
    load: () => router.load(),
    models: models as Models,
    keys: createKeyService(state.keys, state.usage),
    /** Null for anything that is not a known gateway key. */
    checkKey: (credential: string) => state.keys.check(credential),
    repairs: [rejectedKeyRepair(models), failingModelRepair(models)] as const,
    gauges: [modelStateGauge(models)] as const,
    retentionRules: (days: Parameters<typeof retentionRules>[1]) => retentionRules(stores, days),
    /** Writes what is buffered. Nothing may be called afterwards. */
    close: () => closing.disposeAsync(),
  };
}

export function openGatewayStores({ database, redis }: ServerStores, clock: Clock): GatewayStores {
  return {
    models: new PostgresModelStore(database, clock),
    cooldowns: new PostgresCooldownStore(database),
    attempts: new PostgresAttemptStore(database),
    keys: new PostgresGatewayKeyStore(database),
    usage: new PostgresUsageStore(database),
    probes: new PostgresProbeSchedule(database),
    changes: new ChangeFeed(database, gatewayChannel(database), gatewayTopics),
    quotas: redis === null ? undefined : new RedisQuotaCounter(redis),
  };
}

function ownTransport(closing: AsyncDisposableStack): HttpTransport {
  const transport = createUndiciTransport({ connectionsPerOrigin: connectionsPerProvider, keepAliveMs });
  closing.defer(() => transport.close());
  return transport;
}
