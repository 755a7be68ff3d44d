// Reads the numbers and times that servers write. Strict: what is not wholly understood is undefined, never a guess.

/** A hint that asks for longer than this is taken for garbage: no quota window is longer than a month. */
export const longestHintMs = 31 * 24 * 3_600_000;

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

/** Milliseconds that make sense as a wait, whole and rounded up; else undefined. */
export function plausibleMs(ms: number | undefined): number | undefined {
  if (ms === undefined || !(ms >= 0 && ms <= longestHintMs)) return undefined;
  // Without the small step back, 7.66 s (7660.000000000001 ms) would become 7661.
  return Math.max(0, Math.ceil(ms - 1e-6));
}

/** A plain decimal: "30", "7.66". No sign, exponent, blank inside or unit. */
export function decimal(text: string): number | undefined {
  const trimmed = text.trim();
  return /^\d{1,15}(\.\d{1,12})?$/.test(trimmed) ? Number(trimmed) : undefined;
}

/** "6m0s", "2m59.56s", "4h17m", "120ms": units must fall, each at most once. */
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

/** An HTTP date ("Sun, 06 Nov 1994 08:49:37 GMT") as epoch milliseconds. A day that does not exist is none. */
export function httpDate(text: string): number | undefined {
  const at = Date.parse(text.trim());
  return Number.isFinite(at) && new Date(at).toUTCString() === text.trim() ? at : undefined;
}

/** "2026-01-31T12:00:00Z", also with a fraction or an offset, as epoch milliseconds. */
export function isoDate(text: string): number | undefined {
  const match = /^(\d{4}-\d{2}-\d{2})T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/.exec(text.trim());
  const day = match?.[1];
  if (day === undefined) return undefined;
  // Date.parse takes 30 February for 2 March: the day alone must come back as it went in.
  const midnight = Date.parse(`${day}T00:00:00Z`);
  if (!Number.isFinite(midnight) || !new Date(midnight).toISOString().startsWith(day)) return undefined;
  const at = Date.parse(text.trim());
  return Number.isFinite(at) && !text.includes('T24:') ? at : undefined;
}

/** Clocks differ, and answers travel: a time this little ago means now. */
const clockSkewMs = 60_000;
/** Now, but not at once: whoever was just refused would be again. */
const soonMs = 1_000;

/** From `now` to a point in time, both in epoch milliseconds. One long past says nothing. */
function untilMs(at: number, now: number): number | undefined {
  const ms = at - now;
  return ms <= 0 && ms >= -clockSkewMs ? soonMs : plausibleMs(ms);
}

/** `Retry-After`: seconds, whole or not, or a date measured against the server's own clock when it tells it. */
export function retryAfterMs(value: string, now: number, serverDate?: string): number | undefined {
  const seconds = decimal(value);
  if (seconds !== undefined) return plausibleMs(seconds * 1_000);
  const at = httpDate(value) ?? isoDate(value);
  if (at === undefined) return plausibleMs(compactDurationMs(value));
  return untilMs(at, httpDate(serverDate ?? '') ?? now);
}

/**
 * The value of a reset header: a duration with units, seconds, epoch seconds, epoch milliseconds or an ISO date.
 * Plain numbers tell themselves apart by size: a month has under 3 million seconds, the epoch has over a billion.
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
const comeBack = new RegExp(String.raw`\b(?:try again|retry)\s+(?:in|after)\s+${amounts}`, 'gi');
const pleaseWait = new RegExp(String.raw`\bplease wait\s+(?:for\s+)?${amounts}`, 'gi');

/**
 * A wait in a sentence: "try again in 16m32.64s", "retry after 1 minute and 30 seconds", "Please wait 42567 seconds".
 * A number without unit is none, and so are two waits that contradict each other. "Try again" wins over "wait".
 */
export function proseMs(text: string): number | undefined {
  for (const phrase of [comeBack, pleaseWait]) {
    const waits = new Set(Array.from(text.matchAll(phrase), ([, found = '']) => spokenMs(found)));
    if (waits.size > 0) return waits.size === 1 ? plausibleMs(waits.values().next().value) : undefined;
  }
  return undefined;
}

/** "1 minute and 30 seconds", "16m 32.64s": units must fall, each at most once. */
function spokenMs(text: string): number | undefined {
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
