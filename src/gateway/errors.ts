// What can go wrong in the gateway, each with its consequence.
import type { ErrorCodes, HeadworksErrorOptions } from '../core/index.ts';
import { HeadworksError } from '../core/index.ts';
import type { FailureClass } from './failure-classes.ts';

export const gatewayErrorCodes = {
  GATEWAY_MODEL_NOT_FOUND: {
    category: 'not_found',
    consequence: 'No model of that name is known; nobody was asked.',
  },
  GATEWAY_MODEL_EXISTS: {
    category: 'conflict',
    consequence: 'A model of that name is known already; nothing was changed.',
  },
  GATEWAY_NOT_CONFIGURED: {
    category: 'misconfigured',
    consequence: 'No model that could answer has a key; nobody was asked.',
  },
  GATEWAY_CAPABILITY_UNSUPPORTED: {
    category: 'invalid_input',
    consequence: 'No configured model can do what is asked (tools, images, embeddings, …); nobody was asked.',
  },
  GATEWAY_ALL_RATE_LIMITED: {
    category: 'limit_reached',
    consequence: 'Every model that could answer is at a limit; come back when the soonest is free.',
  },
  GATEWAY_EXHAUSTED: {
    category: 'temporary',
    consequence: 'Every model that could answer was asked and failed, or is resting.',
  },
  GATEWAY_REQUEST_REJECTED: {
    category: 'invalid_input',
    consequence: 'Every model that was asked says that the request itself is at fault; change it.',
  },
  GATEWAY_STREAM_INTERRUPTED: {
    category: 'upstream_failed',
    consequence: 'A streamed answer broke off after it had begun; what came is not the whole.',
  },
  GATEWAY_KEY_NOT_FOUND: { category: 'not_found', consequence: 'There is no gateway key of that id.' },
  GATEWAY_TOKEN_CAP_EXCEEDED: {
    category: 'limit_reached',
    consequence: 'The key has used up its tokens of today; it works again after midnight UTC.',
  },
} as const satisfies ErrorCodes;

export type GatewayErrorCode = keyof typeof gatewayErrorCodes;

/** One model and what became of asking it, as callers are told. */
export interface TriedModel {
  readonly model: string;
  readonly provider: string;
  /**
   * The class of its last failure; `cooling` when it was not asked because it is left alone for now; `unasked` when
   * time was up before its turn; `gone` when it was disabled, removed or replaced before it.
   */
  readonly outcome: FailureClass | 'cooling' | 'unasked' | 'gone';
  readonly tries: number;
  /** Status of its last answer, if one came. */
  readonly status: number | null;
  /** Epoch milliseconds; null: at once. */
  readonly availableAt: number | null;
}

export interface GatewayErrorOptions extends HeadworksErrorOptions {
  readonly tried?: readonly TriedModel[];
  /** Of GATEWAY_REQUEST_REJECTED: the status to give back, 400 or 422 …, and the provider's own words, redacted. */
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
