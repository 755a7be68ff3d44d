// Interfaces of the rate limiter, and its sliding windows.
import type { BackoffState, Outcomes } from './backoff.ts';

/** What the limiter reports and requests in one exchange with its window. */
export interface WindowRequest extends Outcomes {
  /** Requested grants: one per waiting caller. 0 only reports. */
  readonly wanted: number;
  /** The longest Retry-After among the 429s; 0 for none. */
  readonly pauseMs: number;
  /** Stamps of grants whose calls were sent late: each counts from now instead. */
  readonly sentLate: readonly string[];
  /** For the same grants, the stamps with which they were given: other processes have only those. */
  readonly sentLateGiven: readonly string[];
  /** Stamps of grants whose calls have not been sent: each counts from now until it is. */
  readonly unsent: readonly string[];
  /** Unused grants of an earlier exchange, and the stamp of that exchange. */
  readonly returned: number;
  readonly returnedStamp: string;
  /** Resets the backoff first (`afterReset`). */
  readonly isReset: boolean;
}

/** Requests no grants and reports nothing. */
export const emptyRequest: WindowRequest = {
  wanted: 0,
  successes: 0,
  epochSuccesses: 0,
  successEpoch: 0,
  rateLimitedCalls: 0,
  rateLimitedEpoch: 0,
  pauseMs: 0,
  sentLate: [],
  sentLateGiven: [],
  unsent: [],
  returned: 0,
  returnedStamp: '',
  isReset: false,
};

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

export interface LateGrant {
  readonly stamp: string;
  /** The stamp with which it was given: other processes have only that. */
  readonly given: string;
  readonly lateMs: number;
}

/** Decides about grants. Implementations: memory (optionally with a journal), and Redis for many machines. */
export interface RateWindow {
  readonly limits: RateLimits;
  /** True when an exchange costs nothing: successes are then reported at once, else with the next request. */
  readonly isLocal: boolean;
  /** One atomic decision. When it fails, no call may be made. A local window replies without a promise if it can. */
  exchange(request: WindowRequest): WindowReply | Promise<WindowReply>;
  /**
   * The call of this grant is about to leave, late. If it may, the grant counts from now (in a window that is not local from
   * the next exchange) and has the returned stamp. Null: the grant is void, and another is needed.
   */
  sendLate(grant: LateGrant): string | null;
}

/**
 * A grant of a shared window is valid for this long. A call that leaves later might fall into the next window of another
 * machine; one that leaves within it is reported long before that window begins.
 */
export const sharedValidityMs = 250;

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
 * The window at this backoff. The learned multiplier lowers the count first, because a server that permits half as much
 * rejects the second half of a full burst regardless of the pause after it; the span absorbs what rounding the count
 * leaves, and everything for a limit of 1. No span is shorter than the window, so the limit itself holds in every
 * window, whatever the multipliers did in between. Below the full rate calls are also spaced evenly: a token bucket
 * rejects bursts at any average rate.
 */
export function effectiveWindows(
  { limit, windowMs, guardMs }: SlidingWindow,
  { multiplier, learned }: Pick<BackoffState, 'multiplier' | 'learned'>,
): readonly EffectiveWindow[] {
  const count = Math.max(1, Math.ceil(limit / learned - 1e-9));
  // Whole milliseconds: take-grants.lua must compute the same.
  const spanMs = Math.max(windowMs, Math.ceil((windowMs * count * learned) / limit - 1e-6));
  const window = { count, spanMs: spanMs + guardMs };
  if (multiplier === 1) return [window];
  const spaced = Math.max(1, Math.round((limit * minSpacingMs) / (windowMs * multiplier)));
  return [window, { count: spaced, spanMs: Math.ceil((windowMs * multiplier * spaced) / limit - 1e-6) }];
}

/** Timers are not exact to the millisecond: where calls would be closer, several are granted at once. */
export const minSpacingMs = 10;
