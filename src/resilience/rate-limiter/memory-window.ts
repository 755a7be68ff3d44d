// Decides in this process: exact sliding windows over the last grants, on the monotonic clock. With a journal it also
// counts the grants of earlier processes and of others that run now.
import type { Clock } from '../../core/clock.ts';
import type { BackoffState } from './backoff.ts';
import { afterReports, afterReset, initialBackoff } from './backoff.ts';
import type {
  WindowRequest,
  EffectiveWindow,
  GrantJournal,
  JournaledState,
  LateGrant,
  LocalRateWindow,
  RateLimits,
  SlidingWindow,
  WindowReply,
  WindowState,
} from './policy.ts';
import { effectiveWindows, slidingWindows } from './policy.ts';

export interface MemoryRateWindowOptions {
  readonly limits: RateLimits;
  /** False: the multiplier stays 1; pauses still apply and 429s are still counted. Default true. */
  readonly adaptive?: boolean;
  readonly clock: Clock;
  /** Keeps grants and backoff across restarts and shares them. Default: none. */
  readonly journal?: GrantJournal;
}

/** Stored times are corrected when the wall clock has drifted further than this from the monotonic clock. */
const wallDriftMs = 20;

export class MemoryRateWindow implements LocalRateWindow {
  readonly limits: RateLimits;
  readonly isLocal = true;
  readonly #isAdaptive: boolean;
  readonly #clock: Clock;
  readonly #journal: GrantJournal | undefined;
  readonly #windows: readonly SlidingWindow[];
  readonly #grants: GrantRing;
  #effective: readonly EffectiveWindow[];
  #backoff: BackoffState = initialBackoff;
  /** On the monotonic clock, like the grants. */
  #pausedUntil = Number.NEGATIVE_INFINITY;
  /** Wall clock minus monotonic clock, as assumed by the stored times. */
  #wallOffset: number;

  constructor({ limits, adaptive = true, clock, journal }: MemoryRateWindowOptions) {
    this.limits = limits;
    this.#isAdaptive = adaptive;
    this.#clock = clock;
    this.#journal = journal;
    this.#windows = slidingWindows(limits);
    // One more than a window has: `sendLate` compares with the others.
    this.#grants = new GrantRing(Math.max(...this.#windows.map(({ limit }) => limit)) + 1);
    this.#wallOffset = clock.now() - clock.monotonic();
    this.#effective = this.#effectiveWindows();
    this.#restore();
  }

  exchange(request: WindowRequest): WindowReply {
    const decide = () => {
      this.#adjustForWallClock();
      this.#applyChanges();
      return this.#decide(request);
    };
    return this.#journal ? this.#journal.transaction(decide) : decide();
  }

  syncFrom(state: WindowState): void {
    const { multiplier, epoch, total429 } = this.#backoff;
    const isKnown = state.multiplier === multiplier && state.epoch === epoch && state.total429 === total429;
    if (isKnown && state.pausedUntil === this.#state().pausedUntil) return;
    const synced = () => {
      const now = this.#clock.monotonic();
      const savedAt = this.#wall(now);
      this.#resume({ ...state, savedAt }, now);
      this.#journal?.save({ ...this.#state(), savedAt });
    };
    if (this.#journal) this.#journal.transaction(synced);
    else synced();
  }

  /** As if the grant was given now: with everything that this and other processes were granted since. */
  sendLate({ stamp, given }: LateGrant): string | null {
    const decide = () => {
      this.#adjustForWallClock();
      this.#applyChanges();
      const now = this.#clock.monotonic();
      const from = Number(stamp);
      const isFree = this.#effective.every(
        ({ count, spanMs }) => this.#grants.fromNewest(count, from) + spanMs <= now,
      );
      if (!isFree || this.#pausedUntil > now) return null;
      this.#grants.move(from, now);
      this.#journal?.move(this.#wall(Number(given)), this.#wall(now));
      return String(now);
    };
    return this.#journal ? this.#journal.transaction(decide) : decide();
  }

  #decide(request: WindowRequest): WindowReply {
    const now = this.#clock.monotonic();
    this.#report(request, now);
    for (const stamp of [...request.sentLate, ...request.unsent]) this.#grants.move(Number(stamp), now);
    for (const stamp of request.sentLateGiven)
      this.#journal?.move(this.#wall(Number(stamp)), this.#wall(now));
    const { granted, waitMs } = this.#grant(request.wanted, now);
    return { granted, waitMs, stamp: String(now), state: this.#state() };
  }

  #grant(wanted: number, now: number): { granted: number; waitMs: number } {
    if (wanted > 0 && this.#pausedUntil > now)
      return { granted: 0, waitMs: Math.ceil(this.#pausedUntil - now) };
    let granted = 0;
    let waitMs = 0;
    while (granted < wanted && waitMs === 0) {
      waitMs = this.#waitMs(granted, now);
      if (waitMs === 0) granted++;
    }
    if (granted > 0) {
      this.#journal?.append(this.#wall(now), granted);
      this.#grants.push(now, granted);
    }
    return { granted, waitMs };
  }

  /** How long the next grant has to wait when `pending` grants are about to be given at `now`. */
  #waitMs(pending: number, now: number): number {
    let readyAt = now;
    for (const { count, spanMs } of this.#effective) {
      const earlier = pending >= count ? now : this.#grants.fromNewest(count - pending);
      readyAt = Math.max(readyAt, earlier + spanMs);
    }
    return Math.ceil(readyAt - now);
  }

  #report(request: WindowRequest, now: number): void {
    const before = this.#backoff;
    const wallNow = this.#wall(now);
    const state = request.isReset ? afterReset(before) : before;
    this.#backoff = afterReports(state, request, wallNow, this.#isAdaptive);
    if (request.pauseMs > 0) this.#pausedUntil = Math.max(this.#pausedUntil, now + request.pauseMs);
    const { multiplier, learned } = this.#backoff;
    const hasMoved = multiplier !== before.multiplier || learned !== before.learned;
    if (hasMoved) this.#effective = this.#effectiveWindows();
    if (hasMoved || request.isReset || request.rateLimitedCalls > 0)
      this.#journal?.save({ ...this.#state(), savedAt: wallNow });
  }

  #effectiveWindows(): readonly EffectiveWindow[] {
    return this.#windows.flatMap((window) => effectiveWindows(window, this.#backoff));
  }

  #state(): WindowState {
    const isPaused = this.#pausedUntil > this.#clock.monotonic();
    return { ...this.#backoff, pausedUntil: isPaused ? this.#wall(this.#pausedUntil) : 0 };
  }

  #wall(monotonic: number): number {
    return Math.round(monotonic + this.#wallOffset);
  }

  /** Stored times must stay correct after the clock was set, else a restart would lose or add grants. */
  #adjustForWallClock(): void {
    const offset = this.#clock.now() - this.#clock.monotonic();
    const drift = offset - this.#wallOffset;
    if (Math.abs(drift) <= wallDriftMs) return;
    this.#journal?.shift(Math.round(drift));
    this.#wallOffset = offset;
  }

