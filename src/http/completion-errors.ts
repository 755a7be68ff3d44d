// Error responses in the formats that clients of /v1 understand: OpenAI's, and Anthropic's for Messages. With our own
// details in addition.
import type { CoreErrorCode } from '../core/index.ts';
import { HeadworksError } from '../core/index.ts';
import type { ChatApi, GatewayErrorCode, TriedModel } from '../gateway/index.ts';
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
  /** The limit of the key that was reached. */
  readonly limit?: Readonly<Record<string, unknown>>;
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
  GATEWAY_RESPONSE_NOT_FOUND: 'previous_response_not_found',
  GATEWAY_ALL_RATE_LIMITED: 'rate_limit_exceeded',
  GATEWAY_KEY_LIMIT_REACHED: 'insufficient_quota',
  UNAUTHENTICATED: 'invalid_api_key',
};

/** Without the address and the user of the store, which its own message has: callers are no operators. */
const storeUnavailable =
  'The state store, which has the stored responses, is not available. Try again later, or send the whole conversation as input.';

/** Never throws. */
export function openAiErrorOf(thrown: unknown, requestId: string): OpenAiErrorResponse {
  const mapped = toErrorResponse(thrown, requestId);
  const { code, message, retry_after_seconds, details } = mapped.body.error;
  const gatewayError = thrown instanceof GatewayError ? thrown : undefined;
  const status = gatewayError?.status ?? mapped.status;
  // Of a minute, or because of requests in flight.
  const isShortLimit =
    gatewayError?.details['limit'] === 'requests_per_minute' ||
    gatewayError?.details['reserved'] !== undefined;
  return {
    status,
    isUnexpected: mapped.isUnexpected,
    headers: {
      ...(mapped.retryAfterHeader === undefined ? {} : { 'retry-after': mapped.retryAfterHeader }),
      // Clients would retry at once, but every model has used its attempts, or the key its day.
      ...(gatewayError && status !== 400 && !isOutOfTime(gatewayError) && !isShortLimit
        ? { 'x-should-retry': 'false' }
        : {}),
    },
    body: {
      error: {
        message: code === 'STATE_UNAVAILABLE' ? storeUnavailable : message,
        type: typeOf(status),
        param: parameterOf(thrown),
        code: isShortLimit
          ? 'rate_limit_exceeded'
          : (openAiCodes[code as GatewayErrorCode] ?? rejectionCode(gatewayError) ?? code.toLowerCase()),
        headworks_code: code,
        request_id: requestId,
        ...(retry_after_seconds === undefined ? {} : { retry_after_seconds }),
        ...(code === 'GATEWAY_KEY_LIMIT_REACHED' && details ? { limit: limitBody(details) } : {}),
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

const limitBody = ({ limit: name, ...rest }: Readonly<Record<string, unknown>>) => ({ name, ...rest });

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

/* ---- Anthropic ---- */

const anthropicTypes: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
  504: 'timeout_error',
};

/** Never throws. */
export function anthropicErrorOf(thrown: unknown, requestId: string) {
  const { status, headers, body, isUnexpected } = openAiErrorOf(thrown, requestId);
  const { message, type: _openAiType, ...details } = body.error;
  const type = anthropicTypes[status] ?? (status >= 500 ? 'api_error' : 'invalid_request_error');
  return {
    status,
    headers: { ...headers, 'request-id': requestId },
    isUnexpected,
    body: { type: 'error', error: { type, message, ...details }, request_id: requestId },
  };
}

/* ---- errors in a stream that has begun ---- */

export interface StreamError {
  /** The event that ends the stream. */
  readonly event: string;
  readonly isUnexpected: boolean;
}

/** In the format of the API that the caller uses. */
export function streamErrorOf(api: ChatApi | null, thrown: unknown, requestId: string): StreamError {
  if (api === 'messages') {
    const { body, isUnexpected } = anthropicErrorOf(thrown, requestId);
    return { event: `event: error\ndata: ${JSON.stringify(body)}\n\n`, isUnexpected };
  }
  const { body, isUnexpected } = openAiErrorOf(thrown, requestId);
  if (api !== 'responses') return { event: `data: ${JSON.stringify(body)}\n\n`, isUnexpected };
  const { code, message, param } = body.error;
  // The number is unknown here; clients do not compare it in errors.
  const event = { type: 'error', sequence_number: 0, code, message, param, error: body.error };
  return { event: `event: error\ndata: ${JSON.stringify(event)}\n\n`, isUnexpected };
}

function parameterOf(thrown: unknown): string | null {
  if (!(thrown instanceof HeadworksError)) return null;
  if (thrown.code === 'GATEWAY_MODEL_NOT_FOUND') return 'model';
  const { field } = thrown.details;
  return typeof field === 'string' ? field : null;
}
