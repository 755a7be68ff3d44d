// Where time comes from. Everything that waits or stamps takes a Clock, so that it can run on virtual time.

export interface Clock {
  /** Wall-clock milliseconds since the epoch. May jump; use it for stamps that others read. */
  now(): number;
  /** Milliseconds that never run backwards. Only differences mean anything. */
  monotonic(): number;
  /** Resolves after `ms`; rejects with the signal's reason as soon as it aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls `run` once after `ms`; the returned function cancels it. Does not keep the process alive. */
  after(ms: number, run: () => void): () => void;
}
