// Brings a store of slots that was away, or lost everything, up to date before it decides again.
import { CoreError } from '../../core/index.ts';
import type { LimitReader } from '../limits/limit-reader.ts';
import type { AdmissionParts } from '../parts.ts';
import type { Slot } from '../ports.ts';
import { within } from '../within.ts';
import type { SlotBooks } from './slot-books.ts';

/** A store that is well answers far sooner. */
const probeMs = 250;
/** Under a storm of local admissions the last of them are told right after, not before. */
const mostCatchUps = 10;

export class StoreReturn {
  readonly #parts: AdmissionParts;
  readonly #books: SlotBooks;
  readonly #reader: LimitReader;
  #restoring: Promise<void> | null = null;
  /** Admitted here while the store is being brought up to date; null at all other times. */
  #untold: Slot[] | null = null;
  #count = 0;

  constructor(parts: AdmissionParts, books: SlotBooks, reader: LimitReader) {
    this.#parts = parts;
    this.#books = books;
    this.#reader = reader;
  }

  /** This process admitted it without the store. */
  admittedLocally(slot: Slot): void {
    this.#untold?.push(slot);
    this.#count++;
  }

  /** How many that were since this was last asked. */
  takeCount(): number {
    const count = this.#count;
    this.#count = 0;
    return count;
  }

  /** Everything that is under way gets its slot; callers at the same time share one run. */
  restore(): Promise<void> {
    this.#restoring ??= this.#restore().finally(() => (this.#restoring = null));
    return this.#restoring;
  }

  /** For the watch: fails while the store is away. */
  async look(markUp: () => void): Promise<void> {
    const { clock, slots, serverId } = this.#parts;
    await this.seeFromState();
    const isBack = slots.heartbeat(serverId);
    this.#books.budget.servers(await within(clock, probeMs, isBack, storeIsSilent));
    this.#untold = [];
    try {
      await this.restore();
      await this.#books.releases.tell((slot) => slots.release(slot));
      // Limits may have changed while nobody could say so.
      await slots.forgetLimits('all');
      for (let round = 0; round < mostCatchUps && this.#untold.length > 0; round++) await this.#tellUntold();
      markUp();
      await this.#tellUntold();
      await this.#books.releases.tell((slot) => slots.release(slot));
    } finally {
      this.#untold = null;
    }
  }

  /** What is under way and what is allowed, from the state store: as good as the store of slots, but slower. */
  async seeFromState(): Promise<void> {
    const { executions } = this.#parts;
    await Promise.allSettled([this.#books.look(() => executions.unfinished()), this.#reader.refresh()]);
  }

  async #tellUntold(): Promise<void> {
    const fresh = (this.#untold ?? []).filter(({ executionId }) => this.#books.held.has(executionId));
    this.#untold = [];
    if (fresh.length > 0) await this.#parts.slots.renew(fresh);
  }

  async #restore(): Promise<void> {
    const { slots, executions, events } = this.#parts;
    const held = this.#books.held.list();
    const unfinished = await executions.unfinished();
    const known = new Set((await slots.holders()).map(({ executionId }) => executionId));
    const all = [
      ...new Map([...unfinished, ...held].map((slot) => [slot.executionId, plain(slot)])).values(),
    ];
    await slots.restore(all);
    const count = all.filter(({ executionId }) => !known.has(executionId)).length;
    if (count > 0) events.emit('admission:slots-restored', { count, why: 'store-was-empty' });
    await this.#releaseEnded(all);
  }

  /** What ended while it was being restored has nobody else to free it. */
  async #releaseEnded(restored: readonly Slot[]): Promise<void> {
    const { slots, executions } = this.#parts;
    const ended = new Set(await executions.ended(restored.map(({ executionId }) => executionId)));
    for (const slot of restored) if (ended.has(slot.executionId)) await slots.release(slot);
  }
}

const plain = ({ organizationId, executionId }: Slot): Slot => ({ organizationId, executionId });

const storeIsSilent = (): CoreError =>
  new CoreError('REDIS_UNAVAILABLE', `Redis did not answer within ${probeMs} ms.`, { isRetryable: true });
