// Which models may be called now: cooldowns, shared by all processes, and the backoff after failures of this one.
import type { Clock } from '../../core/index.ts';
import { CoreError, kindOf, withTimeout } from '../../core/index.ts';
import type { Reload, WriteBehind } from '../../resilience/index.ts';
import type { CooldownStore } from '../stores.ts';
import type { Cooldown, CooldownSnapshot, Model } from '../types.ts';
import { allKeys } from '../types.ts';
import type { StateDeps } from './store-access.ts';
import { failureReporter, isPermanentStoreError, storeReload, storeWrites } from './store-access.ts';

export interface CooldownsDeps extends StateDeps {
  readonly store: CooldownStore;
  readonly models: { byId(id: number): Model | undefined };
}

/** How long an operator waits for the store: it may accept a write and never respond. */
const durableTimeoutMs = 1_000;

/** The latest time that every store can hold. */
const maxTime = Date.UTC(9999, 11, 31);

/**
 * Cooldowns in memory, written at once, in sync with other processes; continues from memory while the store is
 * unavailable.
 */
export class Cooldowns {
  readonly reload: Reload;
  readonly #deps: CooldownsDeps;
  readonly #map = new CooldownMap();
  /** Writes by model and key, in their order. A clear comes first: it voids what is stored for the model. */
  readonly #unwritten = new Map<string, () => Promise<void>>();
  readonly #writes: WriteBehind;
  #lastError: unknown;
  /** Writes that the store rejected for good. */
  #rejected = 0;

