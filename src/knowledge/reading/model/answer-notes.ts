// What of an answer was not taken, counted by why; nothing of it is repeated.
import type { NotTaken } from '../../ports.ts';

export class Notes {
  readonly #counts = new Map<NotTaken['reason'], number>();

  add(reason: NotTaken['reason'], count = 1): void {
    if (count > 0) this.#counts.set(reason, (this.#counts.get(reason) ?? 0) + count);
  }

  /** The first so many; the rest is counted. */
  first<T>(entries: readonly T[], most: number, reason: NotTaken['reason']): readonly T[] {
    this.add(reason, entries.length - most);
    return entries.slice(0, most);
  }

  list(): readonly NotTaken[] {
    return Array.from(this.#counts, ([reason, count]) => ({ reason, count }));
  }
}
