// The adaptive rate limiter: callers queue for permits in FIFO order and report how their calls went. The window
// (memory, SQLite journal, Redis) decides; this class batches requests to it.
import { onAbort } from '../../core/abort.ts';
import type { Clock } from '../../core/clock.ts';
import { LinkedQueue } from '../bounded-queue.ts';
import type { RateLimits, RateWindow, WindowReply, WindowRequest, WindowState } from './policy.ts';
import { emptyRequest } from './policy.ts';
import { initialBackoff } from './backoff.ts';

/**
 * Permission for one call. Report exactly one outcome; only the first one counts.
 *
 * @example const finish = (permit: Permit, isOk: boolean) => (isOk ? permit.succeeded() : permit.failed());
 */
export interface Permit {
  /**
   * The call is about to be written to a connection. Only used with `reportsSending`. False: too late, the permit is void;
   * do not make the call, and acquire another permit.
   */
  sent(): boolean;
  /** The server responded, and not with a rate limit. */
  succeeded(): void;
  /** The server responded with 429 or an equivalent. A Retry-After pauses every caller until then. */
  rateLimited(hint?: { readonly retryAfterMs?: number | undefined }): void;
  /** The call failed for another reason or was not made: no information about the rate. */
  failed(): void;
}

export interface AcquireOptions {
  /**
   * The caller reports with `permit.sent()` when its call leaves: the grant counts from then, and occupies every window
   * until then. Default false.
   */
  readonly reportsSending?: boolean;
}

/** A grant whose call has not been sent; counts from `at` in this process, identified by `stamp`. */
interface UnsentGrant {
  stamp: string;
  at: number;
  /** When it was given, and with which stamp: from then, or a little later, it counts in other processes. */
  givenAt: number;
  given: string;
  readonly receivedAt: number;
}

interface Waiter {
  /** `requestedAt`: before the window decided. */
  readonly grant: (reply: WindowReply, requestedAt: number) => void;
  readonly reject: (reason: unknown) => void;
}

/** More waiters than this are served in further exchanges. */
const maxGrantsPerExchange = 1_000;
/** A call sent within this time is not late: the guard of the windows absorbs it. */
const lateAfterMs = 4;

const stampOf = ({ stamp }: UnsentGrant): string => stamp;

