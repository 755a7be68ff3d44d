// AbortSignal and timeout helpers that remove their own listeners and timers (AbortSignal.any keeps its listeners).
import type { Clock } from './clock.ts';
import { CoreError } from './errors.ts';

/** Calls `run` when the signal aborts (at once if it already has). The returned function removes the listener. */
export function onAbort(signal: AbortSignal | undefined, run: (reason: unknown) => void): () => void {
  if (!signal) return () => undefined;
  if (signal.aborted) {
    run(signal.reason);
    return () => undefined;
  }
  const listener = () => run(signal.reason);
  signal.addEventListener('abort', listener, { once: true });
  return () => signal.removeEventListener('abort', listener);
}

export interface LinkedSignal {
  readonly signal: AbortSignal;
  abort(reason?: unknown): void;
  /** Removes the listeners on the parent signals. Call it when the work has ended. */
  dispose(): void;
}

/** A signal that aborts when the first of its parents aborts, or when `abort` is called. */
export function linkSignals(...parents: readonly (AbortSignal | undefined)[]): LinkedSignal {
  const controller = new AbortController();
  const undo = parents.map((parent) => onAbort(parent, (reason) => controller.abort(reason)));
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    dispose: () => {
      for (const release of undo) release();
    },
  };
}

/** Waits for `work` until the signal aborts. The work itself is not stopped. */
export async function abortable<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work;
  let release: () => void = () => undefined;
  const aborted = new Promise<never>((_, reject) => {
    release = onAbort(signal, (reason) => reject(reason));
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    release();
  }
}

const deadlines = new WeakMap<AbortSignal, () => number>();

/** Milliseconds until the timeout of the work that received this signal from `withTimeout`; undefined without one. */
export function remainingMs(signal: AbortSignal | undefined): number | undefined {
  return signal && deadlines.get(signal)?.();
}

export interface TimeoutOptions {
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** Ends the wait with its reason when it aborts. */
  readonly signal?: AbortSignal | undefined;
  /** Named in the default error. */
  readonly operation?: string;
  /** The error to throw on expiry. Default: DEADLINE_EXCEEDED with the timeout in its message. */
  readonly onTimeout?: (() => Error) | undefined;
}

/**
 * Waits for `work` up to `timeoutMs`, then throws. Work given as a function receives a signal that aborts on expiry
 * and with the parent signal, and whose `remainingMs` is never more than the parent's. Work that ignores its signal, or
 * is given as a promise, continues unobserved.
 *
 * On expiry the wait lasts one more event-loop turn, so that a result that arrived while this process was busy counts. An
 * error in that turn does not: it is most often a consequence of the same timeout, and is reported as such.
 *
 * @example
 * await withTimeout((signal) => fetch(url, { signal }), { clock: systemClock, timeoutMs: 5_000 });
 */
export async function withTimeout<T>(
  work: Promise<T> | ((signal: AbortSignal) => T | Promise<T>),
  { clock, timeoutMs, signal, operation, onTimeout }: TimeoutOptions,
): Promise<T> {
  if (typeof work === 'function') signal?.throwIfAborted();
  const controller = typeof work === 'function' ? new AbortController() : undefined;
  if (controller) {
    const endsAt = clock.monotonic() + Math.min(timeoutMs, remainingMs(signal) ?? timeoutMs);
    deadlines.set(controller.signal, () => Math.max(0, endsAt - clock.monotonic()));
  }
  const expired = Promise.withResolvers<never>();
  const stop = (reason: unknown) => {
    expired.reject(reason);
    controller?.abort(reason);
  };
  let timedOut: Error | undefined;
  let cancelTimer = clock.after(timeoutMs, () => {
    const error = (timedOut = onTimeout?.() ?? timeoutError(timeoutMs, operation));
    cancelTimer = clock.after(0, () => stop(error));
  });
  const removeListener = onAbort(signal, stop);
  try {
    const result =
      typeof work === 'function' ? Promise.try(work, (controller as AbortController).signal) : work;
    return await Promise.race([result, expired.promise]);
  } catch (error) {
    throw signal?.aborted ? error : (timedOut ?? error);
  } finally {
    cancelTimer();
    removeListener();
  }
}

const timeoutError = (timeoutMs: number, operation: string | undefined): CoreError =>
  new CoreError(
    'DEADLINE_EXCEEDED',
    `${operation === undefined ? 'The operation' : `"${operation}"`} did not complete within ${timeoutMs} ms. Try again, or raise the timeout.`,
    { isRetryable: true },
  );
