// A deadline that travels with an AbortSignal: every holder of the signal can read how much time is left.
import { abortable, onAbort } from './abort.ts';
import type { Clock } from './clock.ts';
import { CoreError } from './errors.ts';

export interface SignalDeadline {
  /** The name of the tightest budget. */
  readonly budget: string;
  /** Milliseconds left; 0 once it has passed. */
  remainingMs(): number;
}

export interface Deadline {
  /** Aborts with DEADLINE_EXCEEDED when the time is over, or with its parent's reason before that. */
  readonly signal: AbortSignal;
  remainingMs(): number;
  /** Stops the timer and detaches from the parent. Call it when the work is over. */
  dispose(): void;
}

const deadlines = new WeakMap<AbortSignal, SignalDeadline>();

/** The deadline of a signal, if it has one. */
export function deadlineOf(signal: AbortSignal | undefined): SignalDeadline | undefined {
  return signal && deadlines.get(signal);
}

/**
 * Gives work `ms` milliseconds, or what is left of its parent's deadline if that is less.
 * `Infinity` adds no limit of its own; the parent's still holds. Throws RangeError unless `ms` is at least 0.
 */
export function withDeadline(
  parent: AbortSignal | undefined,
  ms: number,
  clock: Clock,
  budget = 'deadline',
): Deadline {
  if (!(ms >= 0)) throw new RangeError(`ms must be 0 or more, not ${ms}`);
  const outer = deadlineOf(parent);
  const outerMs = outer?.remainingMs() ?? Number.POSITIVE_INFINITY;
  const effectiveMs = Math.min(ms, outerMs);
  const owner = outer && outerMs < ms ? outer.budget : budget;
  const endsAt = clock.monotonic() + effectiveMs;
  const remainingMs = () => Math.max(0, endsAt - clock.monotonic());

  const controller = new AbortController();
  const expire = () => controller.abort(deadlineExceeded(owner, effectiveMs));
  const release = onAbort(parent, (reason) => controller.abort(reason));
  const stop =
    effectiveMs === 0
      ? expire()
      : Number.isFinite(effectiveMs)
        ? clock.after(effectiveMs, expire)
        : undefined;
  if (Number.isFinite(endsAt)) deadlines.set(controller.signal, { budget: owner, remainingMs });
  const dispose = () => {
    stop?.();
    release();
  };
  return { signal: controller.signal, remainingMs, dispose };
}

/**
 * Runs `work` with a signal that carries a deadline, and waits for it no longer than that: work that ignores its
 * signal is left behind. Fails as `work` does, with DEADLINE_EXCEEDED, or with the parent signal's reason.
 */
export async function executeWithDeadline<T>(
  work: (signal: AbortSignal) => Promise<T>,
  {
    clock,
    timeoutMs,
    operation,
    signal,
  }: {
    readonly clock: Clock;
    readonly timeoutMs: number;
    /** Named in the error. */
    readonly operation: string;
    readonly signal?: AbortSignal | undefined;
  },
): Promise<T> {
  const deadline = withDeadline(signal, timeoutMs, clock, operation);
  try {
    return await abortable(work(deadline.signal), deadline.signal);
  } finally {
    deadline.dispose();
  }
}

function deadlineExceeded(budget: string, ms: number): CoreError {
  return new CoreError(
    'DEADLINE_EXCEEDED',
    `"${budget}" timed out after ${Math.round(ms)} ms. Try again, or raise the timeout.`,
    { isRetryable: true, details: { budget, budgetMs: ms } },
  );
}
