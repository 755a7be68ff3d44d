// What can go wrong in the gateway, each with its consequence.
import type { HeadworksErrorOptions } from '../core/index.ts';
import { HeadworksError } from '../core/index.ts';
import type { FailureClass } from './failure-classes.ts';

export const gatewayErrorCodes = {
  GATEWAY_MODEL_NOT_FOUND: 'No model of that name is known; nobody was asked.',
  GATEWAY_MODEL_EXISTS: 'A model of that name is known already; nothing was changed.',
  GATEWAY_NOT_CONFIGURED: 'No model that could answer has a key; nobody was asked.',
  GATEWAY_CAPABILITY_UNSUPPORTED:
    'No configured model can do what is asked (tools, images, embeddings, …); nobody was asked.',
  GATEWAY_ALL_RATE_LIMITED:
    'Every model that could answer is at a limit; come back when the soonest is free.',
  GATEWAY_EXHAUSTED: 'Every model that could answer was asked and failed, or is resting.',
  GATEWAY_REQUEST_REJECTED: 'Every model that was asked says that the request itself is at fault; change it.',
  GATEWAY_STREAM_INTERRUPTED: 'A streamed answer broke off after it had begun; what came is not the whole.',
  GATEWAY_KEY_NOT_FOUND: 'There is no gateway key of that id.',
  GATEWAY_TOKEN_CAP_EXCEEDED: 'The key has used up its tokens of today; it works again after midnight UTC.',
} as const;

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
