// The limiter's front: callers wait in line, first come first served, and tell how their call went.
import { onAbort } from '../../core/abort.ts';
import type { Clock } from '../../core/clock.ts';
import { LinkedQueue } from '../linked-queue.ts';
import { PendingReports } from './pending-reports.ts';
import type { RateWindow, Taken, WindowState } from './ports.ts';
import type { RateLimiterSnapshot } from './snapshot.ts';
import { snapshotOf } from './snapshot.ts';
import { initialBackoff } from './adaptation.ts';
import { emptyDemand } from './ports.ts';

/** Leave for one call. Tell exactly one outcome; the first one counts. */
export interface Permit {
  /** The call is on its way now. Only of use after `tellsSending`. */
  sent(): void;
  /** The server answered and did not complain about the rate. */
  succeeded(): void;
  /** The server answered 429 (or said as much). A Retry-After pauses everybody until then. */
  rateLimited(hint?: { readonly retryAfterMs?: number | undefined }): void;
  /** It failed for another reason, or was not made: says nothing about the rate. */
  failed(): void;
}

export interface AcquireOptions {
  /**
   * The caller says with `permit.sent()` when its call leaves: the grant counts from then, not from when it was given,
   * and meanwhile keeps its place in every window. Default false.
   */
  readonly tellsSending?: boolean;
}

/** A grant whose call has not left yet; counts from `at`, as `stamp` names it. */
interface Held {
  stamp: string;
  at: number;
}

interface Waiter {
  readonly admit: (taken: Taken) => void;
  readonly refuse: (reason: unknown) => void;
}

/** More waiters than this are served in further exchanges. */
const largestDemand = 1_000;
/** A call that leaves so soon after its grant is not late: the guard of the windows absorbs it. */
const unnoticedMs = 4;

const stampOf = ({ stamp }: Held): string => stamp;

export class AdaptiveRateLimiter {
  readonly #window: RateWindow;
  readonly #clock: Clock;
  readonly #waiters = new LinkedQueue<Waiter>();
  readonly #reports = new PendingReports();
  readonly #held = new Set<Held>();
  /** They have left, and the window has not heard of it yet. */
  #late: readonly Held[] = [];
  #state: WindowState = { ...initialBackoff, pausedUntil: 0 };
  #isExchanging = false;
  #wakeUp: { readonly at: number; readonly cancel: AbortController } | undefined;

  constructor(window: RateWindow, clock: Clock) {
    this.#window = window;
    this.#clock = clock;
  }

  /** Callers that wait for a permit. */
  get waiting(): number {
    return this.#waiters.length;
  }

