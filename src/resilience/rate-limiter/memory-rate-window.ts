// Decides in this process: exact sliding windows over the last grants, on the monotonic clock. With a journal it knows
// the grants of an earlier process, and of others that run now.
import type { Clock } from '../../core/clock.ts';
import { afterRefusals, afterSuccesses, initialBackoff } from './adaptation.ts';
import { GrantRing } from './grant-ring.ts';
import type { EffectiveWindow, SlidingWindow } from './limits.ts';
import { effectiveWindow, slidingWindows } from './limits.ts';
import type {
  BackoffState,
  Demand,
  GrantJournal,
  JournaledState,
  LocalRateWindow,
  RateLimits,
  Taken,
  WindowState,
} from './ports.ts';

export interface MemoryRateWindowOptions {
  readonly limits: RateLimits;
  /** False: the multiplier stays 1; pauses hold and refusals are counted all the same. Default true. */
  readonly adaptive?: boolean;
  readonly clock: Clock;
  /** Where grants and backoff survive a restart and are shared. Default: nowhere. */
  readonly journal?: GrantJournal;
}

/** The wall clock may drift this far from the monotonic one before stored times are corrected. */
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
  /** On the monotonic clock, as are the grants. */
  #pausedUntil = Number.NEGATIVE_INFINITY;
  /** Wall clock minus monotonic clock, as the stored times assume. */
  #wallOffset: number;

  constructor({ limits, adaptive = true, clock, journal }: MemoryRateWindowOptions) {
    this.limits = limits;
    this.#isAdaptive = adaptive;
    this.#clock = clock;
    this.#journal = journal;
    this.#windows = slidingWindows(limits);
    this.#grants = new GrantRing(Math.max(...this.#windows.map(({ limit }) => limit)));
    this.#wallOffset = clock.now() - clock.monotonic();
    this.#effective = this.#effectiveWindows();
    this.#restore();
  }

  take(demand: Demand): Taken {
    const decided = () => {
      this.#followWallClock();
      this.#learn();
      return this.#decide(demand);
    };
    return this.#journal ? this.#journal.exclusively(decided) : decided();
  }

  adopt(state: WindowState): void {
    const { multiplier, epoch, total429 } = this.#backoff;
    const isKnown = state.multiplier === multiplier && state.epoch === epoch && state.total429 === total429;
    if (isKnown && state.pausedUntil === this.#state().pausedUntil) return;
    const adopted = () => {
      const now = this.#clock.monotonic();
      const savedAt = this.#wall(now);
      this.#resume({ ...state, savedAt }, now);
      this.#journal?.save({ ...this.#state(), savedAt });
    };
    if (this.#journal) this.#journal.exclusively(adopted);
    else adopted();
  }

  #decide(demand: Demand): Taken {
    const now = this.#clock.monotonic();
    this.#report(demand, now);
    for (const stamp of [...demand.late, ...demand.held]) this.#grants.move(Number(stamp), now);
    for (const stamp of demand.late) this.#journal?.move(this.#wall(Number(stamp)), this.#wall(now));
    const { granted, waitMs } = this.#grant(demand.wanted, now);
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

  /** How long the next grant has to wait when `pending` are about to be given at `now`. */
  #waitMs(pending: number, now: number): number {
    let readyAt = now;
    for (const { count, spanMs } of this.#effective) {
      const earlier = pending >= count ? now : this.#grants.fromNewest(count - pending);
      readyAt = Math.max(readyAt, earlier + spanMs);
    }
    return Math.ceil(readyAt - now);
  }

  #report(demand: Demand, now: number): void {
    const before = this.#backoff;
    const wallNow = this.#wall(now);
    const succeeded = afterSuccesses(before, demand, now, this.#isAdaptive);
    this.#backoff = afterRefusals(succeeded, demand, now, wallNow, this.#isAdaptive);
    if (demand.pauseMs > 0) this.#pausedUntil = Math.max(this.#pausedUntil, now + demand.pauseMs);
    const hasMoved = this.#backoff.multiplier !== before.multiplier;
    if (hasMoved) this.#effective = this.#effectiveWindows();
    if (hasMoved || demand.refusals > 0) this.#journal?.save({ ...this.#state(), savedAt: wallNow });
  }

  #effectiveWindows(): readonly EffectiveWindow[] {
    return this.#windows.map((window) => effectiveWindow(window, this.#backoff.multiplier));
  }

  #state(): WindowState {
    const isPaused = this.#pausedUntil > this.#clock.monotonic();
    return { ...this.#backoff, pausedUntil: isPaused ? this.#wall(this.#pausedUntil) : 0 };
  }

  #wall(monotonic: number): number {
    return Math.round(monotonic + this.#wallOffset);
  }

  /** Stored times must mean the same after somebody set the clock, else a restart would forget or invent grants. */
  #followWallClock(): void {
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

  /** What other processes were granted, and how far they backed off. */
  #learn(): void {
    const { grants, state } = this.#journal?.news() ?? { grants: [] };
    for (const { at, count, insteadOf } of grants)
      if (insteadOf === null) this.#push(at, count);
      else this.#grants.move(this.#monotonic(insteadOf), this.#monotonic(at));
    if (!state) return;
    this.#resume(state, this.#clock.monotonic());
  }

  #push(wallAt: number, count: number): void {
    this.#grants.push(this.#monotonic(wallAt), count);
  }

  /**
   * Of a time in the journal, which is known only as well as the wall clock is. A time in the future is a clock that was
   * set back: it counts as now, so that nothing is held for ever.
   */
  #monotonic(wallAt: number): number {
    return Math.min(this.#clock.monotonic(), wallAt - this.#wallOffset + wallDriftMs);
  }

  #resume({ pausedUntil, savedAt, ...backoff }: JournaledState, now: number): void {
    // When the last step was made is no longer known: as if just now.
    this.#backoff = { ...backoff, steppedAt: now, ...(this.#isAdaptive ? {} : { multiplier: 1 }) };
    this.#pausedUntil = now + Math.min(pausedUntil - this.#clock.now(), pausedUntil - savedAt);
    this.#effective = this.#effectiveWindows();
  }
}
