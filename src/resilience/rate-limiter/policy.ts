// The rate limiter's rules, without I/O: interfaces, sliding windows, and how the backoff multiplier moves.

/** What the limiter reports and requests in one exchange with its window. */
export interface WindowRequest {
  /** Requested grants: one per waiting caller. 0 only reports. */
  readonly wanted: number;
  /** Successful calls with grants of `successEpoch`. */
  readonly successes: number;
  readonly successEpoch: number;
  /** Calls that received a 429, and the newest epoch among their grants. */
  readonly rateLimitedCalls: number;
  readonly rateLimitedEpoch: number;
  /** The longest Retry-After among them; 0 for none. */
  readonly pauseMs: number;
  /** Stamps of grants whose calls were sent late: each counts from now instead. */
  readonly sentLate: readonly string[];
  /** Stamps of grants whose calls have not been sent: each counts from now until it is. */
  readonly unsent: readonly string[];
  /** Unused grants of an earlier exchange, and the stamp of that exchange. */
  readonly returned: number;
  readonly returnedStamp: string;
}

/** Requests no grants and reports nothing. */
export const emptyRequest: WindowRequest = {
  wanted: 0,
  successes: 0,
  successEpoch: 0,
  rateLimitedCalls: 0,
  rateLimitedEpoch: 0,
  pauseMs: 0,
  sentLate: [],
  unsent: [],
  returned: 0,
  returnedStamp: '',
};

export interface BackoffState {
  /** 1 is the full rate, 2 is half of it. */
  readonly multiplier: number;
  readonly epoch: number;
  readonly consecutiveSuccesses: number;
  readonly total429: number;
  /** Wall clock, epoch milliseconds; 0 for never. */
  readonly last429At: number;
  /** The multiplier at the last 429; 0 without one. */
  readonly ceiling: number;
  /** Successes required for a step to the ceiling or faster. */
  readonly probeSuccesses: number;
  /** The multiplier before the current series of recovery steps, each less than a minute after the previous one. */
  readonly settledMultiplier: number;
  /** When the last step was made, in milliseconds of the window's own clock. */
  readonly steppedAt: number;
}

export interface WindowState extends BackoffState {
  /** Wall clock, epoch milliseconds; 0 when not paused. */
  readonly pausedUntil: number;
}

export interface WindowReply {
  /** How many of the requested grants are granted now. */
  readonly granted: number;
  /** When the next one could be given; 0 if all were. */
  readonly waitMs: number;
  /** Identifies the grants of this exchange, in case they have to be moved or returned. */
  readonly stamp: string;
  readonly state: WindowState;
}

/** Decides about grants. Implementations: memory (optionally with a journal), and Redis for many machines. */
export interface RateWindow {
  readonly limits: RateLimits;
  /** True when an exchange costs nothing: successes are then reported at once, else with the next request. */
  readonly isLocal: boolean;
  /** One atomic decision. When it fails, no call may be made. A local window replies without a promise if it can. */
  exchange(request: WindowRequest): WindowReply | Promise<WindowReply>;
}

/** A window of this machine that can follow a shared one. */
export interface LocalRateWindow extends RateWindow {
  /** Continues from a backoff and a pause decided elsewhere. Only between two exchanges. */
  syncFrom(state: WindowState): void | Promise<void>;
}

/** At least one of the two. */
export interface RateLimits {
  readonly perSecond?: number;
  readonly perMinute?: number;
}

/** A stored state; its times are wall-clock. */
export interface JournaledState extends WindowState {
  readonly savedAt: number;
}

export interface JournaledGrants {
  /** Wall clock, epoch milliseconds. */
  readonly at: number;
  readonly count: number;
  /** When this grant was given first, if its call was sent late; null for new grants. */
  readonly movedFrom: number | null;
}

/**
 * Keeps grants and backoff across restarts, and shares them between the processes of a machine. Synchronous, so that a
 * grant is durable before its permit is returned. A write that fails throws, and the grant is not given.
 */
export interface GrantJournal {
  /** The newest `limit` grants, oldest first, in wall-clock milliseconds. */
  load(limit: number): { readonly grants: readonly number[]; readonly state: JournaledState | undefined };
  /** Runs `work` in a transaction that excludes other processes. */
  transaction<T>(work: () => T): T;
  // The following only within `transaction`.
  /** What other processes wrote since the last call; the state only if they changed it. */
  readChanges(): { readonly grants: readonly JournaledGrants[]; readonly state: JournaledState | undefined };
  append(grantedAt: number, count: number): void;
  /** A call was sent late: its grant counts from `to` for every reader. */
  move(from: number, to: number): void;
  save(state: JournaledState): void;
  /** The wall clock was set: moves every stored time by `byMs`. */
  shift(byMs: number): void;
}

export interface SlidingWindow {
  readonly limit: number;
  readonly windowMs: number;
  /** Added to every span of this window. */
  readonly guardMs: number;
}

/** At most `count` grants in any `spanMs`. */
export interface EffectiveWindow {
  readonly count: number;
  readonly spanMs: number;
}

/**
 * The server counts arrivals, and two calls sent 1,000 ms apart may arrive 990 ms apart. The guard absorbs this and
 * costs 1.8% of a rate per second, 0.5% of one per minute. Calls that are sent late are handled separately
 * (`WindowRequest.sentLate`).
 */
const windows = [
  { name: 'perSecond', windowMs: 1_000, guardMs: 18 },
  { name: 'perMinute', windowMs: 60_000, guardMs: 300 },
] as const;

const maxWindowLimit = 1_000_000;