  #restore(): void {
    if (!this.#journal) return;
    const { grants, state } = this.#journal.load(this.#grants.capacity);
    for (const at of grants) this.#push(at, 1);
    if (state) this.#resume(state, this.#clock.monotonic());
  }

  /** Applies the grants and the backoff of other processes. */
  #applyChanges(): void {
    const { grants, state } = this.#journal?.readChanges() ?? { grants: [] };
    for (const { at, count, movedFrom } of grants)
      if (movedFrom === null) this.#push(at, count);
      else this.#grants.move(movedFrom - this.#wallOffset, this.#monotonic(at), wallDriftMs);
    if (!state) return;
    this.#resume(state, this.#clock.monotonic());
  }

  #push(wallAt: number, count: number): void {
    this.#grants.push(this.#monotonic(wallAt), count);
  }

  /**
   * The monotonic time of a journal time, as precise as the wall clock. A time in the future means that the clock was
   * set back: it counts as now, so that no caller waits forever.
   */
  #monotonic(wallAt: number): number {
    return Math.min(this.#clock.monotonic(), wallAt - this.#wallOffset + wallDriftMs);
  }

  #resume({ pausedUntil, savedAt, ...backoff }: JournaledState, now: number): void {
    this.#backoff = { ...backoff, ...(this.#isAdaptive ? {} : { multiplier: 1, learned: 1 }) };
    this.#pausedUntil = now + Math.min(pausedUntil - this.#clock.now(), pausedUntil - savedAt);
    this.#effective = this.#effectiveWindows();
  }
}

/** The times of the last grants, readable from the newest in constant time. */
class GrantRing {
  readonly capacity: number;
  readonly #times: Float64Array;
  #newest = -1;

  constructor(capacity: number) {
    this.capacity = capacity;
    this.#times = new Float64Array(capacity).fill(Number.NEGATIVE_INFINITY);
  }

  /** Times never decrease: an earlier time counts as the newest one. */
  push(time: number, count: number): void {
    const at = Math.max(time, this.fromNewest(1));
    for (let pushed = 0; pushed < count; pushed++) {
      this.#newest = (this.#newest + 1) % this.capacity;
      this.#times[this.#newest] = at;
    }
  }

  /**
   * Moves the grant at `from`, or up to `toleranceMs` later, to `to`, as the newest of all; without one, the newest before
   * `from`, or else adds `to`.
   */
  move(from: number, to: number, toleranceMs = 0): void {
    const position = this.#positionOf(from, toleranceMs);
    if (this.fromNewest(position) > from + toleranceMs) return this.push(to, 1);
    const at = Math.max(to, this.fromNewest(1));
    for (let place = position; place > 1; place--)
      this.#times[this.#indexOf(place)] = this.fromNewest(place - 1);
    this.#times[this.#newest] = at;
  }

  /**
   * The time of the grant at `position` from the newest (1 is the newest); -Infinity if there is none. `without`: as if the
   * grant that `move` would move from this time did not exist.
   */
  fromNewest(position: number, without?: number): number {
    const place = without === undefined || this.#positionOf(without) > position ? position : position + 1;
    return this.#times[this.#indexOf(place)] ?? Number.NEGATIVE_INFINITY;
  }

  /**
   * Position of the grant at this time, or up to `toleranceMs` later; else of the newest before; else of the oldest. Of
   * several the oldest counts: dropping a later one would permit a call too early. Stored times are rounded.
   */
  #positionOf(time: number, toleranceMs = 0): number {
    let position = 1;
    while (position < this.capacity && this.fromNewest(position) > time + toleranceMs) position++;
    while (position < this.capacity && this.fromNewest(position + 1) >= time - 1) position++;
    return position;
  }

  #indexOf(position: number): number {
    return (this.#newest + 1 - position + this.capacity * 2) % this.capacity;
  }
}
