// Cooldowns by model and key, with the one rule by which two views of them become one: of what is not void the later
// wins. It does not matter in which order news arrive, so memory and store can learn from each other at any time.
import type { CooldownSnapshot, Cooldown } from '../ports.ts';

interface ModelEntry {
  clearedAt: number;
  readonly byKey: Map<string, Cooldown>;
}

const neverCleared = Number.NEGATIVE_INFINITY;

export class CooldownMap {
  readonly #models = new Map<number, ModelEntry>();

  get(modelId: number, keyId: string): Cooldown | undefined {
    return this.#models.get(modelId)?.byKey.get(keyId);
  }

  ofModel(modelId: number): readonly Cooldown[] {
    return [...(this.#models.get(modelId)?.byKey.values() ?? [])];
  }

  /** Negative infinity when it never was. */
  clearedAt(modelId: number): number {
    return this.#models.get(modelId)?.clearedAt ?? neverCleared;
  }

  /** False when it changes nothing: it is void, or one that is there lasts as long. */
  extend(cooldown: Cooldown): boolean {
    const entry = this.#entry(cooldown.modelId);
    const known = entry.byKey.get(cooldown.keyId);
    if (cooldown.setAt <= entry.clearedAt || (known && known.until >= cooldown.until)) return false;
    entry.byKey.set(cooldown.keyId, cooldown);
    return true;
  }

  /** Voids what was set until `at`. */
  clear(modelId: number, at: number): void {
    const entry = this.#entry(modelId);
    entry.clearedAt = Math.max(entry.clearedAt, at);
    for (const [keyId, { setAt }] of entry.byKey) if (setAt <= entry.clearedAt) entry.byKey.delete(keyId);
  }

  merge({ cooldowns, clearedAt }: CooldownSnapshot): void {
    for (const [modelId, at] of clearedAt) this.clear(modelId, at);
    for (const cooldown of cooldowns) this.extend(cooldown);
  }

  /** Forgets those that are over. */
  sweep(now: number): void {
    for (const { byKey } of this.#models.values())
      for (const [keyId, { until }] of byKey) if (until <= now) byKey.delete(keyId);
  }

  snapshot(): CooldownSnapshot {
    return {
      cooldowns: [...this.#models.values()].flatMap(({ byKey }) => [...byKey.values()]),
      clearedAt: new Map(
        [...this.#models].flatMap(([modelId, { clearedAt }]) =>
          clearedAt === neverCleared ? [] : [[modelId, clearedAt]],
        ),
      ),
    };
  }

  #entry(modelId: number): ModelEntry {
    let entry = this.#models.get(modelId);
    if (!entry) {
      entry = { clearedAt: neverCleared, byKey: new Map() };
      this.#models.set(modelId, entry);
    }
    return entry;
  }
}
