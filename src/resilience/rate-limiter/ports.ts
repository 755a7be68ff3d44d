// What the limiter's front needs of the thing that counts, and what that needs of a store to survive a restart.

/** What the front tells and asks in one exchange. */
export interface Demand {
  /** Grants wanted now: as many as callers wait. 0 only reports. */
  readonly wanted: number;
  /** Calls that succeeded, of grants of `successEpoch`. */
  readonly successes: number;
  readonly successEpoch: number;
  /** Calls that were answered 429, and the newest epoch among their grants. */
  readonly refusals: number;
  readonly refusalEpoch: number;
  /** The longest Retry-After among them; 0 for none. */
  readonly pauseMs: number;
  /** Stamps of grants whose calls left late: each counts from now instead. */
  readonly late: readonly string[];
  /** Stamps of grants whose calls have not left yet: the same, until they do. */
  readonly held: readonly string[];
  /** Grants of an earlier exchange that nobody used, and the stamp it gave them. */
  readonly returned: number;
  readonly returnedStamp: string;
}

/** Asks for nothing and tells nothing. */
export const emptyDemand: Demand = {
  wanted: 0,
  successes: 0,
  successEpoch: 0,
  refusals: 0,
  refusalEpoch: 0,
  pauseMs: 0,
  late: [],
  held: [],
  returned: 0,
  returnedStamp: '',
};

/** How far the limiter has backed off; adaptation.ts says how it moves. */
export interface BackoffState {
  /** 1 is the full rate, 2 is half of it. */
  readonly multiplier: number;
  readonly epoch: number;
  readonly consecutiveSuccesses: number;
  readonly total429: number;
  /** Wall clock, epoch milliseconds; 0 for never. */
  readonly last429At: number;
  /** The multiplier at which the last refusal came; 0 when none is remembered. */
  readonly ceiling: number;
  /** Successes that a step to the ceiling or faster takes. */
  readonly probeSuccesses: number;
  /** The multiplier before the present run of steps down, each less than a minute after the one before. */
  readonly settledMultiplier: number;
  /** When the last step was made, in milliseconds of the window's own clock. */
  readonly steppedAt: number;
}

export interface WindowState extends BackoffState {
  /** Wall clock, epoch milliseconds; 0 when not paused. */
  readonly pausedUntil: number;
}

export interface Taken {
  /** How many of the wanted grants may go now. */
  readonly granted: number;
  /** When the next one could go; 0 if all that were wanted may. */
  readonly waitMs: number;
  /** Names the grants that count from this exchange, if they have to be moved or returned. */
  readonly stamp: string;
  readonly state: WindowState;
}

/** Decides who may go. Adapters: in memory (optionally journaled), and Redis for many processes. */
export interface RateWindow {
  readonly limits: RateLimits;
  /** Is an exchange free of charge? Then successes are reported at once, else with the next demand. */
  readonly isLocal: boolean;
  /** One atomic decision. When it fails nothing may go. A local window answers at once if it can, without a promise. */
  take(demand: Demand): Taken | Promise<Taken>;
}

/** A window of this machine, which can follow a shared one. */
export interface LocalRateWindow extends RateWindow {
  /** Goes on from a backoff and a pause that were decided elsewhere. Only between two decisions. */
  adopt(state: WindowState): void | Promise<void>;
}

/** At least one of the two. */
export interface RateLimits {
  readonly perSecond?: number;
  readonly perMinute?: number;
}

/** A state as stored: its times are wall-clock. */
export interface JournaledState extends WindowState {
  readonly savedAt: number;
}

export interface JournaledGrants {
  /** Wall clock, epoch milliseconds. */
  readonly at: number;
  readonly count: number;
  /** It is one that was given then and left late; null for new ones. */
  readonly insteadOf: number | null;
}

/**
 * Keeps grants and backoff across a restart of the process, and shares them with other processes of the same machine.
 * Synchronous, so that a grant is durable before its permit is handed out. A write that fails throws, and the grant is
 * not given.
 */
export interface GrantJournal {
  /** The newest `limit` grants, oldest first, in wall-clock milliseconds. */
  load(limit: number): { readonly grants: readonly number[]; readonly state: JournaledState | undefined };
  /** Runs `work` while nobody else can decide; what it wrote holds together, or not at all when it throws. */
  exclusively<T>(work: () => T): T;
  // The rest only within `exclusively`.
  /** What others did since the last look; the state only if they changed it. */
  news(): { readonly grants: readonly JournaledGrants[]; readonly state: JournaledState | undefined };
  append(grantedAt: number, count: number): void;
  /** A grant's call left late: it counts from `to`, wherever the journal is read. */
  move(from: number, to: number): void;
  save(state: JournaledState): void;
  /** Somebody set the wall clock: moves every stored time by `byMs`. */
  shift(byMs: number): void;
}
