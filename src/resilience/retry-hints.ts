// Reads when a server allows the next request: headers, bodies and prose. Undefined instead of a wrong number.

/**
 * When a server allows the next request.
 *
 * @example const hint: RetryHint = { retryAfterMs: 1_500, source: 'retry-after' };
 */
export interface RetryHint {
  /** Wait at least this long; whole milliseconds up to 31 days. "Now" is 1 s: an immediate retry would be rejected again. */
  readonly retryAfterMs: number;
  /** The header's name, or the part of the body. */
  readonly source: string;
}

export interface HintInput {
  /** Names in any case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /**
   * Was the request rejected for a rate limit? If not, only an explicit Retry-After counts: quota headers come with
   * every response, and prose of a failing server proves nothing. Default true.
   */
  readonly isRateLimited?: boolean;
}

/**
 * The hint in a response, in order of precedence: a quota per day that the body names, whatever shorter delay comes with
 * it (Gemini); `retry-after-ms` and `x-ms-retry-after-ms`, then `Retry-After`; then the body (Gemini's RetryInfo,
 * OpenRouter's wrapped headers, Cloudflare's daily quota, prose), which refers to this rejection; then the reset headers,
 * which describe quota windows in general (see `windowToWaitFor`); then a window or a delay that the body names without a
 * number ("10 API calls / minute", "retry shortly"). `now` is the wall clock in epoch milliseconds.
 */
export function readRetryHint(response: HintInput, now: number): RetryHint | undefined {
  const headers = lowerCased(response.headers);
  if (response.isRateLimited === false) return explicitHint(headers, now);
  const body = response.body ?? '';
  return (
    dailyQuota(body, now) ??
    explicitHint(headers, now) ??
    bodyHint(body, now, (wrapped) => headersHint(wrapped, now)) ??
    windowHint(headers, now) ??
    vagueHint(body, now)
  );
}

/** Undefined without a delay. */
function hintOf(retryAfterMs: number | undefined, source: string): RetryHint | undefined {
  return retryAfterMs === undefined ? undefined : { retryAfterMs: retryAfterMs || minRetryMs, source };
}

function headersHint(headers: Readonly<Record<string, string>>, now: number): RetryHint | undefined {
  return explicitHint(headers, now) ?? windowHint(headers, now);
}

function explicitHint(headers: Readonly<Record<string, string>>, now: number): RetryHint | undefined {
  for (const source of ['retry-after-ms', 'x-ms-retry-after-ms']) {
    const hint = hintOf(plausibleMs(decimal(headers[source] ?? '')), source);
    if (hint) return hint;
  }
  return hintOf(retryAfterHeaderMs(headers['retry-after'] ?? '', now, headers['date']), 'retry-after');
}

function windowHint(headers: Readonly<Record<string, string>>, now: number): RetryHint | undefined {
  const window = windowToWaitFor(quotaWindows(headers, now), namedWindows(headers, now));
  return window && hintOf(window.resetMs, window.source);
}

