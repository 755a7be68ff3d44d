// Writes down how tries ended: many in one statement, and again and again while the store is away.
import { messageOf, type Clock } from '../../../core/index.ts';
import type { Database } from '../../postgres/ports.ts';
import { SqlError } from '../../postgres/sql-error.ts';
import type { JobStatements, SettleRecord } from './job-statements.ts';
import type { StoreWatch } from './store-watch.ts';

interface Waiting {
  readonly record: SettleRecord;
  readonly resolve: (written: SettleRecord | null) => void;
}

const tryAgainMs = 500;

/**
 * Classes of refusals that are not about what is written: a read-only store, collisions, rights, full disks, locks,
 * interventions, broken machines. They concern every record, and may pass.
 */
const notAboutTheRecord = /^(25|40|42|53|55|57|58)/;

const isAboutTheRecord = (error: unknown): boolean =>
  error instanceof SqlError && !notAboutTheRecord.test(error.sqlState);

export class Settler {
  readonly #database: Database;
  readonly #statements: JobStatements;
  readonly #clock: Clock;
  readonly #watch: StoreWatch;
  #waiting: Waiting[] = [];
  #isFlushing = false;
  #hasGivenUp = false;

  constructor(database: Database, statements: JobStatements, clock: Clock, watch: StoreWatch) {
    this.#database = database;
    this.#statements = statements;
    this.#clock = clock;
    this.#watch = watch;
  }

  /** What was written; `null` when the job is no longer this worker's, or the store stayed away until the end. */
  settle(record: SettleRecord): Promise<SettleRecord | null> {
    const { promise, resolve } = Promise.withResolvers<SettleRecord | null>();
    this.#waiting.push({ record, resolve });
    void this.#flush();
    return promise;
  }

  /** The process ends: what cannot be written now is left to another one, which will find it abandoned. */
  giveUp(): void {
    this.#hasGivenUp = true;
    if (this.#watch.isAway) this.#abandon();
  }

  async #flush(): Promise<void> {
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    // Tries that end in the same moment go in the same statement.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      await this.#writeOrWait(batch);
    }
    this.#isFlushing = false;
  }

  async #writeOrWait(batch: readonly Waiting[]): Promise<void> {
    try {
      await this.#write(batch);
      this.#watch.worked();
    } catch (error) {
      this.#watch.failed('settle', error);
      this.#waiting.unshift(...batch);
      if (this.#hasGivenUp) this.#abandon();
      else await this.#clock.sleep(tryAgainMs);
    }
  }

  async #write(batch: readonly Waiting[]): Promise<void> {
    try {
      await this.#writeAll(batch);
    } catch (error) {
      if (!isAboutTheRecord(error)) throw error;
      // One record that Postgres does not take must not keep the others from being written.
      const [only, ...more] = batch;
      if (only && more.length === 0) await this.#writeUnstorable(only, error);
      else for (const one of batch) await this.#write([one]);
    }
  }

  async #writeUnstorable({ record, resolve }: Waiting, error: unknown): Promise<void> {
    const output = { reason: `What it gave back cannot be stored: ${messageOf(error)}.` };
    try {
      await this.#writeAll([{ record: { ...record, kind: 'failed', output }, resolve }]);
    } catch (again) {
      if (!isAboutTheRecord(again)) throw again;
      // Not even that: it is left as a job without a sign of life, which the caretaker deals with.
      resolve(null);
    }
  }

  async #writeAll(batch: readonly Waiting[]): Promise<void> {
    const records = batch.map(({ record }) => record);
    const { rows } = await this.#database.query<{ id: string }>(this.#statements.settle(records));
    const written = new Set(rows.map(({ id }) => id));
    for (const { record, resolve } of batch) resolve(written.has(record.id) ? record : null);
  }

  #abandon(): void {
    for (const { resolve } of this.#waiting) resolve(null);
    this.#waiting = [];
  }
}
