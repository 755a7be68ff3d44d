// What kind of failure an HTTP call met, and whether it is worth another try. Extraction and gateway share it.
import { HttpFailure } from '../core/http.ts';
import { jsonBody, messagesIn } from './retry-hints/body-hints.ts';
import { hasNoQuota } from './retry-hints/quota-windows.ts';
import type { RetryHint } from './retry-hints/retry-hint.ts';
import { readRetryHint } from './retry-hints/retry-hint.ts';

/** An answer that is not the one hoped for. */
export interface RefusedAnswer {
  readonly status: number;
  /** Names in any case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * The classes and what to do with each:
 * - `rate-limit`: wait as the hint says, slow down, come back; costs no retry where the caller can wait.
 * - `server-error`, `timeout`, `network`: their fault or the way's; try again later.
 * - `authentication`: the credential is refused; log in again or cool this credential down, never hammer.
 * - `payment`: no money or no quota left; a person has to act.
 * - `validation`: they refuse this request; the same again is refused again.
 * - `not-found`: the thing is not there (or no more).
 * - `malformed`: an answer we cannot use (too large, or a status that makes no sense here).
 * - `cancelled`: we stopped it ourselves.
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
  'cancelled',
] as const;

export interface HttpFailureClass {
  readonly kind: FailureKind;
  /** Would the same request, sent later, have a chance? */
  readonly isTransient: boolean;
  /** Undefined when no answer came. */
  readonly status: number | undefined;
  readonly hint: RetryHint | undefined;
}

const transient: ReadonlySet<FailureKind> = new Set(['rate-limit', 'server-error', 'timeout', 'network']);

/** Classes a failed call. `now` is the wall clock in epoch milliseconds. */
export function classifyHttpFailure(failure: RefusedAnswer | HttpFailure, now: number): HttpFailureClass {
  if (failure instanceof HttpFailure) return classOf(kindsWithoutAnswer[failure.kind], undefined, undefined);
  const { status, headers, body } = failure;
  const isRateLimited = refusesForALimit(failure);
  const hint = readRetryHint({ headers, body, isRateLimited }, now);
  if (!isRateLimited) return classOf(kindOfStatus(status), status, hint);
  const isOutOfQuota = hasNoQuota(headers) || (hint === undefined && hasField(body, 'insufficientquota'));
  return classOf(isOutOfQuota ? 'payment' : 'rate-limit', status, hint);
}

function classOf(
  kind: FailureKind,
  status: number | undefined,
  hint: RetryHint | undefined,
): HttpFailureClass {
  // 501 and 505 are server errors that no waiting heals.
  const isTransient = transient.has(kind) && status !== 501 && status !== 505;
  return { kind, isTransient, status, hint };
}

const kindsWithoutAnswer: Readonly<Record<HttpFailure['kind'], FailureKind>> = {
  timeout: 'timeout',
  network: 'network',
  'too-large': 'malformed',
  aborted: 'cancelled',
};

function kindOfStatus(status: number): FailureKind {
  if (status === 401 || status === 403 || status === 407) return 'authentication';
  if (status === 402) return 'payment';
  if (status === 404 || status === 410) return 'not-found';
  if (status === 408 || status === 504 || status === 524) return 'timeout';
  if (status === 425 || status >= 500) return 'server-error';
  return status >= 400 ? 'validation' : 'malformed';
}

/** 429; or a 403 or 5xx that *says* it is one. An id that merely contains 429 says nothing. */
function refusesForALimit({ status, body }: RefusedAnswer): boolean {
  if (status === 429) return true;
  if (status !== 403 && status < 500) return false;
  return rateLimitCodes.some((code) => hasField(body, code)) || messagesIn(body).some(saysRateLimit);
}

/** As `plainCode` writes them. */
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

/** Up to 80 characters of the same sentence; the dot in "model-1.5" does not end one. */
const between = String.raw`(?:[^.!?]|[.!?](?=\S)){0,80}`;
const limit = String.raw`rate[ _-]?limit`;
const rateLimitProse = new RegExp(
  String.raw`\b${limit}(?:ed|[ _-]?(?:exceeded|reached|error))\b|\btoo many requests\b` +
    String.raw`|\b${limit}(?:s|ing)?\b${between}\b(?:exceed(?:ed|s)?|reached|hit)\b` +
    String.raw`|\b(?:exceed(?:ed|s|ing)?|reach(?:ed|es)?|hit|over|due to)\b${between}\b${limit}(?:s|ing)?\b`,
  'i',
);

/** That there are limits says nothing ("See our rate limits page."); that one is exceeded does. */
function saysRateLimit(message: string): boolean {
  const withoutLinks = message.replace(/\bhttps?:\/\/\S+/gi, '');
  return rateLimitProse.test(withoutLinks);
}

/** Is `code` the error's code or status field, at the top, in `error` or in one of `errors`? As `plainCode` writes it. */
function hasField(body: string, code: string): boolean {
  const json = jsonBody(body);
  const errors: unknown = json?.['errors'];
  const places: readonly unknown[] = [json, json?.['error'], ...(Array.isArray(errors) ? errors : [])];
  return places.some(
    (place) =>
      typeof place === 'object' &&
      place !== null &&
      ['code', 'status', 'statusCode', 'status_code', 'type', 'reason'].some(
        (field) => plainCode((place as Readonly<Record<string, unknown>>)[field]) === code,
      ),
  );
}

/** `RATE_LIMIT_EXCEEDED`, `rate-limit-exceeded` and `RateLimitExceeded` are one. */
function plainCode(code: unknown): string | undefined {
  if (typeof code === 'number') return String(code);
  return typeof code === 'string' ? code.toLowerCase().replaceAll(/[ _-]/g, '') : undefined;
}
