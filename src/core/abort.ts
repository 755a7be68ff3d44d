// Small tools around AbortSignal that clean up after themselves (AbortSignal.any keeps listeners for ever).

/** Calls `run` when the signal aborts (at once if it has already); the returned function takes that back. */
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
  /** Lets go of the parents. Call it when the work is over. */
  dispose(): void;
}

/** A signal that aborts with the first of its parents, or by hand. */
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

/** Waits for `work`, but no longer than the signal lets it. The work itself is not stopped. */
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
