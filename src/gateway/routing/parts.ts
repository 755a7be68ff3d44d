// What the routing engine is made of, and the numbers it goes by.
import type { Clock, Emitter } from '../../core/index.ts';
import type { GatewayEvents } from '../events.ts';
import type { GatewayOptions } from '../options.ts';
import type {
  AttemptRecorder,
  Cooldowns,
  KeyRing,
  Model,
  ProviderClient,
  QuotaKeeper,
  Scores,
} from '../ports.ts';
import type { Resting } from './resting.ts';

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
  readonly silenceMs: number;
}

export interface GatewayParts {
  readonly clock: Clock;
  /** Throws when this caller may not ask now (GATEWAY_TOKEN_CAP). Default: everybody may. */
  readonly admit?: (caller: string) => void;
  /** All models that are known, from memory. */
  readonly models: () => readonly Model[];
  readonly keys: KeyRing;
  readonly cooldowns: Pick<Cooldowns, 'of' | 'extend'>;
  readonly scores: Scores;
  readonly resting: Resting;
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
  | 'answerTimeoutSeconds'
  | 'silenceTimeoutSeconds'
>;

export function routingPolicy(options: RoutingOptions): RoutingPolicy {
  return {
    maxRetries: options.maxRetries,
    retryDelayMs: options.retryDelaySeconds * 1_000,
    retryOrder: options.retryOrder,
    defaultCooldownMs: options.rateLimitDefaultCooldownSeconds * 1_000,
    connectMs: options.connectTimeoutSeconds * 1_000,
    firstTokenMs: options.firstTokenTimeoutSeconds * 1_000,
    answerMs: options.answerTimeoutSeconds * 1_000,
    silenceMs: options.silenceTimeoutSeconds * 1_000,
  };
}