function lowerCased(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

/** Larger bodies are not error messages and are not parsed. */
const maxBodyLength = 64 * 1024;

type Json = Readonly<Record<string, unknown>>;

/** The JSON object in a body, or the first element of an array (Gemini). Undefined for anything else. */
export function jsonBody(body: string): Json | undefined {
  if (body.length > maxBodyLength) return undefined;
  try {
    const parsed: unknown = JSON.parse(body);
    return asObject(Array.isArray(parsed) ? parsed[0] : parsed);
  } catch {
    return undefined;
  }
}

/** The JSON objects in a body: its own, and what OpenRouter's upstream responded. */
function jsonBodies(body: string): readonly Json[] {
  const json = jsonBody(body);
  if (!json) return [];
  const raw = rawBody(json);
  const upstream = raw === undefined ? undefined : jsonBody(raw);
  return upstream ? [json, upstream] : [json];
}

/** OpenRouter: what its upstream responded, as text. */
function rawBody(json: Json): string | undefined {
  const raw = asObject(asObject(json['error'])?.['metadata'])?.['raw'];
  return typeof raw === 'string' ? raw : undefined;
}

/** The message fields of an error body, wrapped ones last, or the text itself when it is not JSON. */
export function messagesIn(body: string): readonly string[] {
  const json = jsonBody(body);
  if (!json) return body.length > maxBodyLength ? [] : [body];
  const error = asObject(json['error']);
  const places = [json, error, ...asArray(json['errors']).map(asObject)];
  const messages = places.flatMap((place) =>
    ['message', 'error', 'detail', 'title', 'type', 'reason']
      .map((field) => place?.[field])
      .filter((value) => typeof value === 'string'),
  );
  const raw = rawBody(json);
  return raw === undefined ? messages : [...messages, ...messagesIn(raw)];
}

/** The hint in a body. `readHeaders` reads the headers that OpenRouter wraps in the body. */
function bodyHint(
  body: string,
  now: number,
  readHeaders: (headers: Readonly<Record<string, string>>) => RetryHint | undefined,
): RetryHint | undefined {
  const json = jsonBody(body);
  return (
    firstIn(jsonBodies(body), retryInfo) ??
    (json && wrappedHeaders(json, readHeaders)) ??
    dailyAllocation(json, body, now) ??
    prose(body)
  );
}

/** The first that is found. */
function firstIn<T>(bodies: readonly Json[], find: (json: Json) => T | undefined): T | undefined {
  for (const json of bodies) {
    const found = find(json);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Gemini: `error.details[]` has `{"@type": "…google.rpc.RetryInfo", "retryDelay": "47.43s"}`. */
function retryInfo(json: Json): RetryHint | undefined {
  for (const detail of asArray(asObject(json['error'])?.['details']).map(asObject)) {
    const type = detail?.['@type'];
    const delay = detail?.['retryDelay'];
    if (typeof type !== 'string' || !type.endsWith('google.rpc.RetryInfo') || typeof delay !== 'string')
      continue;
    const hint = hintOf(plausibleMs(compactDurationMs(delay)), 'body RetryInfo');
    if (hint) return hint;
  }
  return undefined;
}

/**
 * Gemini: `error.details[].violations[]` has the `quotaId` of every exceeded quota (`GenerateRequestsPerDay…`). Its
 * RetryInfo is less than a minute even then. Its days end at midnight Pacific.
 */
function dailyQuota(body: string, now: number): RetryHint | undefined {
  const details = jsonBodies(body).flatMap((json) => asArray(asObject(json['error'])?.['details']));
  const violations = details.flatMap((detail) => asArray(asObject(detail)?.['violations'])).map(asObject);
  const isPerDay = violations.some((violation) => /PerDay/.test(String(violation?.['quotaId'])));
  return isPerDay ? hintOf(untilPacificMidnightMs(now), 'body daily quota') : undefined;
}

/** OpenRouter: `error.metadata.headers` holds the headers of its upstream. */
function wrappedHeaders(
  json: Json,
  readHeaders: (headers: Readonly<Record<string, string>>) => RetryHint | undefined,
): RetryHint | undefined {
  const headers = asObject(asObject(asObject(json['error'])?.['metadata'])?.['headers']);
  if (!headers) return undefined;
  const plain = Object.entries(headers)
    .filter((header): header is [string, string | number] => ['string', 'number'].includes(typeof header[1]))
    .map(([name, value]) => [name.toLowerCase(), String(value)] as const);
  const hint = readHeaders(Object.fromEntries(plain));
  return hint && { ...hint, source: `body ${hint.source}` };
}

const hasErrorCode = (json: Json | undefined, code: number): boolean =>
  asArray(json?.['errors']).some((error) => asObject(error)?.['code'] === code);

/** Cloudflare: code 3036 or 4006, or "daily free allocation": all reset at midnight UTC. */
function dailyAllocation(json: Json | undefined, body: string, now: number): RetryHint | undefined {
  const isUsedUp =
    [3036, 4006].some((code) => hasErrorCode(json, code)) ||
    messagesIn(body).some((message) => /\bdaily free allocation\b/i.test(message));
  return isUsedUp ? hintOf(windowMs('day', now), 'body daily allocation') : undefined;
}

function prose(body: string): RetryHint | undefined {
  for (const message of messagesIn(body)) {
    const hint = hintOf(proseMs(message), 'body message');
    if (hint) return hint;
  }
  return undefined;
}

/** "Shortly", and what is over soon by its nature: full capacity. */
const shortMs = 10_000;
const soon =
  /\b(?:retry|try again) (?:shortly|soon|in a moment)\b|\btemporarily (?:rate[ -]limited|overloaded|at capacity)\b|\bcapacity (?:temporarily )?exceeded\b/i;

/** A window, or a delay without a number. Cloudflare's code 3040 is full capacity. */
function vagueHint(body: string, now: number): RetryHint | undefined {
  if (hasErrorCode(jsonBody(body), 3040)) return hintOf(shortMs, 'body capacity');
  const messages = messagesIn(body).map((message) => message.slice(0, maxMessageLength));
  if (messages.some((message) => soon.test(message))) return hintOf(shortMs, 'body message');
  const named = new Set(messages.flatMap(windowsNamedIn));
  const [only] = named;
  return named.size === 1 && only ? hintOf(windowMs(only, now), 'body message') : undefined;
}

/** "limited to 10 API calls / minute", "Too many tokens per day", "free-models-per-day". */
function windowsNamedIn(message: string): readonly WindowName[] {
  if (!/\b(?:limit|quota|too many\b)/i.test(message)) return [];
  const found = message.matchAll(/(?:\/ ?|\bper[ -])(second|minute|min|hour|day|month)\b/gi);
  return Array.from(found, ([, name = '']) => windowNames[name.toLowerCase()]).filter(
    (name) => name !== undefined,
  );
}

function asObject(value: unknown): Json | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : undefined;
}

function asArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

interface QuotaWindow {
  /** The header's name. */
  readonly source: string;
  readonly resetMs: number;
  /** What is left in the window; undefined when unknown. */
  readonly remaining: number | undefined;
  /** Counts tokens or bytes: what is left may be too little for the next request. */
  readonly isBySize: boolean;
}

type Headers = Readonly<Record<string, string>>;

/** `x-ratelimit-reset-requests`, `ratelimit-reset`, `ratelimitbysize-reset`, `anthropic-ratelimit-tokens-reset`, … */
const resetHeader = /^(?:x-|anthropic-)?rate-?limit(?:bysize)?(?:-[a-z-]+)?-reset(?:-[a-z-]+)?$/;

/** Every quota window in the headers (names in lower case). */
export function quotaWindows(headers: Headers, now: number): readonly QuotaWindow[] {
  const windows: QuotaWindow[] = [];
  for (const [source, value] of Object.entries(headers)) {
    if (source === 'ratelimit') windows.push(...ietfWindows(value));
    if (!resetHeader.test(source)) continue;
    const untilReset = resetHeaderMs(value, now);
    if (untilReset === undefined) continue;
    const remaining = decimal(headers[source.replace('reset', 'remaining')] ?? '');
    windows.push({ source, resetMs: untilReset, remaining, isBySize: /token|bysize/.test(source) });
  }
  return windows;
}

/** IETF `RateLimit: "burst";r=0;t=10, "day";r=7;t=3600`, or the older `limit=10, remaining=0, reset=10`. */
function ietfWindows(value: string): readonly QuotaWindow[] {
  const older = /^\s*limit=\d+\s*,\s*remaining=(\d+)\s*,\s*reset=(\d+)\s*$/.exec(value);
  const items = older ? [`r=${older[1]};t=${older[2]}`] : value.split(',');
  return items.flatMap((item) => {
    const parameters = new Map(item.split(';').map((part) => parameter(part.trim())));
    const seconds = decimal(parameters.get('t') ?? '');
    const untilReset = plausibleMs(seconds === undefined ? undefined : seconds * 1_000);
    if (untilReset === undefined) return [];
    const remaining = decimal(parameters.get('r') ?? '');
    return [{ source: 'ratelimit', resetMs: untilReset, remaining, isBySize: false }];
  });
}

/** `x-ratelimit-remaining-req-minute: 0` without a reset header: until the named window is over, at the latest. */
function namedWindows(headers: Headers, now: number): readonly QuotaWindow[] {
  const windows: QuotaWindow[] = [];
  for (const [source, value] of Object.entries(headers)) {
    const match = /^(?:x-)?ratelimit-remaining(?:-[a-z]+)*-(second|minute|hour|day|month)$/.exec(source);
    const name = windowNames[match?.[1] ?? ''];
    if (name === undefined || decimal(value) !== 0) continue;
    windows.push({ source, resetMs: windowMs(name, now), remaining: 0, isBySize: false });
  }
  return windows;
}

function parameter(part: string): readonly [string, string] {
  const equals = part.indexOf('=');
  return equals < 0 ? [part, ''] : [part.slice(0, equals), part.slice(equals + 1)];
}

/**
 * The window to wait for after a rejection:
 * 1. of the windows with nothing left the latest, because all of them must reset; those with a reset first;
 * 2. else of those with an unknown remainder the soonest: at worst one more rejection, instead of a lost day;
 * 3. else of those by size the soonest: what is left was too little.
 * A window of requests with requests left did not cause the rejection.
 */
function windowToWaitFor(
  windows: readonly QuotaWindow[],
  named: readonly QuotaWindow[],
): QuotaWindow | undefined {
  const bySoonest = windows.toSorted((a, b) => a.resetMs - b.resetMs);
  return (
    bySoonest.findLast((window) => window.remaining === 0) ??
    named.toSorted((a, b) => a.resetMs - b.resetMs).at(-1) ??
    bySoonest.find((window) => window.remaining === undefined) ??
    bySoonest.find((window) => window.isBySize)
  );
}

/** A limit of 0, such as Mistral's `x-ratelimit-limit-req-minute: 0`: the key is valid but has no quota. */
export function hasNoQuota(headers: Headers): boolean {
  return Object.entries(headers).some(
    ([name, value]) =>
      /^(?:x-)?ratelimit(?:bysize)?-limit(?:-[a-z-]+)?$/.test(name.toLowerCase()) && decimal(value) === 0,
  );
}

// Durations and times in responses. Strict: undefined instead of a guess.

/** A longer hint is ignored: no quota window is longer than a month. */
export const maxHintMs = 31 * 24 * 3_600_000;

const unitMs: Readonly<Record<string, number>> = {
  d: 86_400_000,
  day: 86_400_000,
  h: 3_600_000,
  hr: 3_600_000,
  hour: 3_600_000,
  m: 60_000,
  min: 60_000,
  minute: 60_000,
  s: 1_000,
  sec: 1_000,
  second: 1_000,
  ms: 1,
  millisecond: 1,
  us: 1e-3,
  µs: 1e-3,
  ns: 1e-6,
};

type WindowName = 'second' | 'minute' | 'hour' | 'day' | 'month';

const windowNames: Readonly<Record<string, WindowName>> = {
  second: 'second',
  minute: 'minute',
  min: 'minute',
  hour: 'hour',
  day: 'day',
  month: 'month',
};

/** How long a window lasts at most: days and months end in UTC, when shorter ones began is unknown. */
function windowMs(name: WindowName, now: number): number {
  const at = new Date(now);
  if (name === 'month') return Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1) - now;
  return name === 'day' ? Math.ceil(dayMs - (now % dayMs)) : (unitMs[name] ?? 0);
}

const dayMs = 86_400_000;

function untilPacificMidnightMs(now: number): number {
  const candidate = now + dayMs - pacificTimeOfDayMs(now);
  const off = pacificTimeOfDayMs(candidate);
  // An hour off on a day on which the clocks change.
  return candidate - now + (off > dayMs / 2 ? dayMs - off : -off);
}

const pacificTime = new Intl.DateTimeFormat('en-US', {
  timeZone: 'America/Los_Angeles',
  hourCycle: 'h23',
  hour: 'numeric',
  minute: 'numeric',
  second: 'numeric',
});

function pacificTimeOfDayMs(at: number): number {
  const [hours = 0, minutes = 0, seconds = 0] = pacificTime.format(at).split(':').map(Number);
  return ((hours * 60 + minutes) * 60 + seconds) * 1_000 + (at % 1_000);
}

/** Whole milliseconds from 0 to 31 days, rounded up; else undefined. */
function plausibleMs(ms: number | undefined): number | undefined {
  if (ms === undefined || !(ms >= 0 && ms <= maxHintMs)) return undefined;
  // Without the subtraction, 7.66 s (7660.000000000001 ms) would become 7661.
  return Math.max(0, Math.ceil(ms - 1e-6));
}

/** A plain decimal: "30", "7.66". No sign, exponent, inner blank or unit. */
function decimal(text: string): number | undefined {
  const trimmed = text.trim();
  return /^\d{1,15}(\.\d{1,12})?$/.test(trimmed) ? Number(trimmed) : undefined;
}

/** "6m0s", "2m59.56s", "4h17m", "120ms": units in descending order, each at most once. */
function compactDurationMs(text: string): number | undefined {
  const trimmed = text.trim();
  return /^(\d{1,12}(\.\d{1,12})?(ms|us|µs|ns|d|h|m|s))+$/.test(trimmed) ? durationMs(trimmed) : undefined;
}

/** An HTTP date ("Sun, 06 Nov 1994 08:49:37 GMT") as epoch milliseconds. Undefined for a day that does not exist. */
function httpDate(text: string): number | undefined {
  const at = Date.parse(text.trim());
  return Number.isFinite(at) && new Date(at).toUTCString() === text.trim() ? at : undefined;
}

/** "2026-01-31T12:00:00Z", also with a fraction or an offset, as epoch milliseconds. */
function isoDate(text: string): number | undefined {
  const match = /^(\d{4}-\d{2}-\d{2})T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/.exec(text.trim());
  const day = match?.[1];
  if (day === undefined) return undefined;
  // Date.parse turns 30 February into 2 March, so the day is checked by a round trip.
  const midnight = Date.parse(`${day}T00:00:00Z`);
  if (!Number.isFinite(midnight) || !new Date(midnight).toISOString().startsWith(day)) return undefined;
  const at = Date.parse(text.trim());
  return Number.isFinite(at) && !text.includes('T24:') ? at : undefined;
}

/** A time at most this long ago means now: clocks differ, and responses take time. */
const clockSkewMs = 60_000;
/** The delay for "now". */
const minRetryMs = 1_000;

/** Milliseconds from `now` to a point in time, both in epoch milliseconds. Undefined for a time long past. */
function untilMs(at: number, now: number): number | undefined {
  const ms = at - now;
  return ms <= 0 && ms >= -clockSkewMs ? minRetryMs : plausibleMs(ms);
}

/** `Retry-After`: seconds, or a date measured against the server's `Date` header if there is one. */
function retryAfterHeaderMs(value: string, now: number, serverDate?: string): number | undefined {
  const seconds = decimal(value);
  if (seconds !== undefined) return plausibleMs(seconds * 1_000);
  // Some servers subtract their clock from a time that has just passed.
  const passed = decimal(value.trim().replace(/^-/, ''));
  if (passed !== undefined) return untilMs(now - passed * 1_000, now);
  const at = httpDate(value) ?? isoDate(value);
  if (at === undefined) return plausibleMs(compactDurationMs(value));
  return untilMs(at, httpDate(serverDate ?? '') ?? now);
}

/**
 * The value of a reset header: a duration with units, seconds, epoch seconds, epoch milliseconds or an ISO date.
 * Plain numbers are distinguished by size: a month has under 3 million seconds, the epoch has over a billion.
 */
function resetHeaderMs(value: string, now: number): number | undefined {
  const number = decimal(value);
  if (number === undefined) {
    const at = isoDate(value);
    return at === undefined ? plausibleMs(compactDurationMs(value)) : untilMs(at, now);
  }
  if (number >= 1e12 && number < 1e13) return untilMs(number, now);
  if (number >= 1e9 && number < 1e10) return untilMs(number * 1_000, now);
  return plausibleMs(number * 1_000);
}

const amount = String.raw`\d{1,12}(?:\.\d{1,12})?\s?(?:milliseconds?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d)`;
const amounts = String.raw`(${amount}(?:(?:\s*,\s*|\s+and\s+|\s*)${amount})*)(?![\w-])`;
const retryPhrase = new RegExp(String.raw`\b(?:try again|retry)\s+(?:in|after)\s+${amounts}`, 'gi');
const waitPhrase = new RegExp(String.raw`\bplease wait\s+(?:for\s+)?${amounts}`, 'gi');

/** The delay is in the first sentences of a message. */
const maxMessageLength = 4_000;

/**
 * A delay in a sentence: "try again in 16m32.64s", "retry after 1 minute and 30 seconds", "Please wait 42567 seconds".
 * Undefined for a number without a unit and for contradicting delays. "Try again" takes precedence over "wait".
 */
function proseMs(message: string): number | undefined {
  const text = message.slice(0, maxMessageLength);
  for (const phrase of [retryPhrase, waitPhrase]) {
    const delays = new Set(Array.from(text.matchAll(phrase), ([, found = '']) => durationMs(found)));
    if (delays.size > 0) return delays.size === 1 ? plausibleMs(delays.values().next().value) : undefined;
  }
  return undefined;
}

/** "1 minute and 30 seconds", "16m 32.64s": undefined unless units descend, each at most once. */
function durationMs(text: string): number | undefined {
  let totalMs = 0;
  let previous = Number.POSITIVE_INFINITY;
  for (const [, number = '', unit = ''] of text.toLowerCase().matchAll(/(\d+(?:\.\d+)?)\s?([a-zµ]+)/g)) {
    const one = unitMs[unit] ?? unitMs[unit.replace(/s$/, '')] ?? Number.NaN;
    if (!(one < previous)) return undefined;
    previous = one;
    totalMs += Number(number) * one;
  }
  return totalMs;
}