/** The windows of these limits. Throws RangeError naming a limit that is not a whole number from 1. */
export function slidingWindows(limits: RateLimits): readonly SlidingWindow[] {
  const found: SlidingWindow[] = [];
  for (const { name, windowMs, guardMs } of windows) {
    const limit = limits[name];
    if (limit === undefined) continue;
    if (!(Number.isInteger(limit) && limit >= 1 && limit <= maxWindowLimit))
      throw new RangeError(`${name} must be a whole number from 1 to ${maxWindowLimit}, not ${limit}`);
    found.push({ limit, windowMs, guardMs });
  }
  if (found.length === 0) throw new RangeError('perSecond or perMinute must be given');
  return found;
}

/**
 * The window slowed by the multiplier: count / span is exactly limit / multiplier per window. The count is lowered
 * first, because a server that permits half as much rejects the second half of a full burst regardless of the pause
 * after it; the span absorbs what rounding the count leaves, and everything for a limit of 1. No span is shorter than
 * the window, so the limit itself holds in every window, whatever the multiplier did in between.
 */
export function effectiveWindow(
  { limit, windowMs, guardMs }: SlidingWindow,
  multiplier: number,
): EffectiveWindow {
  const count = Math.max(1, Math.ceil(limit / multiplier - 1e-9));
  // Whole milliseconds: take-grants.lua must compute the same.
  const spanMs = Math.max(windowMs, Math.ceil((windowMs * count * multiplier) / limit - 1e-6));
  return { count, spanMs: spanMs + guardMs };
}

// How the backoff multiplier m moves: up on a 429, down on successes, slowly near a rate that was rejected before.
//
//   429 at m              → m × 1.5 (once for all grants of the same epoch), ceiling = m, or the slower multiplier
//                           that the server's minute still saw when m was reached within that minute
//   10 successes in a row → m × 0.9, not below 1
//   … but if that step reaches the ceiling or goes below it: 100 successes, twice as many after each failed probe
//
// An epoch is the time between two increases. Grants carry theirs: the 429s of one burst belong to one epoch, and only
// the first of them finds it current.

export const adaptation = {
  increase: 1.5,
  decrease: 0.9,
  /** The slowest rate: a server that rejects 1/64 of the limit cannot be satisfied by pacing. */
  maxMultiplier: 64,
  successesPerStep: 10,
  firstProbeSuccesses: 100,
  largestProbeSuccesses: 1_600,
  /** Servers count by the minute: a rate is proven only after it has lasted this long. */
  settlingMs: 60_000,
} as const;

export const initialBackoff: BackoffState = {
  multiplier: 1,
  epoch: 0,
  consecutiveSuccesses: 0,
  total429: 0,
  last429At: 0,
  ceiling: 0,
  probeSuccesses: adaptation.firstProbeSuccesses,
  settledMultiplier: 1,
  steppedAt: Number.MIN_SAFE_INTEGER,
};

/** Applies successes; those with grants of an older epoch carry no information about the current rate. */
export function afterSuccesses(
  state: BackoffState,
  { successes, successEpoch }: Pick<WindowRequest, 'successes' | 'successEpoch'>,
  clockMs: number,
  isAdaptive: boolean,
): BackoffState {
  if (successes === 0 || successEpoch !== state.epoch) return state;
  let { multiplier, ceiling, probeSuccesses, settledMultiplier, steppedAt } = state;
  let consecutiveSuccesses = state.consecutiveSuccesses + successes;
  while (isAdaptive && multiplier > 1) {
    const next = Math.max(1, multiplier * adaptation.decrease);
    const needed = next <= ceiling ? probeSuccesses : adaptation.successesPerStep;
    if (consecutiveSuccesses < needed) break;
    // A rate that was rejected before has now held: the next probe is as cheap as the first.
    if (multiplier <= ceiling) probeSuccesses = adaptation.firstProbeSuccesses;
    if (clockMs - steppedAt >= adaptation.settlingMs) settledMultiplier = multiplier;
    steppedAt = clockMs;
    consecutiveSuccesses -= needed;
    multiplier = next;
  }
  const isFullRateProven = multiplier === 1 && consecutiveSuccesses >= probeSuccesses;
  if (isFullRateProven) [ceiling, probeSuccesses] = [0, adaptation.firstProbeSuccesses];
  return {
    ...state,
    multiplier,
    ceiling,
    probeSuccesses,
    settledMultiplier,
    steppedAt,
    consecutiveSuccesses,
  };
}

/** Applies 429s: all are counted, but only one whose grant is of the current epoch slows down. */
export function afterRateLimited(
  state: BackoffState,
  { rateLimitedCalls, rateLimitedEpoch }: Pick<WindowRequest, 'rateLimitedCalls' | 'rateLimitedEpoch'>,
  clockMs: number,
  wallMs: number,
  isAdaptive: boolean,
): BackoffState {
  if (rateLimitedCalls === 0) return state;
  const counted = {
    ...state,
    total429: state.total429 + rateLimitedCalls,
    last429At: wallMs,
    consecutiveSuccesses: 0,
  };
  if (!isAdaptive || rateLimitedEpoch !== state.epoch) return counted;
  const hasProbeFailed = state.multiplier <= state.ceiling;
  const hasSettled = clockMs - state.steppedAt >= adaptation.settlingMs;
  const multiplier = Math.min(adaptation.maxMultiplier, state.multiplier * adaptation.increase);
  return {
    ...counted,
    multiplier,
    epoch: state.epoch + 1,
    ceiling: hasSettled ? state.multiplier : state.settledMultiplier,
    probeSuccesses: hasProbeFailed
      ? Math.min(adaptation.largestProbeSuccesses, state.probeSuccesses * 2)
      : state.probeSuccesses,
    settledMultiplier: multiplier,
    steppedAt: clockMs,
  };
}