  /**
   * Resolves when this call may be made now; make it at once, a permit is not to be kept. Rejects with the signal's
   * reason when it aborts first (nothing is used up then), or with the window's error when it cannot decide.
   */
  acquire(signal?: AbortSignal, { tellsSending = false }: AcquireOptions = {}): Promise<Permit> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason as Error);
      let release: () => void = () => undefined;
      const refuse = (reason: unknown) => {
        release();
        reject(reason);
      };
      const admit = ({ state, stamp }: Taken) => {
        release();
        resolve(this.#permit(state.epoch, tellsSending ? this.#hold(stamp) : undefined));
      };
      const node = this.#waiters.push({ admit, refuse });
      release = onAbort(signal, (reason) => {
        this.#waiters.remove(node);
        if (this.#waiters.length === 0) this.#cancelWakeUp();
        reject(reason);
      });
      // Behind others there is nothing to ask yet: the head's timer or exchange is under way.
      if (this.#waiters.length === 1) this.#exchange();
    });
  }

  /** What is known here: exact in memory, as of the last exchange on Redis (see `refresh`). */
  snapshot(): RateLimiterSnapshot {
    return snapshotOf(this.#state, this.#window.limits, this.#waiters.length, this.#clock.now());
  }

  /** Tells what is still to be told, asks the window, and takes a fresh snapshot. */
  async refresh(): Promise<RateLimiterSnapshot> {
    const reports = this.#reports.drain();
    try {
      this.#state = (await this.#window.take({ ...emptyDemand, ...reports })).state;
    } catch (error) {
      this.#reports.restore(reports);
      throw error;
    }
    return this.snapshot();
  }

  /** One exchange at a time: reports go with it, and grants go to the head of the line. */
  #exchange(): void {
    if (this.#isExchanging) return;
    const wanted = Math.min(this.#waiters.length, largestDemand);
    const reports = this.#reports.drain();
    const at = this.#clock.monotonic();
    const held = [...this.#held].filter((one) => at - one.at > unnoticedMs);
    const late = this.#late;
    this.#late = [];
    const onFailure = (error: unknown) => {
      this.#isExchanging = false;
      this.#reports.restore(reports);
      this.#late = [...late, ...this.#late];
      this.#refuseAll(error);
    };
    try {
      const taken = this.#window.take({
        ...reports,
        late: late.map(stampOf),
        held: held.map(stampOf),
        wanted,
      });
      const onTaken = (now: Taken) => {
        this.#isExchanging = false;
        for (const one of held) Object.assign(one, { stamp: now.stamp, at });
        this.#settle(now, wanted);
      };
      if (!(taken instanceof Promise)) return onTaken(taken);
      this.#isExchanging = true;
      taken.then(onTaken, onFailure);
    } catch (error) {
      onFailure(error);
    }
  }

  #settle(taken: Taken, wanted: number): void {
    this.#state = taken.state;
    let used = 0;
    for (; used < taken.granted; used++) {
      const waiter = this.#waiters.shift();
      if (!waiter) break;
      waiter.admit(taken);
    }
    // Whoever they were meant for left meanwhile; used later they would break the window, so they go back.
    if (used < taken.granted) this.#reports.returned(taken.granted - used, taken.stamp);

    if (this.#reports.areUrgent || this.#late.length > 0) return this.#exchange();
    if (this.#waiters.length === 0) return this.#cancelWakeUp();
    if (taken.granted === wanted) return this.#exchange();
    this.#wakeUpIn(taken.waitMs);
  }

  #hold(stamp: string): Held {
    const held = { stamp, at: this.#clock.monotonic() };
    this.#held.add(held);
    return held;
  }

  /** A late call counts from when it left, and the window hears of it at once: later would cost more than needed. */
  #letGo(held: Held | undefined): void {
    if (!held || !this.#held.delete(held)) return;
    if (this.#clock.monotonic() - held.at <= unnoticedMs) return;
    this.#late = [...this.#late, held];
    this.#exchange();
  }

  #permit(epoch: number, held: Held | undefined): Permit {
    let isOpen = true;
    const once = (report: () => void) => {
      this.#letGo(held);
      if (isOpen) report();
      isOpen = false;
    };
    return {
      sent: () => this.#letGo(held),
      succeeded: () =>
        once(() => {
          this.#reports.succeeded(epoch);
          if (this.#window.isLocal) this.#exchange();
        }),
      rateLimited: (hint) =>
        once(() => {
          this.#reports.refused(epoch, hint?.retryAfterMs ?? 0);
          this.#exchange();
        }),
      failed: () => once(() => undefined),
    };
  }

  #refuseAll(error: unknown): void {
    this.#cancelWakeUp();
    for (let waiter = this.#waiters.shift(); waiter; waiter = this.#waiters.shift()) waiter.refuse(error);
  }

  /** Sleeps rather than sets a timer: whoever waits for a permit keeps the process alive. */
  #wakeUpIn(ms: number): void {
    const at = this.#clock.monotonic() + Math.max(1, ms);
    if (this.#wakeUp && Math.abs(this.#wakeUp.at - at) < 1) return;
    this.#cancelWakeUp();
    const cancel = new AbortController();
    this.#wakeUp = { at, cancel };
    const onTime = () => {
      this.#wakeUp = undefined;
      this.#exchange();
    };
    this.#clock.sleep(Math.max(1, ms), cancel.signal).then(onTime, () => undefined);
  }

  #cancelWakeUp(): void {
    this.#wakeUp?.cancel.abort();
    this.#wakeUp = undefined;
  }
}
