// Reset headers: what servers tell of their quota windows, and which of them a refused caller must wait for.
import { decimal, plausibleMs, resetMs } from './durations.ts';

export interface QuotaWindow {
  /** The header it came from. */
  readonly source: string;
  readonly resetMs: number;
  /** What is left in it; undefined when nobody says. */
  readonly remaining: number | undefined;
  /** Counts tokens or bytes: something may be left and still be too little for the next request. */
  readonly isBySize: boolean;
}

type Headers = Readonly<Record<string, string>>;

/** `x-ratelimit-reset-requests`, `ratelimit-reset`, `ratelimitbysize-reset`, `anthropic-ratelimit-tokens-reset`, … */
const resetHeader = /^(?:x-|anthropic-)?rate-?limit(?:bysize)?(?:-[a-z-]+)?-reset(?:-[a-z-]+)?$/;

/** Every window that the headers (names in lower case) tell of. */
export function quotaWindows(headers: Headers, now: number): readonly QuotaWindow[] {
  const windows: QuotaWindow[] = [];
  for (const [source, value] of Object.entries(headers)) {
    if (source === 'ratelimit') windows.push(...ietfWindows(value));
    if (!resetHeader.test(source)) continue;
    const untilReset = resetMs(value, now);
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

function parameter(part: string): readonly [string, string] {
  const equals = part.indexOf('=');
  return equals < 0 ? [part, ''] : [part.slice(0, equals), part.slice(equals + 1)];
}

/**
 * The window a refused caller has to wait for:
 * 1. those with nothing left, the latest of them, for all of them must be over;
 * 2. else those of which nobody says what is left, the soonest: at worst one more refusal, not a day lost;
 * 3. else those by size, the soonest: what is left was too little.
 * A window of requests with requests left did not refuse us.
 */
export function windowToWaitFor(windows: readonly QuotaWindow[]): QuotaWindow | undefined {
  const bySoonest = [...windows].sort((a, b) => a.resetMs - b.resetMs);
  return (
    bySoonest.findLast((window) => window.remaining === 0) ??
    bySoonest.find((window) => window.remaining === undefined) ??
    bySoonest.find((window) => window.isBySize)
  );
}

/** A limit of 0, as Mistral's `x-ratelimit-limit-req-minute: 0`: the key is valid but has no quota at all. */
export function hasNoQuota(headers: Headers): boolean {
  return Object.entries(headers).some(
    ([name, value]) =>
      /^(?:x-)?ratelimit(?:bysize)?-limit(?:-[a-z-]+)?$/.test(name.toLowerCase()) && decimal(value) === 0,
  );
}
