// Classifies failed HTTP calls and whether a retry can help. Shared by extraction and gateway.
import { HttpFailure } from '../core/http.ts';
import type { RetryHint } from './retry-hints.ts';
import { hasNoQuota, jsonBody, messagesIn, readRetryHint } from './retry-hints.ts';

/** An error response. */
export interface ErrorResponse {
  readonly status: number;
  /** Names in any case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * The kinds, and what the caller does about each:
 * - `rate-limit`: wait for the hint and slow down; does not count as a retry where the caller can wait.
 * - `server-error`, `timeout`, `network`: a fault of the server or the network; retry later.
 * - `authentication`: the credential is rejected; log in again or set a cooldown on it.
 * - `payment`: no credit or quota left; needs an operator.
 * - `validation`: the request is rejected; the same request would be rejected again.
 * - `not-found`: the resource does not exist (any more).
 * - `malformed`: a response that cannot be used (too large, or an unexpected status).
 * - `canceled`: canceled by us.
 */
export type FailureKind = (typeof failureKinds)[number];

/** Every FailureKind. */
export const failureKinds = [
  'rate-limit',
  'server-error',
  'timeout',
  'network',
  'authentication',
  'payment',
  'validation',
  'not-found',
  'malformed',
  'canceled',
] as const;

export interface HttpFailureClass {
  readonly kind: FailureKind;
  /** Could the same request succeed later? */
  readonly isTransient: boolean;
  /** Undefined without a response. */
  readonly status: number | undefined;
  readonly hint: RetryHint | undefined;
}

const transient: ReadonlySet<FailureKind> = new Set(['rate-limit', 'server-error', 'timeout', 'network']);

/** Classifies a failed call. `now` is the wall clock in epoch milliseconds. */
export function classifyHttpFailure(failure: ErrorResponse | HttpFailure, now: number): HttpFailureClass {
  if (failure instanceof HttpFailure)
    return classOf(kindsWithoutResponse[failure.kind], undefined, undefined);
  const { status, headers, body } = failure;
  const isRateLimited = isRateLimitResponse(failure);
  const hasQuota = !hasNoQuota(headers);
  // Without any quota it does not help to wait for a window.
  const hint = readRetryHint({ headers, body, isRateLimited: isRateLimited && hasQuota }, now);
  if (!isRateLimited) return classOf(kindOfStatus(status), status, hint);
  const isOutOfQuota = !hasQuota || (hint === undefined && hasField(body, 'insufficientquota'));
  return classOf(isOutOfQuota ? 'payment' : 'rate-limit', status, hint);
}

function classOf(
  kind: FailureKind,
  status: number | undefined,
  hint: RetryHint | undefined,
): HttpFailureClass {
  // 501 and 505 are server errors that do not go away.
  const isTransient = transient.has(kind) && status !== 501 && status !== 505;
  return { kind, isTransient, status, hint };
}

const kindsWithoutResponse: Readonly<Record<HttpFailure['kind'], FailureKind>> = {
  timeout: 'timeout',
  network: 'network',
  'too-large': 'malformed',
  aborted: 'canceled',
};

function kindOfStatus(status: number): FailureKind {
  if (status === 401 || status === 403 || status === 407) return 'authentication';
  if (status === 402) return 'payment';
  if (status === 404 || status === 410) return 'not-found';
  if (status === 408 || status === 504 || status === 524) return 'timeout';
  if (status === 425 || status >= 500) return 'server-error';
  return status >= 400 ? 'validation' : 'malformed';
}

/** 429, or a 403 or 5xx whose code or message names a rate limit. An id that contains 429 does not count. */
function isRateLimitResponse({ status, body }: ErrorResponse): boolean {
  if (status === 429) return true;
  if (status !== 403 && status < 500) return false;
  return rateLimitCodes.some((code) => hasField(body, code)) || messagesIn(body).some(mentionsExceededLimit);
}

/** Normalized by `normalizeCode`. */
const rateLimitCodes = [
  '429',
  'ratelimit',
  'ratelimited',
  'ratelimiterror',
  'ratelimitexceeded',
  'ratelimitexceedederror',
  'ratelimitreached',
  'toomanyrequests',
  'toomanyrequestserror',
  'resourceexhausted',
];

/** Up to 80 characters of the same sentence; the dot in "model-1.5" does not end it. */
const between = String.raw`(?:[^.!?]|[.!?](?=\S)){0,80}`;
const limit = String.raw`rate[ _-]?limit`;
const rateLimitProse = new RegExp(
  String.raw`\b${limit}(?:ed|[ _-]?(?:exceeded|reached|error))\b|\btoo many requests\b` +
    String.raw`|\b${limit}(?:s|ing)?\b${between}\b(?:exceed(?:ed|s)?|reached|hit)\b` +
    String.raw`|\b(?:exceed(?:ed|s|ing)?|reach(?:ed|es)?|hit|over|due to)\b${between}\b${limit}(?:s|ing)?\b`,
  'i',
);

/** A mere mention of limits does not count ("See our rate limits page."). */
function mentionsExceededLimit(message: string): boolean {
  const withoutLinks = message.replace(/\bhttps?:\/\/\S+/gi, '');
  return rateLimitProse.test(withoutLinks);
}

/** Is `code` (normalized) a code or status field at the top level, in `error` or in one of `errors`? */
function hasField(body: string, code: string): boolean {
  const json = jsonBody(body);
  const errors: unknown = json?.['errors'];
  const places: readonly unknown[] = [json, json?.['error'], ...(Array.isArray(errors) ? errors : [])];
  return places.some(
    (place) =>
      typeof place === 'object' &&
      place !== null &&
      ['code', 'status', 'statusCode', 'status_code', 'type', 'reason'].some(
        (field) => normalizeCode((place as Readonly<Record<string, unknown>>)[field]) === code,
      ),
  );
}

/** `RATE_LIMIT_EXCEEDED`, `rate-limit-exceeded` and `RateLimitExceeded` normalize to the same code. */
function normalizeCode(code: unknown): string | undefined {
  if (typeof code === 'number') return String(code);
  return typeof code === 'string' ? code.toLowerCase().replaceAll(/[ _-]/g, '') : undefined;
}
