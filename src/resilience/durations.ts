// Parses the durations and times in server responses. Strict: returns undefined instead of guessing.

/** A longer hint is ignored: no quota window is longer than a month. */
export const maxHintMs = 31 * 24 * 3_600_000;

const unitMs: Readonly<Record<string, number>> = {
  d: 86_400_000,
  h: 3_600_000,
  m: 60_000,
  s: 1_000,
  ms: 1,
  us: 1e-3,
  µs: 1e-3,
  ns: 1e-6,
};

/** Whole milliseconds from 0 to 31 days, rounded up; else undefined. */
export function plausibleMs(ms: number | undefined): number | undefined {
  if (ms === undefined || !(ms >= 0 && ms <= maxHintMs)) return undefined;
  // Without the subtraction, 7.66 s (7660.000000000001 ms) would become 7661.
  return Math.max(0, Math.ceil(ms - 1e-6));
}

/** A plain decimal: "30", "7.66". No sign, exponent, inner blank or unit. */
export function decimal(text: string): number | undefined {
  const trimmed = text.trim();
  return /^\d{1,15}(\.\d{1,12})?$/.test(trimmed) ? Number(trimmed) : undefined;
}

/** "6m0s", "2m59.56s", "4h17m", "120ms": units in descending order, each at most once. */
export function compactDurationMs(text: string): number | undefined {
  const trimmed = text.trim();
  if (!/^(\d{1,12}(\.\d{1,12})?(ms|us|µs|ns|d|h|m|s))+$/.test(trimmed)) return undefined;
  let totalMs = 0;
  let previous = Number.POSITIVE_INFINITY;
  for (const [, amount = '', unit = ''] of trimmed.matchAll(/(\d+(?:\.\d+)?)(ms|us|µs|ns|d|h|m|s)/g)) {
    const one = unitMs[unit] ?? Number.NaN;
    if (one >= previous) return undefined;
    previous = one;
    totalMs += Number(amount) * one;
  }
  return totalMs;
}

/** An HTTP date ("Sun, 06 Nov 1994 08:49:37 GMT") as epoch milliseconds. Undefined for a day that does not exist. */
export function httpDate(text: string): number | undefined {
  const at = Date.parse(text.trim());
  return Number.isFinite(at) && new Date(at).toUTCString() === text.trim() ? at : undefined;
}

/** "2026-01-31T12:00:00Z", also with a fraction or an offset, as epoch milliseconds. */
export function isoDate(text: string): number | undefined {
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
/** The delay for "now": an immediate retry would be rejected again. */
const soonMs = 1_000;

/** From `now` to a point in time, both in epoch milliseconds. Undefined for a time long past. */
function untilMs(at: number, now: number): number | undefined {
  const ms = at - now;
  return ms <= 0 && ms >= -clockSkewMs ? soonMs : plausibleMs(ms);
}

/** `Retry-After`: seconds, or a date measured against the server's `Date` header if there is one. */
export function retryAfterMs(value: string, now: number, serverDate?: string): number | undefined {
  const seconds = decimal(value);
  if (seconds !== undefined) return plausibleMs(seconds * 1_000);
  const at = httpDate(value) ?? isoDate(value);
  if (at === undefined) return plausibleMs(compactDurationMs(value));
  return untilMs(at, httpDate(serverDate ?? '') ?? now);
}

/**
 * The value of a reset header: a duration with units, seconds, epoch seconds, epoch milliseconds or an ISO date.
 * Plain numbers are distinguished by size: a month has under 3 million seconds, the epoch has over a billion.
 */
export function resetMs(value: string, now: number): number | undefined {
  const number = decimal(value);
  if (number === undefined) {
    const at = isoDate(value);
    return at === undefined ? plausibleMs(compactDurationMs(value)) : untilMs(at, now);
  }
  if (number >= 1e12 && number < 1e13) return untilMs(number, now);
  if (number >= 1e9 && number < 1e10) return untilMs(number * 1_000, now);
  return plausibleMs(number * 1_000);
}

const wordMs: Readonly<Record<string, number>> = {
  ...unitMs,
  millisecond: 1,
  second: 1_000,
  sec: 1_000,
  minute: 60_000,
  min: 60_000,
  hour: 3_600_000,
  hr: 3_600_000,
  day: 86_400_000,
};

const amount = String.raw`\d{1,12}(?:\.\d{1,12})?\s?(?:milliseconds?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d)`;
const amounts = String.raw`(${amount}(?:(?:\s*,\s*|\s+and\s+|\s*)${amount})*)(?![\w-])`;
const retryPhrase = new RegExp(String.raw`\b(?:try again|retry)\s+(?:in|after)\s+${amounts}`, 'gi');
const waitPhrase = new RegExp(String.raw`\bplease wait\s+(?:for\s+)?${amounts}`, 'gi');

/**
 * A delay in a sentence: "try again in 16m32.64s", "retry after 1 minute and 30 seconds", "Please wait 42567 seconds".
 * Undefined for a number without a unit and for contradicting delays. "Try again" takes precedence over "wait".
 */
export function proseMs(text: string): number | undefined {
  for (const phrase of [retryPhrase, waitPhrase]) {
    const delays = new Set(Array.from(text.matchAll(phrase), ([, found = '']) => phraseMs(found)));
    if (delays.size > 0) return delays.size === 1 ? plausibleMs(delays.values().next().value) : undefined;
  }
  return undefined;
}

/** "1 minute and 30 seconds", "16m 32.64s": units in descending order, each at most once. */
function phraseMs(text: string): number | undefined {
  let totalMs = 0;
  let previous = Number.POSITIVE_INFINITY;
  for (const [, number = '', unit = ''] of text.toLowerCase().matchAll(/(\d+(?:\.\d+)?)\s?([a-z]+)/g)) {
    const one = wordMs[unit] ?? wordMs[unit.replace(/s$/, '')] ?? Number.NaN;
    if (!(one < previous)) return undefined;
    previous = one;
    totalMs += Number(number) * one;
  }
  return totalMs;
}
