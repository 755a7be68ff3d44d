// When to come back: one reader for every way a server says it. Garbage gives undefined, never a wrong number.
import { decimal, plausibleMs, retryAfterMs } from './durations.ts';
import { bodyHint } from './body-hints.ts';
import { quotaWindows, windowToWaitFor } from './quota-windows.ts';

export interface RetryHint {
  /** Wait at least this long; whole milliseconds from 0 to 31 days. */
  readonly retryAfterMs: number;
  /** Where it was read: the header's name, or which part of the body. */
  readonly source: string;
}

export interface HintedAnswer {
  /** Names in any case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /**
   * Did the server refuse for a limit? If not, only an explicit Retry-After counts: quota headers come with every
   * answer, and prose of a broken server proves nothing. Default true.
   */
  readonly isRateLimited?: boolean;
}

/**
 * The hint in an answer, by falling authority: `retry-after-ms` and `x-ms-retry-after-ms`, then `Retry-After`; then
 * the body (Gemini's RetryInfo, OpenRouter's wrapped headers, Cloudflare's day, prose), which speaks of this very
 * refusal; then the reset headers, which speak of windows in general (see `windowToWaitFor`).
 * `now` is the wall clock in epoch milliseconds.
 */
export function readRetryHint(answer: HintedAnswer, now: number): RetryHint | undefined {
  const headers = lowerCased(answer.headers);
  const explicit = explicitHint(headers, now);
  if (explicit || answer.isRateLimited === false) return explicit;
  return bodyHint(answer.body ?? '', now, (wrapped) => headersHint(wrapped, now)) ?? windowHint(headers, now);
}

function headersHint(headers: Readonly<Record<string, string>>, now: number): RetryHint | undefined {
  return explicitHint(headers, now) ?? windowHint(headers, now);
}

function explicitHint(headers: Readonly<Record<string, string>>, now: number): RetryHint | undefined {
  for (const source of ['retry-after-ms', 'x-ms-retry-after-ms']) {
    const ms = plausibleMs(decimal(headers[source] ?? ''));
    if (ms !== undefined) return { retryAfterMs: ms, source };
  }
  const ms = retryAfterMs(headers['retry-after'] ?? '', now, headers['date']);
  return ms === undefined ? undefined : { retryAfterMs: ms, source: 'retry-after' };
}

function windowHint(headers: Readonly<Record<string, string>>, now: number): RetryHint | undefined {
  const window = windowToWaitFor(quotaWindows(headers, now));
  return window && { retryAfterMs: window.resetMs, source: window.source };
}

function lowerCased(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
