// A copy in memory of rows that lie in a store: read at start and whenever somebody says that they changed.
import type { ReloadParts } from './reload.ts';
import { Reload } from './reload.ts';

export interface MirrorSource<Row> {
  /** All rows. */
  readonly list: () => Promise<readonly Row[]>;
  /** Called with every new state of the copy, for indexes. */
  readonly show: (rows: readonly Row[]) => void;
  /** Told of every read that failed; the copy stays as it is, and the store is asked again. */
  readonly onFailure: (error: unknown) => void;
}

export class Mirror<Row> {
  readonly #source: MirrorSource<Row>;
  readonly #reload: Reload;
  #rows: readonly Row[] = [];
  #edits = 0;

  constructor(parts: ReloadParts, source: MirrorSource<Row>) {
    this.#source = source;
    this.#reload = new Reload(parts, { load: () => this.#load(), onFailure: source.onFailure });
  }

  get rows(): readonly Row[] {
    return this.#rows;
  }

  /**
   * Does to the copy what was just done to the store, so that this process sees it at once; then reads again: others
   * may have been at it, too.
   */
  edit(change: (rows: readonly Row[]) => readonly Row[]): void {
    this.#edits += 1;
    this.#put(change(this.#rows));
    void this.#reload.refresh();
  }

  /** The first read. Fails when the store cannot be read. */
  start(): Promise<void> {
    return this.#reload.start();
  }

  /** Resolves when a read that began after this call has ended: true when it worked. Never rejects. */
  refresh(): Promise<boolean> {
    return this.#reload.refresh();
  }

  close(): Promise<void> {
    return this.#reload.close();
  }

  async #load(): Promise<void> {
    for (;;) {
      const before = this.#edits;
      const rows = await this.#source.list();
      // What was read while something changed here may lack it.
      if (this.#edits === before) return this.#put(rows);
    }
  }

  #put(rows: readonly Row[]): void {
    this.#rows = rows;
    this.#source.show(rows);
  }
}
