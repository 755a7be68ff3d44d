// What keeping quotas needs: something that counts, and what was asked before a restart.

/** At most `limit` in any `bucketMs * buckets`, counted in buckets: exact to one bucket, to the safe side. */
export interface CountedWindow {
  readonly name: string;
  readonly unit: 'requests' | 'tokens';
  readonly limit: number;
  readonly bucketMs: number;
  readonly buckets: number;
}

export interface Counted {
  /** 0: it was counted in every window. Else it was counted in none, and might be after so many milliseconds. */
  readonly waitMs: number;
  /** When it was counted, in milliseconds of the counter's own clock; names it in `correct`. */
  readonly stamp: number;
}

/** Counts costs, many names side by side. Adapters: in memory, and Redis for many processes. */
export interface QuotaCounter {
  /**
   * One atomic decision. `costs` are whole numbers, one per window; a cost above its limit needs an empty window.
   */
  count(
    name: string,
    windows: readonly CountedWindow[],
    costs: readonly number[],
  ): Counted | Promise<Counted>;
  /** Milliseconds after which so much might be counted; 0: now. Counts nothing. */
  wait(name: string, windows: readonly CountedWindow[], costs: readonly number[]): number | Promise<number>;
  /** Adds to what was counted at `stamp`; negative numbers give back. What has left a window is left alone. */
  correct(
    name: string,
    windows: readonly CountedWindow[],
    amounts: readonly number[],
    stamp: number,
  ): void | Promise<void>;
}

/** One call that was made before this process started. */
export interface PastCall {
  readonly modelId: number;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly tokens: number;
}

/** Fails with STATE_UNAVAILABLE while the store is away. */
export interface PastCalls {
  /** Of one model, in any order. */
  since(modelId: number, from: number): Promise<readonly PastCall[]>;
}