  constructor(deps: CooldownsDeps) {
    this.#deps = deps;
    this.#writes = storeWrites(deps, 'cooldowns', {
      delayMs: 0,
      waiting: () => this.#unwritten.size,
      write: () => this.#writeNext(),
    });
    this.reload = storeReload(deps, 'read cooldowns', () => this.#load());
  }

  /** The longer of the key's own cooldown and the model's; undefined when the key may be used now. */
  of(modelId: number, keyId: string): Cooldown | undefined {
    const now = this.#deps.clock.now();
    return longerOf(
      ifActive(this.#map.get(modelId, keyId), now),
      ifActive(this.#map.get(modelId, allKeys), now),
    );
  }

  /** The active cooldowns of all keys of the model. */
  ofModel(modelId: number): readonly Cooldown[] {
    const now = this.#deps.clock.now();
    return this.#map.ofModel(modelId).filter(({ until }) => until > now);
  }

  /** When an operator cleared the model, epoch milliseconds; negative infinity when none did. */
  clearedAt(modelId: number): number {
    return this.#map.clearedAt(modelId);
  }

  /** Never shortens. In effect here at once, written at once. Emits `gateway:availability-updated`. */
  extend(given: Cooldown): void {
    const { models, store } = this.#deps;
    const { modelId, keyId } = given;
    if (!Number.isFinite(given.until)) return;
    if (given.cause !== 'manual' && models.byId(modelId)?.isLocal === true) return;
    const cooldown: Cooldown = {
      ...given,
      until: Math.min(Math.ceil(given.until), maxTime),
      // A clear that this process has applied takes precedence, whatever the clocks show.
      setAt: Math.max(Math.trunc(given.setAt), this.#map.clearedAt(modelId) + 1),
    };
    if (!this.#map.extend(cooldown)) return;
    this.#emit(modelId, cooldown.until, cooldown.cause, cooldown.source);
    this.#write(`${modelId} ${keyId}`, () => store.extend(cooldown));
  }

  /** Like `extend`, but resolves when it is stored. Fails with STATE_UNAVAILABLE within a second. */
  async extendDurably(cooldown: Cooldown): Promise<void> {
    this.extend(cooldown);
    await this.#stored(cooldown.modelId);
  }

  /** Clears all cooldowns of the model. Resolves and fails like `extendDurably`. */
  async clear(modelId: number): Promise<void> {
    const { clock, store } = this.#deps;
    // Covers all cooldowns in this process, including cooldowns that a faster clock elsewhere dated into the future.
    const at = Math.max(clock.now(), ...this.#map.ofModel(modelId).map(({ setAt }) => setAt));
    this.#map.clear(modelId, at);
    this.#emit(modelId, null, 'manual', 'admin');
    for (const name of this.#unwrittenOf(modelId)) this.#unwritten.delete(name);
    this.#write(`${modelId} clear`, async () => this.#map.clear(modelId, await store.clear(modelId, at)));
    await this.#stored(modelId);
  }

  retryNow(): void {
    this.#writes.retryNow();
  }

  async close(): Promise<void> {
    await this.reload.close();
    await this.#writes.close();
  }

  #emit(modelId: number, until: number | null, cause: string, source: string): void {
    const { models, events } = this.#deps;
    events.emit('gateway:availability-updated', {
      model: models.byId(modelId)?.name ?? String(modelId),
      availableAt: until === null ? null : new Date(until).toISOString(),
      cause,
      source,
    });
  }

  #write(name: string, write: () => Promise<void>): void {
    this.#unwritten.set(name, write);
    this.#writes.wake();
  }

  #unwrittenOf(modelId: number): readonly string[] {
    return [...this.#unwritten.keys()].filter((name) => name.startsWith(`${modelId} `));
  }

  /** Writes that time out are retried when the store is available. */
  async #stored(modelId: number): Promise<void> {
    const rejectedBefore = this.#rejected;
    await withTimeout(this.#writes.flush(), {
      clock: this.#deps.clock,
      timeoutMs: durableTimeoutMs,
      onTimeout: () => notStored(new CoreError('DEADLINE_EXCEEDED', 'The store did not respond in time.')),
    });
    if (this.#unwrittenOf(modelId).length > 0 || this.#rejected > rejectedBefore)
      throw notStored(this.#lastError);
  }

  async #writeNext(): Promise<void> {
    const [next] = this.#unwritten;
    if (!next) return;
    const [name, write] = next;
    try {
      await write();
    } catch (error) {
      this.#lastError = error;
      if (!isPermanentStoreError(error)) throw error;
      this.#rejected += 1;
      failureReporter(this.#deps, 'cooldowns', () => this.#unwritten.size)(error);
    }
    // Unless a later write has replaced it meanwhile.
    if (this.#unwritten.get(name) === write) this.#unwritten.delete(name);
  }

  async #load(): Promise<void> {
    const now = this.#deps.clock.now();
    this.#map.merge(await this.#deps.store.active(now));
    this.#map.removeExpired(now);
  }
}

/** The one that lasts longer, if there are two. */
export function longerOf(one: Cooldown | undefined, other: Cooldown | undefined): Cooldown | undefined {
  if (!one || !other) return one ?? other;
  return other.until > one.until ? other : one;
}

const ifActive = (cooldown: Cooldown | undefined, now: number): Cooldown | undefined =>
  cooldown && cooldown.until > now ? cooldown : undefined;

function notStored(cause: unknown): CoreError {
  return new CoreError(
    'STATE_UNAVAILABLE',
    `In effect in this process, but the state store could not be written (${kindOf(cause)}); ` +
      `other processes and restarts learn of it when the store is available again.`,
    { isRetryable: true, cause },
  );
}

/* ---- the merge rule ---- */

/**
 * Cooldowns by model and key. Two views merge by one rule: of those that are not void the longer wins. The order of
 * updates does not matter, so memory and store can merge at any time.
 */
export class CooldownMap {
  readonly #cooldowns = new Map<number, Map<string, Cooldown>>();
  readonly #clearedAt = new Map<number, number>();

  get(modelId: number, keyId: string): Cooldown | undefined {
    return this.#cooldowns.get(modelId)?.get(keyId);
  }

  ofModel(modelId: number): readonly Cooldown[] {
    return [...(this.#cooldowns.get(modelId)?.values() ?? [])];
  }

  /** Negative infinity when it never was. */
  clearedAt(modelId: number): number {
    return this.#clearedAt.get(modelId) ?? Number.NEGATIVE_INFINITY;
  }

  /** False when nothing changes: it is void, or a known one lasts as long. */
  extend(cooldown: Cooldown): boolean {
    const { modelId, keyId, setAt, until } = cooldown;
    const known = this.get(modelId, keyId);
    if (setAt <= this.clearedAt(modelId) || (known && known.until >= until)) return false;
    const ofModel = this.#cooldowns.get(modelId) ?? new Map<string, Cooldown>();
    this.#cooldowns.set(modelId, ofModel.set(keyId, cooldown));
    return true;
  }

  /** Voids what was set up to `at`. */
  clear(modelId: number, at: number): void {
    const clearedAt = Math.max(this.clearedAt(modelId), at);
    this.#clearedAt.set(modelId, clearedAt);
    const ofModel = this.#cooldowns.get(modelId);
    for (const { keyId, setAt } of this.ofModel(modelId)) if (setAt <= clearedAt) ofModel?.delete(keyId);
  }

  merge({ cooldowns, clearedAt }: CooldownSnapshot): void {
    for (const [modelId, at] of clearedAt) this.clear(modelId, at);
    for (const cooldown of cooldowns) this.extend(cooldown);
  }

  removeExpired(now: number): void {
    for (const ofModel of this.#cooldowns.values())
      for (const [keyId, { until }] of ofModel) if (until <= now) ofModel.delete(keyId);
  }
}

/* ---- backoff after failures ---- */

const failuresInARow = 3;
const firstBackoffMs = 30_000;
const maxBackoffMs = 600_000;

interface BackoffEntry {
  failures: number;
  backoffMs: number;
  /** Monotonic; in the past when it is over. */
  until: number;
}

/**
 * Models that keep failing are tried last for a while. Three requests in a row that end in a transient failure start a
 * backoff of 30 s; each failure after it starts another one, twice as long, up to 10 minutes; a success resets it.
 * Failures during a backoff do not count: a hundred requests that fail together are one piece of evidence. Models are
 * never excluded by it, and it does not survive a restart.
 */
export class FailureBackoff {
  readonly #clock: Clock;
  readonly #entries = new Map<number, BackoffEntry>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  isBackedOff(modelId: number): boolean {
    const entry = this.#entries.get(modelId);
    return entry !== undefined && entry.until > this.#clock.monotonic();
  }

  /** Epoch milliseconds at which the backoff ends; null without one. */
  until(modelId: number): number | null {
    const leftMs = (this.#entries.get(modelId)?.until ?? 0) - this.#clock.monotonic();
    return leftMs > 0 ? this.#clock.now() + leftMs : null;
  }

  /** Counts a request that ended in a transient failure of the model. */
  failed(modelId: number): void {
    const now = this.#clock.monotonic();
    const entry = this.#entries.get(modelId) ?? { failures: 0, backoffMs: firstBackoffMs, until: now };
    if (entry.until > now) return;
    entry.failures++;
    if (entry.failures >= failuresInARow) {
      entry.until = now + entry.backoffMs;
      entry.backoffMs = Math.min(maxBackoffMs, entry.backoffMs * 2);
    }
    this.#entries.set(modelId, entry);
  }

  succeeded(modelId: number): void {
    this.#entries.delete(modelId);
  }
}
