// Compares slots with executions: whatever is under way has one, whatever has ended has none.
import { kindOf } from '../../../core/index.ts';
import type { SlotBooks } from '../gate/slot-books.ts';
import type { StoreWatch } from '../gate/store-watch.ts';
import type { AdmissionParts } from '../parts.ts';
import type { Slot } from '../ports.ts';

/** Whoever ends an execution frees its slot right after; what is still held so much later was forgotten. */
const graceMs = 1_000;

export interface ReconcilerHelp {
  readonly books: SlotBooks;
  readonly watch: StoreWatch;
  /** Somebody may get in now. */
  readonly onFreed: (slot: Slot) => void;
}

export class Reconciler {
  readonly #parts: AdmissionParts;
  readonly #help: ReconcilerHelp;

  constructor(parts: AdmissionParts, help: ReconcilerHelp) {
    this.#parts = parts;
    this.#help = help;
  }

  /** One round; call it three times a lease. Never fails: it is tried again. */
  async round(): Promise<void> {
    const { watch } = this.#help;
    if (watch.isAway) return;
    try {
      await this.#reconcile();
    } catch (error) {
      const cause = kindOf(error);
      this.#parts.events.emit('admission:reconcile-failed', { cause });
      if (!cause.startsWith('STATE_')) watch.fail(error);
    }
  }

  async #reconcile(): Promise<void> {
    const { slots, executions } = this.#parts;
    const { books } = this.#help;
    const holders = await books.look(() => slots.holders());
    const unfinished = await executions.unfinished();
    const alive = await this.#endOverdue(unfinished);
    await this.#restoreMissing(alive);
    await this.#freeLeaked(holders, new Set(unfinished.map(({ executionId }) => executionId)));
    await this.#correctLimits(holders);
  }

  /** What has been under way for longer than anything may is ended; the rest comes back. */
  async #endOverdue(unfinished: readonly (Slot & { readonly acceptedAt: Date })[]): Promise<readonly Slot[]> {
    const { clock, options, events, endOverdue } = this.#parts;
    const oldest = clock.now() - options.ttlHours * 3_600_000;
    const alive: Slot[] = [];
    for (const { organizationId, executionId, acceptedAt } of unfinished) {
      const slot = { organizationId, executionId };
      if (acceptedAt.getTime() >= oldest) {
        alive.push(slot);
        continue;
      }
      events.emit('admission:execution-overdue', slot);
      await endOverdue(slot);
    }
    return alive;
  }

  /** Queued executions have nobody else who renews their slots. */
  async #restoreMissing(alive: readonly Slot[]): Promise<void> {
    if (alive.length === 0) return;
    const { slots, executions, events } = this.#parts;
    const missing = await slots.renew(alive);
    if (missing.length === 0) return;
    // What ended since we asked for it was missing with good reason.
    const ended = new Set(await executions.ended(missing));
    for (const slot of alive) if (ended.has(slot.executionId)) await slots.release(slot);
    const count = missing.length - ended.size;
    const why = this.#help.watch.isAway ? 'store-was-away' : 'missing';
    if (count > 0) events.emit('admission:slots-restored', { count, why });
  }

  /** Slots of executions that nobody knows are left alone: they are not dispatched yet, or run out with their lease. */
  async #freeLeaked(holders: readonly Slot[], unfinished: ReadonlySet<string>): Promise<void> {
    const { clock, slots, executions, events } = this.#parts;
    const { books, onFreed } = this.#help;
    const idle = holders.filter(
      ({ executionId }) => !unfinished.has(executionId) && !books.held.has(executionId),
    );
    if (idle.length === 0) return;
    const ended = new Set(await executions.ended(idle.map(({ executionId }) => executionId)));
    if (ended.size === 0) return;
    await clock.sleep(graceMs);
    let count = 0;
    for (const slot of idle) {
      if (!ended.has(slot.executionId) || !(await slots.release(slot))) continue;
      count++;
      books.free(slot.executionId);
      onFreed(slot);
    }
    if (count > 0) events.emit('admission:slots-freed', { count });
  }

  /** A process that died between changing a limit and saying so leaves a cached one behind that is always renewed. */
  async #correctLimits(holders: readonly Slot[]): Promise<void> {
    const { slots, limits, options, events } = this.#parts;
    const own = new Map(
      (await limits.list()).map((limit) => [limit.organizationId, limit.concurrentRequestLimit]),
    );
    const organizationIds = [...new Set([...own.keys(), ...holders.map((slot) => slot.organizationId)])];
    if (organizationIds.length === 0) return;
    const cached = await slots.cachedLimits(organizationIds);
    const stale = [...cached].filter(([id, limit]) => limit !== (own.get(id) ?? options.defaultLimit));
    if (stale.length === 0) return;
    await slots.forgetLimits(stale.map(([id]) => id));
    events.emit('admission:limits-corrected', { count: stale.length });
  }
}
