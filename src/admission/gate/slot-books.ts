// What this process knows of slots: those it holds, those it must still free, and what it may do alone.
import type { Clock } from '../../core/index.ts';
import { LocalBudget } from '../budget/local-budget.ts';
import { HeldSlots } from '../leases/held-slots.ts';
import type { Slot } from '../ports.ts';
import { HoldTimes } from './hold-times.ts';
import { SlotReleases } from './slot-releases.ts';

export class SlotBooks {
  readonly held = new HeldSlots();
  readonly releases = new SlotReleases();
  readonly budget = new LocalBudget();
  readonly holdTimes = new HoldTimes();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** This process keeps it alive from now on. */
  hold(slot: Slot): void {
    const now = this.#clock.monotonic();
    this.held.add(slot, now);
    this.releases.forget(slot.executionId);
    this.holdTimes.begin(slot.organizationId, slot.executionId, now);
  }

  /** It is free, whoever held it. */
  free(executionId: string): void {
    this.held.delete(executionId);
    this.budget.freed(executionId);
    this.holdTimes.end(executionId, this.#clock.monotonic());
  }

  /** Everybody's slots as `read` finds them. */
  async look(read: () => Promise<readonly Slot[]>): Promise<readonly Slot[]> {
    const before = new Set(this.held.list().map(({ executionId }) => executionId));
    const slots = await read();
    this.budget.see(slots, (executionId) => before.has(executionId) || this.held.has(executionId));
    return slots;
  }
}
