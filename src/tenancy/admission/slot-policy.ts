// Slots and the limits as pure data and functions. redis/acquire-slots.lua applies the same rule; one contract suite runs
// on both.
import type { LimitScope, Slot, Usage } from './types.ts';

/** The limit that leaves no room for one more slot; the organization's own comes first. */
export function limitReached(usage: Usage): LimitScope | undefined {
  if (usage.organization >= usage.organizationLimit) return 'organization';
  return usage.global >= usage.globalLimit ? 'global' : undefined;
}

/** The part of what is free that one server may use while no store decides: the sum over servers stays within `free`. */
export const shareOf = (free: number, servers: number): number => Math.max(0, Math.floor(free / servers));

/** Slots by execution id, with a count per organization; in the order in which they were added. */
export class SlotSet<Held extends Slot = Slot> {
  readonly #slots = new Map<string, Held>();
  readonly #counts = new Map<string, number>();

  get size(): number {
    return this.#slots.size;
  }

  get(executionId: string): Held | undefined {
    return this.#slots.get(executionId);
  }

  has(executionId: string): boolean {
    return this.#slots.has(executionId);
  }

  countOf(organizationId: string): number {
    return this.#counts.get(organizationId) ?? 0;
  }

  values(): Iterable<Held> {
    return this.#slots.values();
  }

  /** Replaces the slot of the same execution. */
  add(slot: Held): void {
    this.delete(slot.executionId);
    this.#slots.set(slot.executionId, slot);
    this.#counts.set(slot.organizationId, this.countOf(slot.organizationId) + 1);
  }

  delete(executionId: string): void {
    const slot = this.#slots.get(executionId);
    if (!slot) return;
    this.#slots.delete(executionId);
    const left = this.countOf(slot.organizationId) - 1;
    if (left > 0) this.#counts.set(slot.organizationId, left);
    else this.#counts.delete(slot.organizationId);
  }

  /** Deletes all others. */
  keep(isKept: (executionId: string) => boolean): void {
    for (const executionId of this.#slots.keys()) if (!isKept(executionId)) this.delete(executionId);
  }
}
