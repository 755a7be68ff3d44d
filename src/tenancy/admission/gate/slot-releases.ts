// Frees slots in the store; what could not be told to it is told when it is back.
import type { Slot } from '../ports.ts';

/** What is too much runs out with its lease. */
const mostRemembered = 10_000;

export class SlotReleases {
  readonly #waiting = new Map<string, Slot>();

  get size(): number {
    return this.#waiting.size;
  }

  /** The store could not be told, or nobody knows whether it was. */
  remember({ organizationId, executionId }: Slot): void {
    if (this.#waiting.size < mostRemembered) this.#waiting.set(executionId, { organizationId, executionId });
  }

  /** It is held after all. */
  forget(executionId: string): void {
    this.#waiting.delete(executionId);
  }

  /** Tells the store everything that waits. Fails when it is away; what was not told waits on. */
  async tell(release: (slot: Slot) => Promise<unknown>): Promise<void> {
    for (const slot of this.#waiting.values()) {
      await release(slot);
      this.#waiting.delete(slot.executionId);
    }
  }
}
