// Cooldowns from memory, written through at once and kept in step with other processes.
import { CoreError, kindOf } from '../../core/index.ts';
import type { CooldownStore, Cooldowns, Model, Cooldown } from '../ports.ts';
import { allKeys } from '../ports.ts';
import { CooldownMap } from './cooldown-map.ts';
import { inTime } from './in-time.ts';
import type { Reload } from '../../resilience/index.ts';
import type { StateDeps } from './state-parts.ts';
import { isRefusedForGood, reloadOf } from './state-parts.ts';
import { WriteBehind } from './write-loop.ts';

export interface CooldownBoardParts extends StateDeps {
  readonly store: CooldownStore;
  readonly models: { byId(id: number): Model | undefined };
}

interface PendingWrite {
  readonly write: () => Promise<void>;
  readonly durable: PromiseWithResolvers<void>;
}

/** How long somebody who sets one by hand is kept waiting for the store: it may accept a write and never answer. */
const patienceMs = 1_000;

/** The last moment that every store can hold. */
const endOfTime = Date.UTC(9999, 11, 31);

export class CooldownBoard implements Cooldowns {
  readonly #parts: CooldownBoardParts;
  readonly #map = new CooldownMap();
  /** By what is written: a longer cooldown of the same key takes the place of one that still waits. */
  readonly #pending = new Map<string, PendingWrite>();
  readonly #loop: WriteBehind;
  readonly #reload: Reload;

  constructor(parts: CooldownBoardParts) {
    this.#parts = parts;
    this.#loop = new WriteBehind(parts, {
      what: 'cooldowns',
      delayMs: 0,
      waiting: () => this.#pending.size,
      write: () => this.#writeFirst(),
    });
    this.#reload = reloadOf(parts, 'read cooldowns', () => this.#load());
  }

  of(modelId: number, keyId: string): Cooldown | undefined {
    const now = this.#parts.clock.now();
    const own = ifRunning(this.#map.get(modelId, keyId), now);
    const whole = ifRunning(this.#map.get(modelId, allKeys), now);
    if (!own || !whole) return own ?? whole;
    return whole.until > own.until ? whole : own;
  }

  /** All of the model's that are not over, of all its keys. */
  ofModel(modelId: number): readonly Cooldown[] {
    const now = this.#parts.clock.now();
    return this.#map.ofModel(modelId).filter(({ until }) => until > now);
  }

  extend(cooldown: Cooldown): void {
    void this.#extend(cooldown);
  }

  async extendDurably(cooldown: Cooldown): Promise<void> {
    const durable = this.#extend(cooldown);
    this.#loop.retryNow();
    await this.#soon(durable);
  }

  async clear(modelId: number): Promise<void> {
    const { store, clock } = this.#parts;
    // Whatever this process knows of is cleared, also what a faster clock elsewhere dated into the future.
    const at = Math.max(clock.now(), ...this.#map.ofModel(modelId).map(({ setAt }) => setAt));
    this.#map.clear(modelId, at);
    this.#tell(modelId, null, 'manual', 'admin');
    const durable = this.#write(`clear ${modelId}`, async () =>
      this.#map.clear(modelId, await store.clear(modelId, at)),
    );
    this.#loop.retryNow();
    await this.#soon(durable);
  }

  start(): Promise<void> {
    return this.#reload.start();
  }

  refresh(): Promise<boolean> {
    return this.#reload.refresh();
  }

  retryNow(): void {
    this.#loop.retryNow();
  }

  async close(): Promise<void> {
    await this.#reload.close();
    await this.#loop.close();
  }

  #extend(given: Cooldown): Promise<void> {
    const { store, models } = this.#parts;
    if (!Number.isFinite(given.until)) return Promise.resolve();
    if (given.cause !== 'manual' && models.byId(given.modelId)?.isLocal === true) return Promise.resolve();
    const { modelId, keyId, until, cause, source } = given;
    const cooldown: Cooldown = {
      ...given,
      until: Math.min(Math.ceil(until), endOfTime),
      // We know of the clear, so this came after it, whatever the clocks say.
      setAt: Math.max(Math.trunc(given.setAt), this.#map.clearedAt(modelId) + 1),
    };
    const key = `${modelId} ${keyId}`;
    if (!this.#map.extend(cooldown)) return this.#pending.get(key)?.durable.promise ?? Promise.resolve();
    this.#tell(modelId, cooldown.until, cause, source);
    return this.#write(key, () => store.extend(cooldown));
  }

  #tell(modelId: number, until: number | null, cause: string, source: string): void {
    const { models, events } = this.#parts;
    events.emit('gateway:availability-updated', {
      model: models.byId(modelId)?.name ?? String(modelId),
      availableAt: until === null ? null : new Date(until).toISOString(),
      cause,
      source,
    });
  }

  #write(key: string, write: () => Promise<void>): Promise<void> {
    const replaced = this.#pending.get(key);
    const durable = Promise.withResolvers<void>();
    // Nobody has to look at it.
    durable.promise.catch(() => undefined);
    // Behind what was decided before it: a new cooldown in the place of an old one would come before a clear of both.
    this.#pending.delete(key);
    this.#pending.set(key, { write, durable });
    if (replaced) durable.promise.then(replaced.durable.resolve, replaced.durable.reject);
    this.#loop.wake();
    return durable.promise;
  }

  /** What was not written in time is still written when the store takes it. */
  #soon(durable: Promise<void>): Promise<void> {
    return inTime(this.#parts.clock, patienceMs, durable, notDurable);
  }

  async #writeFirst(): Promise<void> {
    const [first] = this.#pending;
    if (!first) return;
    const [key, pending] = first;
    try {
      await pending.write();
    } catch (error) {
      pending.durable.reject(notDurable(error));
      if (isRefusedForGood(error)) this.#pending.delete(key);
      else for (const { durable } of this.#pending.values()) durable.reject(notDurable(error));
      throw error;
    }
    pending.durable.resolve();
    if (this.#pending.get(key) === pending) this.#pending.delete(key);
  }

  async #load(): Promise<void> {
    const now = this.#parts.clock.now();
    this.#map.merge(await this.#parts.store.active(now));
    this.#map.sweep(now);
  }
}

const ifRunning = (cooldown: Cooldown | undefined, now: number): Cooldown | undefined =>
  cooldown && cooldown.until > now ? cooldown : undefined;

function notDurable(cause: unknown): CoreError {
  return new CoreError(
    'STATE_UNAVAILABLE',
    `This process obeys it from now on, but the state store could not be written (${kindOf(cause)}); ` +
      `other processes hear of it, and restarts know of it, when the store is back.`,
    { isRetryable: true, cause },
  );
}
