// A deadline that travels with an AbortSignal: whoever holds the signal can ask how much time is left.
import type { LinkedSignal } from '../core/abort.ts';
import { linkSignals, onAbort } from '../core/abort.ts';
import type { Clock } from '../core/clock.ts';
import { CoreError } from '../core/errors.ts';

/** What a signal knows of its deadline. */
export interface SignalDeadline {
  /** Whose time it is: the name of the tightest budget. */
  readonly budget: string;
  /** Milliseconds left; 0 once it has passed. */
  remainingMs(): number;
}

export interface Deadline {
  /** Aborts with DEADLINE_EXCEEDED when the time is over, or with its parent's reason before that. */
  readonly signal: AbortSignal;
  remainingMs(): number;
  /** Stops the timer and lets go of the parent. Call it when the work is over. */
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
  const grantedMs = Math.min(ms, outerMs);
  const owner = outer && outerMs < ms ? outer.budget : budget;
  const endsAt = clock.monotonic() + grantedMs;
  const remainingMs = () => Math.max(0, endsAt - clock.monotonic());

  const controller = new AbortController();
  const expire = () => controller.abort(deadlineExceeded(owner, grantedMs));
  const release = onAbort(parent, (reason) => controller.abort(reason));
  const stop =
    grantedMs === 0 ? expire() : Number.isFinite(grantedMs) ? clock.after(grantedMs, expire) : undefined;
  if (Number.isFinite(endsAt)) deadlines.set(controller.signal, { budget: owner, remainingMs });
  const dispose = () => {
    stop?.();
    release();
  };
  return { signal: controller.signal, remainingMs, dispose };
}

/** Like `linkSignals`, and the linked signal carries the earliest deadline of its parents. */
export function linkDeadlines(...parents: readonly (AbortSignal | undefined)[]): LinkedSignal {
  const linked = linkSignals(...parents);
  const tightest = parents
    .map(deadlineOf)
    .filter((deadline) => deadline !== undefined)
    .sort((a, b) => a.remainingMs() - b.remainingMs())[0];
  if (tightest) deadlines.set(linked.signal, tightest);
  return linked;
}

function deadlineExceeded(budget: string, ms: number): CoreError {
  return new CoreError(
    'DEADLINE_EXCEEDED',
    `The time for "${budget}" ran out after ${Math.round(ms)} ms. Try again, or give it more time.`,
    { isRetryable: true, details: { budget, budgetMs: ms } },
  );
}
