// Puts the gateway together over its stores: state, keys of providers, quotas, the engine, and desks for people.
import type { Clock, Emitter, HttpTransport, IdSource, Random, Redactor } from '../core/index.ts';
import { createProviderClient, parseRequest } from './calling/index.ts';
import type { KeyService, ModelService } from './desk-ports.ts';
import { createKeyService, refuseOverCap } from './desk/gateway-key-desk.ts';
import { GatewayModelService } from './desk/gateway-model-desk.ts';
import type { GatewayEvents } from './events.ts';
import type { ProbeSchedule } from './health/health-worker.ts';
import { startHealthWorker } from './health/health-worker.ts';
import { probeModels } from './health/prober.ts';
import type { GatewayOptions } from './options.ts';
import type { CompletionRequest, Gateway, GatewayLoad, Model, Operation } from './ports.ts';
import { catalogue, createProviderKeys } from './providers/index.ts';
import type { QuotaCounter } from './quotas/index.ts';
import { ProviderQuotas, pastCallsOf } from './quotas/index.ts';
import { createRouter, FailureBackoff, routingPolicy } from './routing/index.ts';
import type { GatewayStores } from './state/index.ts';
import { GatewayState } from './state/index.ts';

export interface GatewayDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly ids: IdSource;
  readonly events: Emitter<GatewayEvents>;
  /** Learns the keys of providers. */
  readonly redactor: Redactor;
  readonly transport: HttpTransport;
  readonly stores: GatewayStores;
  readonly options: GatewayOptions;
  /** Where the keys of providers are. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Counts quotas for all processes. Default: each counts its own. */
  readonly sharedQuotas?: QuotaCounter | undefined;
}

export interface OpenGateway extends Gateway {
  readonly defaults: {
    readonly maxBodyBytes: number;
    readonly deadlineMs: number;
    readonly waitMs: number;
  };
  /** Fails with INPUT_INVALID, naming the field. */
  read(operation: Operation, body: Uint8Array): CompletionRequest;
  /** Of this process, now. */
  load(): GatewayLoad;
  readonly models: ModelService;
  readonly keys: KeyService;
  /** The id of the gateway key that this is, while it may be used. */
  keyOf(credential: string): string | null;
  /** Of a gateway key that is known but refused: why. */
  keyRefusal(credential: string): 'expired' | 'revoked' | null;
  /** Probes every so often until the returned function is called. */
  startHealthWorker(rounds: ProbeSchedule, onFailure: (cause: string) => void): () => Promise<void>;
  /** Writes what waits. Nothing may be asked afterwards. */
  close(): Promise<void>;
}

/** Ready when it resolves. Fails with STATE_UNAVAILABLE. */
export async function openGateway(parts: GatewayDeps): Promise<OpenGateway> {
  const { clock, ids, events, redactor, options, stores } = parts;
  const keys = createProviderKeys(parts.env);
  const state = await GatewayState.open({
    ...parts,
    builtIn: catalogue,
    configured: options.models,
    windowDays: options.scoreWindowDays,
  });
  const quotas = new ProviderQuotas({ clock, events, shared: parts.sharedQuotas });
  const resting = new FailureBackoff(clock);
  const gateway = createRouter({
    ...parts,
    admit: (caller) => refuseOverCap(state.keys, state.usage, caller, clock.now()),
    models: () => state.models.list(),
    keys,
    cooldowns: state.cooldowns,
    scores: state.scores,
    resting,
    quotas,
    provider: createProviderClient({ ...parts, maxResponseBytes: options.maxResponseBytes }),
    attempts: state.attempts,
    policy: routingPolicy(options),
  });
  const learnSecrets = () => {
    for (const secret of keys.secretsOf(state.models.list())) redactor.add(secret);
  };
  learnSecrets();
  try {
    await quotas.seed(state.models.list(), keys, pastCallsOf(stores.attempts));
  } catch (error) {
    await state.close();
    throw error;
  }
  const deadlineMs = options.responseTimeoutSeconds * 1_000;
  const probe = (models: readonly Model[], signal: AbortSignal) =>
    probeModels({ gateway, keys, ids, deadlineMs }, models, signal);
  const models = new GatewayModelService({
    clock,
    ids,
    state,
    keys,
    resting,
    quotas,
    probe,
    onAdded: learnSecrets,
  });
  return {
    defaults: {
      maxBodyBytes: options.maxBodyBytes,
      deadlineMs: options.requestTimeoutSeconds * 1_000,
      waitMs: options.waitForModelSeconds * 1_000,
    },
    read: parseRequest,
    complete: (request) => gateway.complete(request),
    load: () => gateway.load(),
    models,
    keys: createKeyService(state.keys, state.usage),
    keyOf: (credential) => state.keys.verify(credential)?.id ?? null,
    keyRefusal: (credential) => {
      const why = state.keys.whyRefused(credential);
      return why === 'expired' || why === 'revoked' ? why : null;
    },
    startHealthWorker: (rounds, onFailure) => {
      const intervalMs = options.healthCheckIntervalSeconds * 1_000;
      if (intervalMs === 0) return () => Promise.resolve();
      return startHealthWorker({
        clock,
        rounds,
        intervalMs,
        probeAll: (signal) => models.probe(null, signal),
        onFailure,
      });
    },
    close: () => state.close(),
  };
}
