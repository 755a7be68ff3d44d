// Which models may be called now: cooldowns, shared by all processes, and the backoff after failures of this one.
import type { Clock } from '../../core/index.ts';
import { CoreError, kindOf, withTimeout } from '../../core/index.ts';
import type { Reload, WriteBehind } from '../../resilience/index.ts';
import type { CooldownStore } from '../stores.ts';
import type { Cooldown, CooldownSnapshot, Model } from '../types.ts';
import { allKeys } from '../types.ts';
import type { StateDeps } from './store-access.ts';
import { isPermanentStoreError, storeReload, storeWrites } from './store-access.ts';

export interface CooldownsDeps extends StateDeps {
  readonly store: CooldownStore;
  readonly models: { byId(id: number): Model | undefined };
}

/** How long an operator waits for the store: it may accept a write and never respond. */
const durableTimeoutMs = 1_000;

/** The latest time that every store can hold. */
const maxTime = Date.UTC(9999, 11, 31);

/** What has to be written for one model. */
interface DirtyModel {
  /** The clear to write before the keys. */
  clearAt: number | undefined;
  readonly keyIds: Set<string>;
  /** Operators that wait until it is stored. */
  readonly waiters: PromiseWithResolvers<void>[];
}

/** In memory, written at once, in sync with other processes; continues from memory while the store is unavailable. */
export class Cooldowns {
  readonly #deps: CooldownsDeps;
  readonly #map = new CooldownMap();
  readonly #dirty = new Map<number, DirtyModel>();
  #inFlight: { readonly modelId: number; readonly dirty: DirtyModel } | undefined;
  readonly #writes: WriteBehind;
  readonly #reload: Reload;

