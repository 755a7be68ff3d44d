// Error responses in OpenAI's format, which clients of /v1 understand, with our own details in addition.
import type { CoreErrorCode } from '../core/index.ts';
import { HeadworksError } from '../core/index.ts';
import type { GatewayErrorCode, TriedModel } from '../gateway/index.ts';
import { GatewayError } from '../gateway/index.ts';
import { toErrorResponse } from './errors.ts';

export interface OpenAiError {
  readonly message: string;
  readonly type: string;
  readonly param: string | null;
  readonly code: string;
  /** Stable, as everywhere else in the API. */
  readonly headworks_code: string;
  readonly request_id: string;
  readonly retry_after_seconds?: number;
  readonly models?: readonly TriedModelBody[];
}

export interface TriedModelBody {
  readonly model: string;
  readonly provider: string;
  readonly outcome: string;
  readonly attempts: number;
  readonly status: number | null;
  readonly available_at: string | null;
}

export interface OpenAiErrorResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: { readonly error: OpenAiError };
  readonly isUnexpected: boolean;
}

/** OpenAI's code where it has one: clients compare it. */
const openAiCodes: Partial<Record<GatewayErrorCode | CoreErrorCode, string>> = {
  GATEWAY_MODEL_NOT_FOUND: 'model_not_found',
  GATEWAY_ALL_RATE_LIMITED: 'rate_limit_exceeded',
  GATEWAY_TOKEN_CAP_EXCEEDED: 'insufficient_quota',
  UNAUTHENTICATED: 'invalid_api_key',
};

/** Never throws. */
export function openAiErrorOf(thrown: unknown, requestId: string): OpenAiErrorResponse {
  const mapped = toErrorResponse(thrown, requestId);
  const { code, message, retry_after_seconds } = mapped.body.error;
  const gatewayError = thrown instanceof GatewayError ? thrown : undefined;
  const status = gatewayError?.status ?? mapped.status;
  return {
    status,
    isUnexpected: mapped.isUnexpected,
    headers: {
      ...(mapped.retryAfterHeader === undefined ? {} : { 'retry-after': mapped.retryAfterHeader }),
      // Clients would retry at once, but every model has used its attempts.
      ...(gatewayError && status !== 400 && !isOutOfTime(gatewayError) ? { 'x-should-retry': 'false' } : {}),
    },
    body: {
      error: {
        message,
        type: typeOf(status),
        param: parameterOf(thrown),
        code: openAiCodes[code as GatewayErrorCode] ?? rejectionCode(gatewayError) ?? code.toLowerCase(),
        headworks_code: code,
        request_id: requestId,
        ...(retry_after_seconds === undefined ? {} : { retry_after_seconds }),
        ...(gatewayError && gatewayError.tried.length > 0
          ? { models: gatewayError.tried.map(triedModelBody) }
          : {}),
      },
    },
  };
}

export function triedModelBody(tried: TriedModel): TriedModelBody {
  const { model, provider, outcome, attempts, status, availableAt } = tried;
  return {
    model,
    provider,
    outcome,
    attempts,
    status,
    available_at: availableAt === null ? null : new Date(availableAt).toISOString(),
  };
}

/** Tries were left: a client with more time may retry. */
function isOutOfTime({ details }: GatewayError): boolean {
  return details['deadlineMs'] !== undefined;
}

/** Why the models rejected the request. */
function rejectionCode(error: GatewayError | undefined): string | undefined {
  if (error?.code !== 'GATEWAY_REQUEST_REJECTED') return undefined;
  const outcomes = new Set(error.tried.map(({ outcome }) => outcome));
  if (outcomes.has('context-too-long')) return 'context_length_exceeded';
  return outcomes.has('content-refused') ? 'content_filter' : 'invalid_request';
}

function typeOf(status: number): string {
  if (status === 401) return 'authentication_error';
  if (status === 403) return 'permission_error';
  if (status === 429) return 'rate_limit_error';
  return status >= 500 ? 'server_error' : 'invalid_request_error';
}

function parameterOf(thrown: unknown): string | null {
  if (!(thrown instanceof HeadworksError)) return null;
  if (thrown.code === 'GATEWAY_MODEL_NOT_FOUND') return 'model';
  const { field } = thrown.details;
  return typeof field === 'string' ? field : null;
}
