// What this process knows of slots: those it holds, those it must still free, and what it may do alone.
import type { Clock } from '../../../core/index.ts';
import { LocalBudget } from '../budget/local-budget.ts';
import type { Sight } from '../budget/local-budget.ts';
import { HeldSlots } from '../leases/held-slots.ts';
import type { Slot, SlotForWork } from '../ports.ts';
import { HoldTimes } from './hold-times.ts';
import { SlotReleases } from './slot-releases.ts';

export class SlotBooks {
  readonly held = new HeldSlots();
  readonly releases = new SlotReleases();
  readonly budget = new LocalBudget();
  readonly holdTimes = new HoldTimes();
  readonly #clock: Clock;
  readonly #leaseMs: number;
  #servers = { count: 1, seenAt: Number.NEGATIVE_INFINITY };

  constructor(clock: Clock, leaseMs: number) {
    this.#clock = clock;
    this.#leaseMs = leaseMs;
  }

  /** So many servers are alive, says a store. If it knew more within the last lease, it was flushed, and forgot them. */
  alive(count: number): void {
    const seenAt = this.#clock.monotonic();
    if (count < this.#servers.count && seenAt - this.#servers.seenAt < this.#leaseMs) return;
    this.#servers = { count, seenAt };
    this.budget.servers(count);
  }

  /** This process keeps it alive from now on. */
  hold(slot: Slot): void {
    this.held.add(slot, this.#clock.monotonic());
    this.releases.forget(slot.executionId);
  }

  /** From now on it is known here that the slot is in use, and for what. */
  begin({ organizationId, executionId, work = organizationId }: SlotForWork): void {
    this.holdTimes.begin(executionId, { organizationId, work, since: this.#clock.monotonic() });
  }

  /** What it is held for is an execution from now on. */
  accepted(executionId: string): void {
    this.holdTimes.accepted(executionId, this.#clock.monotonic());
  }

  /** It is free, whoever held it. */
  free(executionId: string): void {
    this.held.delete(executionId);
    this.budget.freed(executionId);
    this.holdTimes.end(executionId, this.#clock.monotonic());
  }

  /** Everybody's slots as `read` finds them, and `see` takes notice of. */
  async look<Found extends Slot>(
    read: () => Promise<readonly Found[]>,
    see: (sight: Sight) => void = (sight) => this.budget.see(sight),
  ): Promise<readonly Found[]> {
    const before = new Set(this.held.list().map(({ executionId }) => executionId));
    const slots = await read();
    see({ slots, isOurs: (executionId) => before.has(executionId) || this.held.has(executionId) });
    return slots;
  }
}
