// The recorder that every domain uses: collects degradations, writes them in batches, keeps them while the store is
// unavailable.
//
// A row is pending (in order of arrival) → written with others in one call → durable. A failed call puts its rows back at
// the end. When the store was available but rejected them, the next batch is half as big, so that a row that cannot be
// stored ends up alone and the others pass.
import type { Clock, Emitter, Random, Redactor } from '../core/index.ts';
import { HeadworksError, kindOf, plainValue, storableText } from '../core/index.ts';
import { WriteBehind } from '../resilience/store-sync.ts';
import { LedgerError } from './errors.ts';
import type { LedgerEvents } from './events.ts';
import type { LedgerOptions } from './options.ts';
import type { Degradation, LedgerRecorder, LedgerStore, SeenDegradation } from './store.ts';
import { mergeSeen, rowKey } from './store.ts';

export interface LedgerRecorderDeps {
  readonly store: Pick<LedgerStore, 'record'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly redactor: Redactor;
  readonly events: Emitter<LedgerEvents>;
  readonly options: Pick<LedgerOptions, 'flushIntervalMs' | 'flushBatch' | 'maxPending'>;
}

interface PendingRow {
  readonly seen: SeenDegradation;
  readonly durable: PromiseWithResolvers<void>;
}

/** The kind of the row that counts dropped rows; its subject is their kind. */
export const overflowKind = 'ledger.overflow';

export class BatchingLedgerRecorder implements LedgerRecorder {
  readonly #deps: LedgerRecorderDeps;
  readonly #pending = new Map<string, PendingRow>();
  readonly #writer: WriteBehind;
  #inFlight = 0;
  #wasRejected = false;
  #batchLimit: number;
  #isClosed = false;