  constructor(deps: CooldownsDeps) {
    this.#deps = deps;
    this.#writes = storeWrites(deps, 'cooldowns', {
      delayMs: 0,
      waiting: () => this.#dirty.size,
      write: () => this.#writeNext(),
    });
    this.#reload = storeReload(deps, 'read cooldowns', () => this.#load());
  }

  /** The longer of the key's own and the model's; undefined when the key may be used now. */
  of(modelId: number, keyId: string): Cooldown | undefined {
    const now = this.#deps.clock.now();
    const own = ifActive(this.#map.get(modelId, keyId), now);
    const whole = ifActive(this.#map.get(modelId, allKeys), now);
    if (!own || !whole) return own ?? whole;
    return whole.until > own.until ? whole : own;
  }

  /** The active cooldowns of all keys of the model. */
  ofModel(modelId: number): readonly Cooldown[] {
    const now = this.#deps.clock.now();
    return this.#map.ofModel(modelId).filter(({ until }) => until > now);
  }

  /** Never shortens. In effect here at once, written at once. Emits `gateway:availability-updated`. */
  extend(given: Cooldown): void {
    const { models } = this.#deps;
    if (!Number.isFinite(given.until)) return;
    if (given.cause !== 'manual' && models.byId(given.modelId)?.isLocal === true) return;
    const { modelId, keyId } = given;
    const cooldown: Cooldown = {
      ...given,
      until: Math.min(Math.ceil(given.until), maxTime),
      // A clear that is known here came first, whatever the clocks say.
      setAt: Math.max(Math.trunc(given.setAt), this.#map.clearedAt(modelId) + 1),
    };
    if (!this.#map.extend(cooldown)) return;
    this.#emit(modelId, cooldown.until, cooldown.cause, cooldown.source);
    this.#markDirty(modelId).keyIds.add(keyId);
  }

  /** Like `extend`, but resolves when it is stored. Fails with STATE_UNAVAILABLE within a second. */
  async extendDurably(cooldown: Cooldown): Promise<void> {
    this.extend(cooldown);
    await this.#stored(cooldown.modelId);
  }

  /** Clears all cooldowns of the model. Resolves and fails like `extendDurably`. */
  async clear(modelId: number): Promise<void> {
    // Covers everything this process knows, including cooldowns that a faster clock elsewhere dated into the future.
    const at = Math.max(this.#deps.clock.now(), ...this.#map.ofModel(modelId).map(({ setAt }) => setAt));
    this.#map.clear(modelId, at);
    this.#emit(modelId, null, 'manual', 'admin');
    this.#markDirty(modelId).clearAt = at;
    await this.#stored(modelId);
  }

  start(): Promise<void> {
    return this.#reload.start();
  }

  refresh(): Promise<boolean> {
    return this.#reload.refresh();
  }

  retryNow(): void {
    this.#writes.retryNow();
  }

  async close(): Promise<void> {
    await this.#reload.close();
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

  #markDirty(modelId: number): DirtyModel {
    let dirty = this.#dirty.get(modelId);
    if (!dirty) this.#dirty.set(modelId, (dirty = { clearAt: undefined, keyIds: new Set(), waiters: [] }));
    this.#writes.wake();
    return dirty;
  }

  /** Resolves when nothing of the model waits. What is not stored in time is written when the store accepts it. */
  async #stored(modelId: number): Promise<void> {
    const inFlight = this.#inFlight?.modelId === modelId ? this.#inFlight.dirty : undefined;
    const pending = this.#dirty.get(modelId) ?? inFlight;
    if (!pending) return;
    const waiter = Promise.withResolvers<void>();
    pending.waiters.push(waiter);
    this.#writes.retryNow();
    await withTimeout(waiter.promise, {
      clock: this.#deps.clock,
      timeoutMs: durableTimeoutMs,
      onTimeout: () => notStored(new CoreError('DEADLINE_EXCEEDED', 'The store did not respond in time.')),
    });
  }

  /** Writes the current state of one model; what arrives meanwhile is written next. */
  async #writeNext(): Promise<void> {
    const [next] = this.#dirty;
    if (!next) return;
    const [modelId, dirty] = next;
    this.#dirty.delete(modelId);
    this.#inFlight = { modelId, dirty };
    try {
      await this.#writeModel(modelId, dirty);
      for (const { resolve } of dirty.waiters) resolve();
    } catch (error) {
      if (dirty.clearAt !== undefined || dirty.keyIds.size > 0) this.#requeue(modelId, dirty);
      const failed = isPermanentStoreError(error) ? [dirty] : [dirty, ...this.#dirty.values()];
      for (const { waiters } of failed) for (const { reject } of waiters.splice(0)) reject(notStored(error));
      throw error;
    } finally {
      this.#inFlight = undefined;
    }
  }

  /** Removes from `dirty` what is written, or rejected for good. */
  async #writeModel(modelId: number, dirty: DirtyModel): Promise<void> {
    const { store } = this.#deps;
    if (dirty.clearAt !== undefined) {
      this.#map.clear(modelId, await store.clear(modelId, dirty.clearAt));
      dirty.clearAt = undefined;
    }
    for (const keyId of dirty.keyIds) {
      const cooldown = this.#map.get(modelId, keyId);
      try {
        if (cooldown) await store.extend(cooldown);
      } catch (error) {
        if (isPermanentStoreError(error)) dirty.keyIds.delete(keyId);
        throw error;
      }
      dirty.keyIds.delete(keyId);
    }
  }

  #requeue(modelId: number, failed: DirtyModel): void {
    const dirty = this.#markDirty(modelId);
    dirty.clearAt ??= failed.clearAt;
    for (const keyId of failed.keyIds) dirty.keyIds.add(keyId);
  }

  async #load(): Promise<void> {
    const now = this.#deps.clock.now();
    this.#map.merge(await this.#deps.store.active(now));
    this.#map.removeExpired(now);
  }
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

interface ModelEntry {
  clearedAt: number;
  readonly byKey: Map<string, Cooldown>;
}

const neverCleared = Number.NEGATIVE_INFINITY;

/**
 * Cooldowns by model and key. Two views merge by one rule: of those that are not void the longer wins. The order of
 * updates does not matter, so memory and store can merge at any time.
 */
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

  /** False when nothing changes: it is void, or a known one lasts as long. */
  extend(cooldown: Cooldown): boolean {
    const entry = this.#entry(cooldown.modelId);
    const known = entry.byKey.get(cooldown.keyId);
    if (cooldown.setAt <= entry.clearedAt || (known && known.until >= cooldown.until)) return false;
    entry.byKey.set(cooldown.keyId, cooldown);
    return true;
  }

  /** Voids what was set up to `at`. */
  clear(modelId: number, at: number): void {
    const entry = this.#entry(modelId);
    entry.clearedAt = Math.max(entry.clearedAt, at);
    for (const [keyId, { setAt }] of entry.byKey) if (setAt <= entry.clearedAt) entry.byKey.delete(keyId);
  }

  merge({ cooldowns, clearedAt }: CooldownSnapshot): void {
    for (const [modelId, at] of clearedAt) this.clear(modelId, at);
    for (const cooldown of cooldowns) this.extend(cooldown);
  }

  removeExpired(now: number): void {
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

  /** A request ended there in a transient failure. */
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
