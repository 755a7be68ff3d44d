// Error codes of the HTTP server, the status of every error, and the shape of error responses.
import type { FastifyError } from 'fastify';
import type { ErrorResponse } from '../api/fields.ts';
import type { ErrorCategory, ErrorCodes } from '../core/index.ts';
import {
  CoreError,
  coreErrorCodes,
  HeadworksError,
  maxJsonValues,
  plainValue,
  shortageOf,
  shortageTexts,
  snakeCaseKeys,
} from '../core/index.ts';
import { extractionErrorCodes } from '../extraction/index.ts';
import { gatewayErrorCodes } from '../gateway/index.ts';
import { knowledgeErrorCodes } from '../knowledge/index.ts';
import { ledgerErrorCodes } from '../ledger/index.ts';
import { admissionErrorCodes, deploymentErrorCodes } from '../tenancy/index.ts';

/** Errors of a request before any domain handles it. */
export const httpErrorCodes = {
  HTTP_HOST_NOT_ALLOWED: {
    category: 'forbidden',
    consequence: 'The Host header names an unknown host; nothing was done.',
  },
  HTTP_ORIGIN_NOT_ALLOWED: {
    category: 'forbidden',
    consequence: 'A web page of another origin sent the request; nothing was done.',
  },
  HTTP_METHOD_NOT_ALLOWED: {
    category: 'invalid_input',
    consequence: 'The path exists, but not with this method; nothing was done.',
  },
  HTTP_BODY_TOO_LARGE: {
    category: 'too_large',
    consequence: 'The request body is larger than accepted; nothing was done.',
  },
  HTTP_CONTENT_TYPE_UNSUPPORTED: {
    category: 'invalid_input',
    consequence: 'The request body is of an unsupported type; nothing was done.',
  },
  HTTP_REQUEST_TOO_SLOW: {
    category: 'request_timeout',
    consequence: 'The request did not arrive completely in time; nothing was done.',
  },
  HTTP_HEADERS_TOO_LARGE: {
    category: 'too_large',
    consequence: 'The request line or headers are larger than accepted; nothing was done.',
  },
  HTTP_ORGANIZATION_LIMIT: {
    category: 'limit_reached',
    consequence:
      'The organization has as many knowledge requests in progress as it may have; nothing was done.',
  },
  HTTP_TOO_MANY_STREAMS: {
    category: 'temporary',
    consequence: 'The maximum number of streams is open; retry later.',
  },
} as const satisfies ErrorCodes;

export type HttpErrorCode = keyof typeof httpErrorCodes;

export class HttpError extends HeadworksError<HttpErrorCode> {}

const allCodes = {
  ...coreErrorCodes,
  ...ledgerErrorCodes,
  ...extractionErrorCodes,
  ...gatewayErrorCodes,
  ...admissionErrorCodes,
  ...deploymentErrorCodes,
  ...knowledgeErrorCodes,
  ...httpErrorCodes,
} as const;

export type KnownErrorCode = keyof typeof allCodes;

interface StatusRule {
  readonly status: number;
  /** Sent as Retry-After when the error itself has no retry time. */
  readonly retryAfterMs?: number;
}

const shortRetryMs = 2_000;

const statusByCategory: Readonly<Record<ErrorCategory, StatusRule>> = {
  invalid_input: { status: 400 },
  unauthenticated: { status: 401 },
  forbidden: { status: 403 },
  not_found: { status: 404 },
  request_timeout: { status: 408 },
  conflict: { status: 409 },
  too_large: { status: 413 },
  unprocessable: { status: 422 },
  limit_reached: { status: 429 },
  // The client is gone; 499 is what proxies log for that.
  canceled: { status: 499 },
  internal: { status: 500 },
  upstream_failed: { status: 502 },
  unreachable: { status: 502 },
  misconfigured: { status: 503 },
  unusable: { status: 503 },
  temporary: { status: 503, retryAfterMs: shortRetryMs },
  unavailable: { status: 503, retryAfterMs: shortRetryMs },
  timeout: { status: 504 },
  storage_full: { status: 507 },
};

/** Codes whose status or default Retry-After differs from that of their category. */
const statusByCode: Readonly<Partial<Record<KnownErrorCode, StatusRule>>> = {
  CONFIG_INVALID: { status: 500 },
  GATEWAY_EXHAUSTED: { status: 503 },
  ADMISSION_ORG_LIMIT: { status: 429, retryAfterMs: shortRetryMs },
  ADMISSION_GLOBAL_LIMIT: { status: 429, retryAfterMs: shortRetryMs },
  HTTP_HOST_NOT_ALLOWED: { status: 421 },
  HTTP_METHOD_NOT_ALLOWED: { status: 405 },
  HTTP_CONTENT_TYPE_UNSUPPORTED: { status: 415 },
  HTTP_HEADERS_TOO_LARGE: { status: 431 },
  HTTP_TOO_MANY_STREAMS: { status: 503, retryAfterMs: 10_000 },
};

/** The status of every error code. */
export const errorMapping: Readonly<Record<KnownErrorCode, StatusRule>> = Object.fromEntries(
  Object.entries(allCodes).map(([code, { category }]) => [
    code,
    statusByCode[code as KnownErrorCode] ?? statusByCategory[category],
  ]),
) as Record<KnownErrorCode, StatusRule>;

export function isKnownErrorCode(code: string): code is KnownErrorCode {
  return Object.hasOwn(errorMapping, code);
}