  constructor(deps: LedgerRecorderDeps) {
    this.#deps = deps;
    this.#batchLimit = deps.options.flushBatch;
    this.#writer = new WriteBehind(deps, {
      delayMs: deps.options.flushIntervalMs,
      waiting: () => this.#pending.size,
      write: () => this.#writeBatch(),
      onFailure: (error, retryInMs) =>
        deps.events.emit('ledger:store-failed', { cause: kindOf(error), waiting: this.pending, retryInMs }),
    });
  }

  /** The number of rows that are not durable yet. */
  get pending(): number {
    return this.#pending.size + this.#inFlight;
  }

  record(degradation: Degradation): Promise<void> {
    const now = new Date(this.#deps.clock.now());
    const clean = storableDegradation(degradation, this.#deps.redactor);
    const row = { ...clean, count: 1, firstSeenAt: now, lastSeenAt: now };
    if (this.#isClosed) return this.#reject(row);
    const isFull = this.pending >= this.#deps.options.maxPending && !this.#pending.has(rowKey(row));
    const durable = isFull ? this.#overflow(row) : this.#wait({ seen: row, durable: quietDeferred() });
    this.#writer.wake();
    return durable;
  }

  /** Writes everything now. False when rows are still pending. */
  async flush(): Promise<boolean> {
    await this.#writer.flush();
    return this.pending === 0;
  }

  /** Accepts no more rows, writes what the store accepts, and emits an event for every lost row. Safe to call twice. */
  async close(): Promise<void> {
    this.#isClosed = true;
    // Each rejected round halves the batch or drops one row, so this ends.
    while (!(await this.flush()) && this.#wasRejected);
    for (const row of this.#pending.values()) this.#rejectLost(row);
    this.#pending.clear();
    await this.#writer.close();
  }

  #rejectLost({ seen, durable }: PendingRow): void {
    this.#emitLost(seen);
    durable.reject(
      new LedgerError('LEDGER_CLOSED', `The store did not accept ${seen.kind} ${seen.subject}.`),
    );
  }

  #wait(row: PendingRow): Promise<void> {
    const key = rowKey(row.seen);
    const earlier = this.#pending.get(key);
    if (!earlier) this.#pending.set(key, row);
    else this.#pending.set(key, { seen: mergeSeen(earlier.seen, row.seen), durable: earlier.durable });
    return earlier ? earlier.durable.promise : row.durable.promise;
  }

  #overflow(row: SeenDegradation): Promise<void> {
    const { kind } = row;
    this.#deps.events.emit('ledger:overflowed', { kind, count: 1 });
    const message = `Too many rows were waiting for the store; further ones of ${kind} were counted, not kept.`;
    const counted = {
      ...row,
      kind: overflowKind,
      subject: kind,
      cause: 'LEDGER_OVERFLOW',
      message,
      details: {},
    };
    void this.#wait({ seen: counted, durable: quietDeferred() });
    return quietRejection(new LedgerError('LEDGER_OVERFLOW', message));
  }

  #reject(row: SeenDegradation): Promise<void> {
    this.#emitLost(row);
    return quietRejection(
      new LedgerError('LEDGER_CLOSED', `${row.kind} ${row.subject} arrived after the recorder was closed.`),
    );
  }

  #emitLost({ kind, subject, cause, count }: SeenDegradation): void {
    this.#deps.events.emit('ledger:lost', { kind, subject, cause, count });
  }

  async #writeBatch(): Promise<void> {
    const batch = [...this.#pending.values().take(this.#batchLimit)];
    for (const row of batch) this.#pending.delete(rowKey(row.seen));
    this.#inFlight = batch.length;
    try {
      await this.#deps.store.record(batch.map((row) => row.seen));
    } catch (error) {
      this.#inFlight = 0;
      this.#putBack(batch, error);
      throw error;
    }
    this.#inFlight = 0;
    this.#settle(batch);
  }

  #settle(batch: readonly PendingRow[]): void {
    this.#batchLimit = Math.min(this.#batchLimit * 2, this.#deps.options.flushBatch);
    for (const { seen, durable } of batch) {
      durable.resolve();
      const { kind, subject, cause, count } = seen;
      this.#deps.events.emit('ledger:recorded', { kind, subject, cause, count });
    }
  }

  #putBack(batch: readonly PendingRow[], error: unknown): void {
    this.#wasRejected = !(error instanceof HeadworksError && error.isRetryable);
    if (this.#wasRejected) this.#batchLimit = Math.max(Math.floor(batch.length / 2), 1);
    const [only, ...others] = batch;
    if (this.#wasRejected && this.#isClosed && only && others.length === 0) return this.#rejectLost(only);
    for (const row of batch) {
      const newer = this.#pending.get(rowKey(row.seen));
      if (newer) newer.durable.promise.then(row.durable.resolve, row.durable.reject);
      this.#pending.set(rowKey(row.seen), {
        seen: newer ? mergeSeen(row.seen, newer.seen) : row.seen,
        durable: newer?.durable ?? row.durable,
      });
    }
  }
}

/** A promise whose rejection may be ignored. */
function quietDeferred(): PromiseWithResolvers<void> {
  const deferred = Promise.withResolvers<void>();
  deferred.promise.catch(() => undefined);
  return deferred;
}

function quietRejection(error: Error): Promise<void> {
  const deferred = quietDeferred();
  deferred.reject(error);
  return deferred.promise;
}

/** Kind and subject together stay well below the limit of an index entry (2,704 bytes). */
const maxLengths = { kind: 100, subject: 500, cause: 200, message: 2_000, details: 8_000 } as const;

/** The degradation as it is stored: redacted, and bounded in size. */
export function storableDegradation(degradation: Degradation, redactor: Redactor): Required<Degradation> {
  const clean = (text: unknown, maxLength: number) => storableText(redactor.text(String(text)), maxLength);
  return {
    kind: clean(degradation.kind, maxLengths.kind),
    subject: clean(degradation.subject, maxLengths.subject),
    cause: clean(degradation.cause, maxLengths.cause),
    message: clean(degradation.message, maxLengths.message),
    details: storableDetails(degradation.details ?? {}, redactor),
  };
}

function storableDetails(
  details: Readonly<Record<string, unknown>>,
  redactor: Redactor,
): Readonly<Record<string, unknown>> {
  const plain = plainValue(redactor.value(details), {
    text: (text) => storableText(text, maxLengths.details),
  });
  const { length } = JSON.stringify(plain);
  return length <= maxLengths.details
    ? (plain as Record<string, unknown>)
    : { omitted: `${length} characters of details` };
}
