// What the routing engine is made of, and the numbers it goes by.
import type { Clock, Emitter } from '../../core/index.ts';
import type { GatewayEvents } from '../events.ts';
import type { GatewayOptions } from '../options.ts';
import type {
  AttemptRecorder,
  Cooldowns,
  ProviderKeys,
  Model,
  ProviderClient,
  QuotaKeeper,
  Scores,
} from '../ports.ts';
import type { FailureBackoff } from './resting.ts';

/** All in milliseconds but the two that say otherwise. */
export interface RoutingPolicy {
  /** Extra tries per model and request. */
  readonly maxRetries: number;
  readonly retryDelayMs: number;
  readonly retryOrder: GatewayOptions['retryOrder'];
  readonly defaultCooldownMs: number;
  readonly connectMs: number;
  /** For streams; `answerMs` is the same for whole answers. */
  readonly firstTokenMs: number;
  readonly answerMs: number;
  readonly idleMs: number;
}

export interface RouterDeps {
  readonly clock: Clock;
  /** Throws when this caller may not ask now (GATEWAY_TOKEN_CAP_EXCEEDED). Default: everybody may. */
  readonly admit?: (caller: string) => void;
  /** All models that are known, from memory. */
  readonly models: () => readonly Model[];
  readonly keys: ProviderKeys;
  readonly cooldowns: Pick<Cooldowns, 'of' | 'extend'>;
  readonly scores: Scores;
  readonly resting: FailureBackoff;
  readonly quotas: Pick<QuotaKeeper, 'take'>;
  readonly provider: ProviderClient;
  readonly attempts: AttemptRecorder;
  readonly events: Emitter<GatewayEvents>;
  readonly policy: RoutingPolicy;
}

export type RoutingOptions = Pick<
  GatewayOptions,
  | 'maxRetries'
  | 'retryDelaySeconds'
  | 'retryOrder'
  | 'rateLimitDefaultCooldownSeconds'
  | 'connectTimeoutSeconds'
  | 'firstTokenTimeoutSeconds'
  | 'responseTimeoutSeconds'
  | 'idleTimeoutSeconds'
>;

export function routingPolicy(options: RoutingOptions): RoutingPolicy {
  return {
    maxRetries: options.maxRetries,
    retryDelayMs: options.retryDelaySeconds * 1_000,
    retryOrder: options.retryOrder,
    defaultCooldownMs: options.rateLimitDefaultCooldownSeconds * 1_000,
    connectMs: options.connectTimeoutSeconds * 1_000,
    firstTokenMs: options.firstTokenTimeoutSeconds * 1_000,
    answerMs: options.responseTimeoutSeconds * 1_000,
    idleMs: options.idleTimeoutSeconds * 1_000,
  };
}
