// Brings a store of slots that was away, or lost everything, up to date before it decides again.
import { CoreError } from '../../../core/index.ts';
import type { Sight } from '../budget/local-budget.ts';
import type { LimitReader } from '../limits/limit-reader.ts';
import type { AdmissionParts } from '../parts.ts';
import type { Slot } from '../ports.ts';
import { within } from '../within.ts';
import type { SlotBooks } from './slot-books.ts';

/** A store that is well answers far sooner. */
const probeMs = 250;
/** With the time a decision takes at most it stays within 50 ms; the state store usually takes a few. */
const firstSightMs = 8;
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
  #seeing: Promise<void> | null = null;
  /** Null while the store decides. */
  #lostAt: number | null = null;
  #firstSight: Promise<void> = Promise.resolve();

  constructor(parts: AdmissionParts, books: SlotBooks, reader: LimitReader) {
    this.#parts = parts;
    this.#books = books;
    this.#reader = reader;
  }

  /** The store went away: what is under way now is looked at, before this process decides if that is quick. */
  lost(): void {
    const { clock } = this.#parts;
    this.#lostAt = clock.monotonic();
    this.#books.budget.lost();
    this.#firstSight = within(clock, firstSightMs, this.seeFromState(), stateIsSlow).catch(() => undefined);
  }

  /** Resolves when this process knows what it can know in so short a time. */
  sighted(): Promise<void> {
    return this.#firstSight;
  }

  /** The store decides again. */
  back(): void {
    this.#lostAt = null;
    this.#books.budget.back();
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
    // A write, where that is possible: a store that is full still answers questions.
    const isBack = serverId === null ? slots.forgetLimits([]) : slots.heartbeat(serverId);
    const alive = await within(clock, probeMs, isBack, storeIsSilent);
    if (serverId !== null) this.#books.alive(alive);
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
  seeFromState(): Promise<void> {
    this.#seeing ??= this.#seeFromState().finally(() => (this.#seeing = null));
    return this.#seeing;
  }

  async #seeFromState(): Promise<void> {
    const { clock, executions, options } = this.#parts;
    const { budget } = this.#books;
    const see = (sight: Sight): void => {
      if (this.#lostAt === null) budget.see(sight);
      // For so long Redis would have kept slots that nobody renews.
      else budget.seeExecutions(sight, clock.monotonic() - this.#lostAt < options.leaseSeconds * 1_000);
    };
    await Promise.allSettled([this.#books.look(() => executions.unfinished(), see), this.#reader.refresh()]);
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
    const { wasEmpty } = await slots.restore(all);
    const count = all.filter(({ executionId }) => !known.has(executionId)).length;
    const why = wasEmpty ? 'store-was-empty' : this.#lostAt === null ? 'missing' : 'store-was-away';
    if (count > 0) events.emit('admission:slots-restored', { count, why });
    await this.#releaseEnded(all);
  }

  /** What ended while it was being restored has nobody else to free it. */
  async #releaseEnded(restored: readonly Slot[]): Promise<void> {
    const { slots, executions } = this.#parts;
    const ended = new Set(await executions.ended(restored.map(({ executionId }) => executionId)));
    for (const slot of restored) if (ended.has(slot.executionId)) await slots.release(slot);
  }
}

const stateIsSlow = (): CoreError =>
  new CoreError('STATE_UNAVAILABLE', `The state store did not answer within ${firstSightMs} ms.`);

const plain = ({ organizationId, executionId }: Slot): Slot => ({ organizationId, executionId });

const storeIsSilent = (): CoreError =>
  new CoreError('REDIS_UNAVAILABLE', `Redis did not answer within ${probeMs} ms.`, { isRetryable: true });
