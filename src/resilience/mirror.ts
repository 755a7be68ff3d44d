// Data of a store kept in memory: read at start, and again whenever a change is announced.
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

export interface ReloadDeps {
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
  readonly #deps: ReloadDeps;
  readonly #source: ReloadSource;
  #loading: Promise<boolean> | undefined;
  #next: Promise<boolean> | undefined;
  #failures = 0;
  #error: unknown;
  #cancelRetry: () => void = () => undefined;
  #isClosed = false;

  constructor(deps: ReloadDeps, source: ReloadSource) {
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

  constructor(deps: ReloadDeps, source: MirrorSource<Row>) {
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
