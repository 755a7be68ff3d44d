// The slots this process holds, those it must still release in the store, and how many servers are alive.
import type { Clock } from '../../core/index.ts';
import type { Snapshot } from './local-budget.ts';
import { LocalBudget } from './local-budget.ts';
import { RetryAfterEstimator } from './retry-after.ts';
import type { Slot, WorkloadSlot } from './types.ts';

/** Releases beyond this are left to the end of their leases. */
const maxPending = 10_000;

export class SlotLedger {
  readonly pendingReleases = new PendingReleases();
  readonly budget = new LocalBudget();
  readonly retryAfter = new RetryAfterEstimator();
  readonly #clock: Clock;
  readonly #leaseMs: number;
  readonly #held = new Map<string, { readonly slot: Slot; readonly since: number }>();
  #servers = { count: 1, seenAt: Number.NEGATIVE_INFINITY };

  constructor(clock: Clock, leaseMs: number) {
    this.#clock = clock;
    this.#leaseMs = leaseMs;
  }

  /** Servers that are alive, including this one. */
  get servers(): number {
    return this.#servers.count;
  }

  /** Slots whose leases this process renews. */
  get held(): readonly Slot[] {
    return [...this.#held.values()].map(({ slot }) => slot);
  }

  holds(executionId: string): boolean {
    return this.#held.has(executionId);
  }

  heldSinceBefore(moment: number): readonly Slot[] {
    return [...this.#held.values()].filter(({ since }) => since < moment).map(({ slot }) => slot);
  }

  /** A smaller count within a lease of a larger one comes from a store that was flushed and forgot servers. */
  setServers(count: number): void {
    const seenAt = this.#clock.monotonic();
    if (count < this.#servers.count && seenAt - this.#servers.seenAt < this.#leaseMs) return;
    this.#servers = { count, seenAt };
  }

  /** From now on this process renews the slot. */
  hold({ organizationId, executionId }: Slot): void {
    if (!this.#held.has(executionId))
      this.#held.set(executionId, {
        slot: { organizationId, executionId },
        since: this.#clock.monotonic(),
      });
    this.pendingReleases.forget(executionId);
  }

  /** Another process renews the slot, or nobody has to. */
  stopHolding(executionId: string): void {
    this.#held.delete(executionId);
  }

  /** A request has the slot. */
  requestStarted({ organizationId, executionId, workload = organizationId }: WorkloadSlot): void {
    this.retryAfter.requestStarted(executionId, {
      organizationId,
      workload,
      since: this.#clock.monotonic(),
    });
  }

  /** The request was accepted: the slot belongs to an execution. */
  executionStarted(executionId: string): void {
    this.retryAfter.executionStarted(executionId, this.#clock.monotonic());
  }

  /** The slot is free, whoever held it. */
  released(executionId: string): void {
    this.#held.delete(executionId);
    this.budget.released(executionId);
    this.retryAfter.ended(executionId, this.#clock.monotonic());
  }

  /** Reads slots, with those this process held before or after: the list may lack what was just taken. */
  async snapshot<Listed extends Slot>(
    read: () => Promise<readonly Listed[]>,
  ): Promise<Snapshot & { readonly slots: readonly Listed[] }> {
    const before = new Set(this.#held.keys());
    const slots = await read();
    return { slots, isOwn: (executionId) => before.has(executionId) || this.#held.has(executionId) };
  }
}

/** Releases that the store did not confirm. An acquisition without a reply is one as well: it may have been executed. */
class PendingReleases {
  readonly #slots = new Map<string, Slot>();

  get size(): number {
    return this.#slots.size;
  }

  add({ organizationId, executionId }: Slot): void {
    if (this.#slots.size < maxPending) this.#slots.set(executionId, { organizationId, executionId });
  }

  /** The slot is held after all. */
  forget(executionId: string): void {
    this.#slots.delete(executionId);
  }

  /** Fails when the store does; the rest stays pending. */
  async send(release: (slot: Slot) => Promise<unknown>): Promise<void> {
    for (const slot of this.#slots.values()) {
      await release(slot);
      this.#slots.delete(slot.executionId);
    }
  }
}
