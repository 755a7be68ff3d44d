// Data of a store kept in memory: read at start and again whenever a change is announced, written in the background.
import type { Clock, Random } from '../core/index.ts';
import { storeBackoff } from './retry.ts';

/**
 * How processes that share a store announce changes to each other. One implementation: the feed of Postgres; tests use
 * one in memory.
 */
export interface ChangeFeed<Topic extends string> {
  /** Can other processes change the same data? If not, there is nothing to poll for. */
  readonly isShared: boolean;
  /**
   * Calls back with a topic when any process (this one included) changed it, and with `everything` after the
   * connection was lost, because announcements may have been missed. The returned function unsubscribes. Fails with
   * STATE_UNAVAILABLE.
   */
  watch(onChange: (topic: Topic | 'everything') => void): Promise<() => Promise<void>>;
}

interface StoreSyncDeps {
  readonly clock: Clock;
  readonly random: Random;
}

export interface ReloadSource {
  /** Reads the store and replaces the data in memory. */
  readonly load: () => Promise<void>;
  /** Called for every load that failed. */
  readonly onFailure: (error: unknown) => void;
}

/**
 * Runs one load at a time. A refresh requested during a load causes one more load afterwards. A failed load leaves the
 * data in memory as it is and is retried: after 250 ms at first, every 10 s in the end.
 */
export class Reload {
  readonly #deps: StoreSyncDeps;
  readonly #source: ReloadSource;
  #loading: Promise<boolean> | undefined;
  #next: Promise<boolean> | undefined;
  #failures = 0;
  #error: unknown;
  #cancelRetry: () => void = () => undefined;
  #isClosed = false;

  constructor(deps: StoreSyncDeps, source: ReloadSource) {
    this.#deps = deps;
    this.#source = source;
  }

  /** The first load. Fails when the store cannot be read, because there is no data in memory yet. */
  async start(): Promise<void> {
    if (!(await this.refresh())) throw this.#error;
  }

  /** Resolves when a load that began after this call has ended: true when it succeeded. Never rejects. */
  refresh(): Promise<boolean> {
    if (!this.#loading) return this.#begin();
    this.#next ??= this.#loading.then(() => {
      this.#next = undefined;
      return this.refresh();
    });
    return this.#next;
  }

  /** Waits for the load in progress and starts no more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelRetry();
    await (this.#next ?? this.#loading);
  }

  #begin(): Promise<boolean> {
    this.#cancelRetry();
    this.#loading = this.#load().finally(() => (this.#loading = undefined));
    return this.#loading;
  }

  async #load(): Promise<boolean> {
    if (this.#isClosed) return false;
    const { clock, random } = this.#deps;
    try {
      await this.#source.load();
      this.#failures = 0;
      return true;
    } catch (error) {
      this.#failures += 1;
      this.#error = error;
      this.#source.onFailure(error);
      if (!this.#isClosed) {
        const delayMs = storeBackoff.delayMs(this.#failures, random);
        this.#cancelRetry = clock.after(delayMs, () => void this.refresh());
      }
      return false;
    }
  }
}

export interface MirrorSource<Row> {
  /** All rows. */
  readonly list: () => Promise<readonly Row[]>;
  /** Called with every new state of the copy, to build indexes. */
  readonly show: (rows: readonly Row[]) => void;
  /** Called for every read that failed; the copy stays as it is, and the read is retried. */
  readonly onFailure: (error: unknown) => void;
}

/** A copy of a store's rows in memory. */
export class Mirror<Row> extends Reload {
  readonly #source: MirrorSource<Row>;
  #rows: readonly Row[] = [];
  #edits = 0;