export class AdaptiveRateLimiter {
  readonly #window: RateWindow;
  readonly #clock: Clock;
  readonly #waiters = new LinkedQueue<Waiter>();
  /** Outcomes that callers reported and that the window has not received yet. */
  #reports = emptyRequest;
  readonly #unsent = new Set<UnsentGrant>();
  /** Sent late and not yet reported to the window. */
  #sentLate: readonly UnsentGrant[] = [];
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
   * Resolves when the call may be made; make it immediately. Rejects with the signal's reason when it aborts first
   * (no grant is used), or with the window's error when it cannot decide.
   */
  acquire(signal?: AbortSignal, { reportsSending = false }: AcquireOptions = {}): Promise<Permit> {
    return new Promise((resolve, rejectPromise) => {
      if (signal?.aborted) return rejectPromise(signal.reason as Error);
      let release: () => void = () => undefined;
      const reject = (reason: unknown) => {
        release();
        rejectPromise(reason);
      };
      const grant = ({ state, stamp }: WindowReply, requestedAt: number) => {
        release();
        const unsent = reportsSending ? this.#trackUnsent(stamp, requestedAt) : undefined;
        resolve(this.#permit(state.epoch, unsent));
      };
      const node = this.#waiters.push({ grant, reject });
      release = onAbort(signal, (reason) => {
        this.#waiters.remove(node);
        if (this.#waiters.length === 0) this.#cancelWakeUp();
        rejectPromise(reason);
      });
      // Behind other waiters a timer or an exchange is already running.
      if (this.#waiters.length === 1) this.#exchange();
    });
  }

  /** The last known state: exact in memory, as of the last exchange on Redis (see `refresh`). */
  snapshot(): RateLimiterSnapshot {
    return snapshotOf(this.#state, this.#window.limits, this.#waiters.length, this.#clock.now());
  }

  /** Sends pending reports to the window and returns a current snapshot. */
  async refresh(): Promise<RateLimiterSnapshot> {
    const reports = this.#takeReports();
    try {
      this.#state = (await this.#window.exchange(reports)).state;
    } catch (error) {
      this.#report(reports);
      throw error;
    }
    return this.snapshot();
  }

  /** Uses the full rate again, for every process that shares the window. Its limits and a Retry-After stay in force. */
  async resetBackoff(): Promise<RateLimiterSnapshot> {
    this.#report({ isReset: true });
    return this.refresh();
  }

  /** One exchange at a time: sends the pending reports and passes grants to the first waiters. */
  #exchange(): void {
    if (this.#isExchanging) return;
    const wanted = Math.min(this.#waiters.length, maxGrantsPerExchange);
    const reports = this.#takeReports();
    const at = this.#clock.monotonic();
    const unsent = [...this.#unsent].filter((grant) => at - grant.at > lateAfterMs);
    const sentLate = this.#sentLate;
    this.#sentLate = [];
    const onFailure = (error: unknown) => {
      this.#isExchanging = false;
      this.#report(reports);
      this.#sentLate = [...sentLate, ...this.#sentLate];
      this.#rejectAll(error);
    };
    const onReply = (reply: WindowReply) => {
      this.#isExchanging = false;
      for (const grant of unsent) Object.assign(grant, { stamp: reply.stamp, at });
      this.#distribute(reply, wanted, at);
    };
    try {
      const reply = this.#window.exchange({
        ...reports,
        sentLate: sentLate.map(stampOf),
        sentLateGiven: sentLate.map(({ given }) => given),
        unsent: unsent.map(stampOf),
        wanted,
      });
      if (!(reply instanceof Promise)) return onReply(reply);
      this.#isExchanging = true;
      reply.then(onReply, onFailure);
    } catch (error) {
      onFailure(error);
    }
  }

  #distribute(reply: WindowReply, wanted: number, requestedAt: number): void {
    this.#state = reply.state;
    let used = 0;
    for (; used < reply.granted; used++) {
      const waiter = this.#waiters.shift();
      if (!waiter) break;
      waiter.grant(reply, requestedAt);
    }
    // Their waiters have left. Used later these grants would violate the window, so they are returned.
    if (used < reply.granted)
      this.#reports = { ...this.#reports, returned: reply.granted - used, returnedStamp: reply.stamp };

    const { rateLimitedCalls, returned } = this.#reports;
    if (rateLimitedCalls > 0 || returned > 0 || this.#sentLate.length > 0) return this.#exchange();
    if (this.#waiters.length === 0) return this.#cancelWakeUp();
    if (reply.granted === wanted) return this.#exchange();
    this.#wakeUpIn(reply.waitMs);
  }

  #report(reports: Partial<WindowRequest>): void {
    this.#reports = mergeReports(this.#reports, reports);
  }

  #takeReports(): WindowRequest {
    const reports = this.#reports;
    this.#reports = emptyRequest;
    return reports;
  }

  #trackUnsent(stamp: string, givenAt: number): UnsentGrant {
    const grant = { stamp, at: givenAt, givenAt, given: stamp, receivedAt: this.#clock.monotonic() };
    this.#unsent.add(grant);
    return grant;
  }

  /** A call sent late counts from when it was sent, if there is room for it then. */
  #markSent(grant: UnsentGrant | undefined): boolean {
    if (!grant || !this.#unsent.delete(grant)) return true;
    const now = this.#clock.monotonic();
    if (now - grant.givenAt > lateAfterMs) {
      const { stamp, given, receivedAt } = grant;
      const moved = this.#window.sendLate({ stamp, given, lateMs: now - receivedAt });
      if (moved === null) return false;
      if (this.#window.isLocal) Object.assign(grant, { stamp: moved, given: moved, givenAt: now });
      else grant.stamp = moved;
    }
    queueMicrotask(() => this.#reportLate(grant));
    return true;
  }

  /**
   * After the call was written to its connection: a busy machine may have interrupted the process between the decision and
   * that. Reported at once: a later report costs more of the rate.
   */
  #reportLate(grant: UnsentGrant): void {
    if (this.#clock.monotonic() - grant.givenAt <= lateAfterMs) return;
    this.#sentLate = [...this.#sentLate, grant];
    this.#exchange();
  }

  /** The outcome of a call that was not reported as sent: it counts from now. */
  #settleUnsent(grant: UnsentGrant | undefined): void {
    if (grant && this.#unsent.delete(grant)) this.#reportLate(grant);
  }

  #permit(epoch: number, grant: UnsentGrant | undefined): Permit {
    let isOpen = true;
    const once = (report: () => void) => {
      this.#settleUnsent(grant);
      if (isOpen) report();
      isOpen = false;
    };
    return {
      sent: () => this.#markSent(grant),
      succeeded: () =>
        once(() => {
          this.#report({ successes: 1, epochSuccesses: 1, successEpoch: epoch });
          if (this.#window.isLocal) this.#exchange();
        }),
      rateLimited: (hint) =>
        once(() => {
          const { retryAfterMs = 0 } = hint ?? {};
          const pauseMs = retryAfterMs > 0 ? Math.min(Math.ceil(retryAfterMs), maxPauseMs) : 0;
          this.#report({ rateLimitedCalls: 1, rateLimitedEpoch: epoch, pauseMs });
          this.#exchange();
        }),
      failed: () => once(() => undefined),
    };
  }

  #rejectAll(error: unknown): void {
    this.#cancelWakeUp();
    for (let waiter = this.#waiters.shift(); waiter; waiter = this.#waiters.shift()) waiter.reject(error);
  }

  /** Uses `sleep` rather than a timer, because `sleep` keeps the process alive while callers wait. */
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

/** A longer Retry-After is cut to this. */
const maxPauseMs = 31 * 24 * 3_600_000;

/**
 * Both together. `more` may be the reports of a failed exchange, which may have arrived: successes and 429s may be
 * reported twice, but returned grants would then be taken from other callers, so those of `more` are dropped and cost a
 * little of the rate.
 */
function mergeReports(current: WindowRequest, more: Partial<WindowRequest>): WindowRequest {
  const both = [current, { ...emptyRequest, ...more }];
  const sum = (of: (reports: WindowRequest) => number) => both.reduce((total, each) => total + of(each), 0);
  const successEpoch = Math.max(...both.map((reports) => (reports.successes > 0 ? reports.successEpoch : 0)));
  return {
    ...current,
    successes: sum(({ successes }) => successes),
    epochSuccesses: sum((reports) => (reports.successEpoch === successEpoch ? reports.epochSuccesses : 0)),
    successEpoch,
    rateLimitedCalls: sum(({ rateLimitedCalls }) => rateLimitedCalls),
    rateLimitedEpoch: Math.max(current.rateLimitedEpoch, more.rateLimitedEpoch ?? 0),
    pauseMs: Math.max(current.pauseMs, more.pauseMs ?? 0),
    isReset: both.some(({ isReset }) => isReset),
  };
}

/** The RateLimiterState of founding document 001 under its own field names, and what operators need besides. */
export interface RateLimiterSnapshot {
  readonly backoff_multiplier: number;
  /** ISO 8601; null without any 429. */
  readonly last_429_timestamp: string | null;
  /** Consecutive successes since the last 429 or the last recovery step. */
  readonly consecutive_successes: number;
  readonly total_429_count: number;
  /** ISO 8601; null when no Retry-After is in effect. */
  readonly paused_until: string | null;
  /** Callers of this process that wait for a permit. */
  readonly waiting: number;
  /** The limit divided by the multiplier; null when there is no such limit. */
  readonly permitted_per_second: number | null;
  readonly permitted_per_minute: number | null;
}

function snapshotOf(
  state: WindowState,
  limits: RateLimits,
  waiting: number,
  now: number,
): RateLimiterSnapshot {
  const permitted = (limit: number | undefined) => (limit === undefined ? null : limit / state.multiplier);
  return {
    backoff_multiplier: state.multiplier,
    last_429_timestamp: state.last429At === 0 ? null : new Date(state.last429At).toISOString(),
    consecutive_successes: state.consecutiveSuccesses,
    total_429_count: state.total429,
    paused_until: state.pausedUntil > now ? new Date(state.pausedUntil).toISOString() : null,
    waiting,
    permitted_per_second: permitted(limits.perSecond),
    permitted_per_minute: permitted(limits.perMinute),
  };
}
