// The slots that this process keeps alive.
import type { Slot } from '../ports.ts';

export class HeldSlots {
  readonly #slots = new Map<string, { readonly slot: Slot; readonly since: number }>();

  get size(): number {
    return this.#slots.size;
  }

  /** From now on; one that is held already stays as it is. */
  add(slot: Slot, now: number): void {
    const { organizationId, executionId } = slot;
    if (!this.#slots.has(executionId))
      this.#slots.set(executionId, { slot: { organizationId, executionId }, since: now });
  }

  has(executionId: string): boolean {
    return this.#slots.has(executionId);
  }

  delete(executionId: string): boolean {
    return this.#slots.delete(executionId);
  }

  list(): readonly Slot[] {
    return [...this.#slots.values()].map(({ slot }) => slot);
  }

  /** Those held since before `moment`. */
  since(moment: number): readonly Slot[] {
    return [...this.#slots.values()].filter(({ since }) => since < moment).map(({ slot }) => slot);
  }
}