  constructor(deps: StoreSyncDeps, source: MirrorSource<Row>) {
    super(deps, { load: () => this.#load(), onFailure: source.onFailure });
    this.#source = source;
  }

  get rows(): readonly Row[] {
    return this.#rows;
  }

  /**
   * Applies to the copy what was just written to the store, so that this process sees it at once, then reads again
   * because other processes may have written too.
   */
  edit(change: (rows: readonly Row[]) => readonly Row[]): void {
    this.#edits += 1;
    this.#replace(change(this.#rows));
    void this.refresh();
  }

  async #load(): Promise<void> {
    for (;;) {
      const before = this.#edits;
      const rows = await this.#source.list();
      // Rows read while an edit happened may lack that edit.
      if (this.#edits === before) return this.#replace(rows);
    }
  }

  #replace(rows: readonly Row[]): void {
    this.#rows = rows;
    this.#source.show(rows);
  }
}

export interface WriteBehindSource {
  /** How long to collect before writing. */
  readonly delayMs: number;
  /** How much waits; 0 ends the loop. */
  readonly waiting: () => number;
  /**
   * After a write the next one starts at once only if this much waits, otherwise after `delayMs`: under load, writes of
   * a few rows without a pause would cost four times as much. Default: 1.
   */
  readonly batchSize?: () => number;
  /** Writes some of it; failed entries stay pending. Rejects when the store is unavailable. */
  readonly write: () => Promise<void>;
  readonly onFailure: (error: unknown, retryInMs: number) => void;
}

/**
 * Writes what is buffered in memory to a store in the background: collects for a while, writes, retries what failed.
 *
 * idle → (wake) armed → writing → idle. A failed write arms it again with backoff; `retryNow` is for a store that is
 * available again.
 */
export class WriteBehind {
  readonly #deps: StoreSyncDeps;
  readonly #source: WriteBehindSource;
  #cancelTimer: (() => void) | undefined;
  #writing: Promise<void> | undefined;
  /** Writes and paused reads run one after the other. */
  #last: Promise<unknown> = Promise.resolve();
  #failures = 0;
  /** Callers that wait for everything to be written. */
  #flushes = 0;
  #isClosed = false;

  constructor(deps: StoreSyncDeps, source: WriteBehindSource) {
    this.#deps = deps;
    this.#source = source;
  }

  /** Something waits: it is written soon. */
  wake(): void {
    if (!this.#cancelTimer && !this.#writing && !this.#isClosed) this.#arm(this.#source.delayMs);
  }

  /** Ends the backoff: the store is available again. */
  retryNow(): void {
    if (this.#source.waiting() > 0 && !this.#isClosed) void this.#start();
  }

  /** Writes everything now, as far as the store accepts it. False when something still waits. Never rejects. */
  async flush(): Promise<boolean> {
    this.#flushes += 1;
    try {
      await this.#writing;
      if (this.#source.waiting() > 0) await this.#start();
      return this.#source.waiting() === 0;
    } finally {
      this.#flushes -= 1;
    }
  }

  /** Writes everything, then runs `read` while no write runs: it reads all but what is buffered at its end. */
  async withWritesPaused<T>(read: () => Promise<T>): Promise<T> {
    await this.flush();
    return this.#serialized(read);
  }

  /** One last write; nothing is written afterwards. False when something was left. */
  async close(): Promise<boolean> {
    this.#isClosed = true;
    const isEmpty = await this.flush();
    this.#cancelTimer?.();
    return isEmpty;
  }

  #arm(ms: number): void {
    this.#cancelTimer?.();
    this.#cancelTimer = this.#deps.clock.after(ms, () => void this.#start());
  }

  #start(): Promise<void> {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined;
      // Something may have arrived between the last check and now; nothing else would wake for it.
      if (this.#source.waiting() > 0) this.wake();
    });
    return this.#writing;
  }

  async #writeAll(): Promise<void> {
    const { waiting, write, batchSize, onFailure } = this.#source;
    try {
      for (let due = 1; waiting() >= due; due = this.#flushes > 0 ? 1 : (batchSize?.() ?? 1)) {
        await this.#serialized(write);
        this.#failures = 0;
      }
    } catch (error) {
      this.#failures += 1;
      const retryInMs = Math.round(storeBackoff.delayMs(this.#failures, this.#deps.random));
      onFailure(error, retryInMs);
      if (!this.#isClosed) this.#arm(retryInMs);
    }
  }

  #serialized<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => undefined);
    return result;
  }
}