export interface ErrorReply {
  readonly status: number;
  readonly body: ErrorResponse;
  /** Whole seconds, as the Retry-After header demands. */
  readonly retryAfterHeader: string | undefined;
  /** A bug: its message is logged, not sent. */
  readonly isUnexpected: boolean;
}

/** Never throws, whatever it is given. Messages of status 500 are not sent. */
export function toErrorResponse(thrown: unknown, requestId: string): ErrorReply {
  const error = knownErrorOf(thrown);
  const rule = errorMapping[error.code];
  const isUnexpected = rule.status === 500;
  const retryAfterMs = error.retryAfterMs ?? rule.retryAfterMs;
  const details = isUnexpected ? {} : error.details;
  return {
    status: rule.status,
    isUnexpected,
    retryAfterHeader:
      retryAfterMs === undefined ? undefined : String(Math.max(1, Math.ceil(retryAfterMs / 1000))),
    body: {
      error: {
        code: error.code,
        message: isUnexpected
          ? `An internal error occurred. The server log has details under request id ${requestId}.`
          : error.message,
        request_id: requestId,
        ...(retryAfterMs === undefined ? {} : { retry_after_seconds: Math.max(retryAfterMs, 0) / 1000 }),
        ...(Object.keys(details).length === 0
          ? {}
          : { details: snakeCaseKeys(plainValue(details)) as Record<string, unknown> }),
      },
    },
  };
}

/** Errors whose messages name addresses, users and folders of the server. */
const storeErrors = /^(STATE|REDIS|SQLITE|DATA_FOLDER)_/;

/** For callers other than the admin: that a store is unavailable and when to retry, without details. */
export function redactStoreErrors(thrown: unknown): unknown {
  if (!(thrown instanceof CoreError) || !storeErrors.test(thrown.code)) return thrown;
  const { code, isRetryable, retryAfterMs } = thrown;
  return new CoreError(code, 'A store of this server is unavailable.', {
    isRetryable,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    cause: thrown,
  });
}

function knownErrorOf(thrown: unknown): HeadworksError<KnownErrorCode> {
  const shortage = isUnexpectedError(thrown) ? shortageOf(thrown) : null;
  if (shortage !== null) {
    const { problem, remedy } = shortageTexts[shortage];
    return new CoreError('STATE_UNAVAILABLE', `The server ${problem}. ${remedy}`, {
      isRetryable: true,
      cause: thrown,
    });
  }
  if (thrown instanceof HeadworksError)
    return isKnownErrorCode(thrown.code)
      ? (thrown as HeadworksError<KnownErrorCode>)
      : new CoreError('INTERNAL', thrown.message, { cause: thrown });
  if (thrown instanceof Error) return fromFramework(thrown as FastifyError);
  return new CoreError('INTERNAL', 'A value was thrown that is not an error.');
}

/** A request body with more JSON values than `maxJsonValues`. */
export const tooManyValues = (): HttpError =>
  new HttpError(
    'HTTP_BODY_TOO_LARGE',
    `The request body has more than ${maxJsonValues.toLocaleString('en')} JSON values. Send less at once.`,
  );

const isUnexpectedError = (thrown: unknown): boolean =>
  !(thrown instanceof HeadworksError) ||
  !isKnownErrorCode(thrown.code) ||
  errorMapping[thrown.code].status === 500;

function fromFramework(error: FastifyError): HeadworksError<KnownErrorCode> {
  if (error.validation) return invalidInput(error);
  switch (error.code) {
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new HttpError(
        'HTTP_CONTENT_TYPE_UNSUPPORTED',
        'The request body is of an unsupported type. Send JSON with content-type: application/json.',
      );
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return new CoreError('INPUT_INVALID', 'A part of the path is longer than any name or id can be.');
    default:
      break;
  }
  // Other client errors of the framework: malformed JSON, forbidden keys, wrong lengths, bad URLs.
  if (error.statusCode !== undefined && error.statusCode >= 400 && error.statusCode < 500)
    return new CoreError('INPUT_INVALID', `The request cannot be read: ${error.message}`);
  return new CoreError('INTERNAL', error.message, { cause: error });
}

const places: Readonly<Record<string, string>> = {
  body: 'body',
  querystring: 'query',
  params: 'path',
  headers: 'headers',
};

/** Names every invalid field. */
function invalidInput(error: FastifyError): CoreError {
  const place = places[error.validationContext ?? ''] ?? 'request';
  const problems = (error.validation ?? []).flatMap(({ instancePath, message = 'is invalid', params }) => {
    const path = [place, ...instancePath.split('/').filter((part) => part !== '')].join('.');
    const unknown = Array.isArray(params['keys']) ? (params['keys'] as unknown[]).map(String) : [];
    if (unknown.length === 0) return [{ field: path, message }];
    return unknown.map((key) => ({ field: `${path}.${key}`, message }));
  });
  return invalidFields(problems);
}

/** A response names at most this many fields, each up to this length: names of fields come from the caller. */
const maxListed = 20;
const maxFieldLength = 200;

/** The request is rejected because of these. */
export function invalidFields(
  found: readonly { readonly field: string; readonly message: string }[],
): CoreError {
  const problems = found
    .slice(0, maxListed)
    .map(({ field, message }) => ({ field: field.slice(0, maxFieldLength).toWellFormed(), message }));
  const more = found.length - problems.length;
  const list = problems.map(({ field, message }) => `${field}: ${message}`).join('; ');
  return new CoreError(
    'INPUT_INVALID',
    `The request is invalid. ${list.replace(/\.$/, '')}${more > 0 ? `; and ${more} more problems` : ''}.`,
    { details: { problems } },
  );
}
