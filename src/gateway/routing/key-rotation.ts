// Several keys of one model take turns.
import type { ProviderKey } from '../ports.ts';

export class KeyRotation {
  readonly #next = new Map<number, number>();

  /** The first usable key from the one whose turn it is; undefined when none is usable. */
  pick(
    modelId: number,
    keys: readonly ProviderKey[],
    isUsable: (key: ProviderKey) => boolean,
  ): ProviderKey | undefined {
    const first = keys.length > 1 ? (this.#next.get(modelId) ?? 0) : 0;
    for (let step = 0; step < keys.length; step++) {
      const index = (first + step) % keys.length;
      const key = keys[index];
      if (!key || !isUsable(key)) continue;
      if (keys.length > 1) this.#next.set(modelId, index + 1);
      return key;
    }
    return undefined;
  }
}
