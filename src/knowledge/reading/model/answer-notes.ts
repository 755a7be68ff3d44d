// What of an answer was not taken, counted by why; nothing of it is repeated.
import type { DroppedCount } from '../../ports.ts';

export class Notes {
  readonly #counts = new Map<DroppedCount['reason'], number>();

  add(reason: DroppedCount['reason'], count = 1): void {
    if (count > 0) this.#counts.set(reason, (this.#counts.get(reason) ?? 0) + count);
  }

  /** The first so many; the rest is counted. */
  first<T>(entries: readonly T[], most: number, reason: DroppedCount['reason']): readonly T[] {
    this.add(reason, entries.length - most);
    return entries.slice(0, most);
  }

  list(): readonly DroppedCount[] {
    return Array.from(this.#counts, ([reason, count]) => ({ reason, count }));
  }
}
