// What can go wrong in the gateway: error codes, and the failure classes of provider calls with their consequences.
import type { ErrorCodes, HeadworksErrorOptions } from '../core/index.ts';
import { HeadworksError } from '../core/index.ts';

export const gatewayErrorCodes = {
  GATEWAY_MODEL_NOT_FOUND: {
    category: 'not_found',
    consequence: 'No model has that name or id; no model was called.',
  },
  GATEWAY_MODEL_EXISTS: {
    category: 'conflict',
    consequence: 'A model of that name exists; nothing was changed.',
  },
  GATEWAY_NOT_CONFIGURED: {
    category: 'misconfigured',
    consequence: 'No suitable model has a provider key; no model was called.',
  },
  GATEWAY_CAPABILITY_UNSUPPORTED: {
    category: 'invalid_input',
    consequence:
      'No configured model supports what the request requires (tools, images, embeddings, …); no model was called.',
  },
  GATEWAY_ALL_RATE_LIMITED: {
    category: 'limit_reached',
    consequence: 'Every suitable model is at a limit; retry when the first is available again.',
  },
  GATEWAY_EXHAUSTED: {
    category: 'temporary',
    consequence: 'Every suitable model was called and failed, or is cooling down.',
  },
  GATEWAY_REQUEST_REJECTED: {
    category: 'invalid_input',
    consequence: 'Every model that was called rejected the request itself; change it.',
  },
  GATEWAY_STREAM_INTERRUPTED: {
    category: 'upstream_failed',
    consequence: 'A streamed response ended early; what was received is incomplete.',
  },
  GATEWAY_RESPONSE_NOT_FOUND: {
    category: 'not_found',
    consequence: 'The response to continue, or an item of it, is not stored; no model was called.',
  },
  GATEWAY_KEY_NOT_FOUND: { category: 'not_found', consequence: 'There is no gateway key with that id.' },
  GATEWAY_KEY_LIMIT_REACHED: {
    category: 'limit_reached',
    consequence:
      'The gateway key has reached its requests per minute, tokens per day or US dollars per day; no model was called.',
  },
  GATEWAY_REQUEST_NOT_FOUND: {
    category: 'not_found',
    consequence: 'The log has no request with that id, or it belongs to another key.',
  },
} as const satisfies ErrorCodes;

export type GatewayErrorCode = keyof typeof gatewayErrorCodes;

/** One candidate of a failed request and its result, as callers see it. */
export interface TriedModel {
  readonly model: string;
  readonly provider: string;
  /**
   * The class of its last failure; `cooling-down` when it was not called because of a cooldown or quota; `not-tried`
   * when time ran out first; `unavailable` when it was disabled, removed or replaced first.
   */
  readonly outcome: FailureClass | 'cooling-down' | 'not-tried' | 'unavailable';
  readonly attempts: number;
  /** Status of its last response, if any. */
  readonly status: number | null;
  /** Epoch milliseconds; null: now. */
  readonly availableAt: number | null;
}

export interface GatewayErrorOptions extends HeadworksErrorOptions {
  readonly tried?: readonly TriedModel[];
  /** For GATEWAY_REQUEST_REJECTED: the provider's client-error status (400, 422, …). */
  readonly status?: number;
}

export class GatewayError extends HeadworksError<GatewayErrorCode> {
  readonly tried: readonly TriedModel[];
  readonly status: number | undefined;

  constructor(code: GatewayErrorCode, message: string, options: GatewayErrorOptions = {}) {
    super(code, message, options);
    this.tried = options.tried ?? [];
    this.status = options.status;
  }
}

/* ---- failure classes ---- */

/** The provider does not accept the key. */
export type KeyRejection = 'authentication' | 'payment';

export const isKeyRejection = (cause: string): cause is KeyRejection =>
  cause === 'authentication' || cause === 'payment';

export interface FailureRule {
  /** The same model is tried again in a later round of the request. */
  readonly isRetried: boolean;
  /** The next model is tried. */
  readonly fallsBack: boolean;
  /** Lowers the model's reliability. */
  readonly countsAgainst: boolean;
  /** The request itself is invalid. When every model rejects it, the caller gets that error. */
  readonly isCallersFault: boolean;
  /**
   * When another model completes the same request, it was the model's fault after all: it lowers its reliability, and
   * several in a row cool it down. Not where the size or the content of the request is the reason.
   */
  readonly isDisputed: boolean;
  /**
   * Cooldown of the key (`cools: 'model'`: of the model) in seconds without a retry hint; `default` is that of the
   * settings for rate limits, 0 is none. A hint wins where `obeysHint`.
   */
  readonly cooldown: 'default' | number;
  readonly obeysHint: boolean;
  readonly cools: 'key' | 'model';
}

const hourSeconds = 3_600;

export type FailureClass = keyof typeof failureRules;

export const failureRules = {
  /** 429, or an equivalent response. */
  'rate-limit': rule({ fallsBack: true, cooldown: 'default', obeysHint: true }),
  'server-error': rule({ isRetried: true, fallsBack: true, countsAgainst: true, obeysHint: true }),
  timeout: rule({ isRetried: true, fallsBack: true, countsAgainst: true }),
  network: rule({ isRetried: true, fallsBack: true, countsAgainst: true }),
  /** The key is rejected (401, 403). */
  authentication: rule({ fallsBack: true, countsAgainst: true, cooldown: hourSeconds }),
  /** The key has no credit or quota (402): the operator's concern, not the model's reliability. */
  payment: rule({ fallsBack: true, cooldown: hourSeconds, obeysHint: true }),
  /** The provider rejects this request (400, 422). */
  validation: rule({ fallsBack: true, isCallersFault: true, isDisputed: true }),
  /** The request, or the completion that it allows, is longer than the model takes. */
  'context-too-long': rule({ fallsBack: true, isCallersFault: true }),
  /** The provider's content policy rejects this request. */
  'content-refused': rule({ fallsBack: true, isCallersFault: true }),
  /** The provider has no such model. */
  'not-found': rule({ fallsBack: true, countsAgainst: true, cooldown: hourSeconds, cools: 'model' }),
  /** Empty, malformed, or not what was requested. */
  'invalid-response': rule({ isRetried: true, fallsBack: true, countsAgainst: true }),
  /** The caller's deadline left much less than the configured timeout, and it ran out. */
  'deadline-too-short': rule({ isRetried: true, fallsBack: true }),
  /** The caller disconnected, or this server is stopping. */
  canceled: rule({}),
} as const;

/** A transient failure of the model's own. Several requests in a row that end so start its backoff. */
export function isTransientModelFault(failureClass: FailureClass): boolean {
  const { isRetried, countsAgainst } = failureRules[failureClass];
  return isRetried && countsAgainst;
}

function rule(differing: Partial<FailureRule>): FailureRule {
  return {
    isRetried: false,
    fallsBack: false,
    countsAgainst: false,
    isCallersFault: false,
    isDisputed: false,
    cooldown: 0,
    obeysHint: false,
    cools: 'key',
    ...differing,
  };
}
