// Which models may be called now: cooldowns, shared by all processes, the trials after them, and the backoff after failures.
import type { Clock } from '../../core/index.ts';
import { CoreError, kindOf, withTimeout } from '../../core/index.ts';
import type { Reload, WriteBehind } from '../../resilience/index.ts';
import { failureRules } from '../errors.ts';
import type { CooldownStore } from '../stores.ts';
import type { Attempt, Cooldown, CooldownSnapshot, Model } from '../types.ts';
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
  readonly trials: Trials;
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
    this.trials = new Trials(deps.clock, this.#map);
    this.#writes = storeWrites(deps, 'cooldowns', {
      delayMs: 0,
      waiting: () => this.#unwritten.size,
      write: () => this.#writeNext(),
    });
    this.reload = storeReload(deps, 'read cooldowns', () => this.#load());
  }

  /** The longer of the key's own cooldown and the model's; undefined when the key may be used now. */
  of(modelId: number, keyId: string): Cooldown | undefined {
    return this.#map.active(modelId, keyId, this.#deps.clock);
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
    this.#map.merge(await this.#deps.store.active(this.#deps.clock.now()));
  }
}

/** The one that lasts longer, if there are two. */
export function longerOf(one: Cooldown | undefined, other: Cooldown | undefined): Cooldown | undefined {
  if (!one || !other) return one ?? other;
  return other.until > one.until ? other : one;
}

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
 * updates does not matter, so memory and store can merge at any time. One that has ended stays until a call shows that
 * its cause is gone: at most one per key.
 */
export class CooldownMap {
  readonly #cooldowns = new Map<number, Map<string, Cooldown>>();
  readonly #clearedAt = new Map<number, number>();

  get(modelId: number, keyId: string): Cooldown | undefined {
    return this.#cooldowns.get(modelId)?.get(keyId);
  }

  /** The longer of the key's own cooldown and the model's; undefined when neither is running. */
  active(modelId: number, keyId: string, clock: Clock): Cooldown | undefined {
    const ofModel = this.#cooldowns.get(modelId);
    if (!ofModel) return undefined;
    const longer = longerOf(ofModel.get(keyId), ofModel.get(allKeys));
    return longer && longer.until > clock.now() ? longer : undefined;
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

  remove(modelId: number, keyId: string): void {
    this.#cooldowns.get(modelId)?.delete(keyId);
  }
}

/* ---- half-open: the first call after a cooldown ---- */

/**
 * How long others wait for a trial. A provider that still limits rejects at once: a call that takes longer was admitted,
 * and one that hangs must not block the model.
 */
const trialMs = 5_000;

/**
 * When a cooldown has ended, one call goes first; until it shows that the cause is gone, other requests use other keys or
 * models, or wait for it. Per key (after a cooldown of the model: per model) and process: n processes make n trials.
 */
export class Trials {
  readonly #clock: Clock;
  readonly #map: CooldownMap;
  /** Until when others wait, monotonic, by model and key; present while the call is running. */
  readonly #running = new Map<string, number>();

  constructor(clock: Clock, map: CooldownMap) {
    this.#clock = clock;
    this.#map = map;
  }

  /** The next call is a trial, or one is running. */
  isDue(modelId: number, keyId: string): boolean {
    return this.#endedOf(modelId, keyId) !== undefined;
  }

  /** Others do not call it now. */
  isRunning(modelId: number, keyId: string): boolean {
    // Nearly always.
    if (this.#running.size === 0) return false;
    const ended = this.#endedOf(modelId, keyId);
    return ended !== undefined && (this.#running.get(nameOf(ended)) ?? 0) > this.#clock.monotonic();
  }

  /** Begins a trial if one is due and none is running. The returned function ends it. */
  begin(modelId: number, keyId: string): () => void {
    const ended = this.#endedOf(modelId, keyId);
    if (!ended || this.#running.has(nameOf(ended))) return () => undefined;
    this.#running.set(nameOf(ended), this.#clock.monotonic() + trialMs);
    return () => void this.#running.delete(nameOf(ended));
  }

  /**
   * A call has ended, with or without a trial: no further one is due unless it failed for the cause of the cooldown. A
   * transient failure does not count as that: the backoff handles it, and others need not wait for it to pass.
   */
  settle(modelId: number, keyId: string, outcome: Attempt['outcome']): void {
    const isTransient = outcome === 'success' || failureRules[outcome].isRetried;
    for (const scope of [keyId, allKeys]) {
      const ended = this.#ended(modelId, scope);
      if (ended && (isTransient || ended.cause !== outcome)) this.#map.remove(modelId, scope);
    }
  }

  /** That of the model first: it applies to all keys. */
  #endedOf(modelId: number, keyId: string): Cooldown | undefined {
    return this.#ended(modelId, allKeys) ?? this.#ended(modelId, keyId);
  }

  #ended(modelId: number, keyId: string): Cooldown | undefined {
    const known = this.#map.get(modelId, keyId);
    return known && known.until <= this.#clock.now() ? known : undefined;
  }
}

const nameOf = ({ modelId, keyId }: Cooldown): string => `${modelId} ${keyId}`;

/* ---- failures in a row ---- */

interface EscalationRule {
  /** Failures in a row before the first pause. */
  readonly after: number;
  /** The pauses after the first failures that count, in milliseconds; the last is repeated. */
  readonly pausesMs: readonly number[];
}

interface EscalationEntry {
  failures: number;
  /** Monotonic; in the past when the pause is over. */
  until: number;
}

/**
 * Pauses that grow while something keeps failing, by model and key. A success ends the row. Failures during a pause do
 * not count: a hundred requests that fail together are one piece of evidence. In memory, per process.
 */
class Escalation {
  readonly #clock: Clock;
  readonly #rule: EscalationRule;
  readonly #entries = new Map<number, Map<string, EscalationEntry>>();

  constructor(clock: Clock, rule: EscalationRule) {
    this.#clock = clock;
    this.#rule = rule;
  }

  /** The length of the pause that has begun or is running; 0: none yet. */
  failed(modelId: number, keyId = allKeys): number {
    const now = this.#clock.monotonic();
    const ofModel = this.#entries.get(modelId) ?? new Map<string, EscalationEntry>();
    const entry = ofModel.get(keyId) ?? { failures: 0, until: now };
    if (entry.until <= now) entry.until = now + this.#pauseMs(++entry.failures);
    this.#entries.set(modelId, ofModel.set(keyId, entry));
    return this.#pauseMs(entry.failures);
  }

  /** Milliseconds until its pause is over; 0 without one. */
  remainingMs(modelId: number): number {
    const until = this.#entries.get(modelId)?.get(allKeys)?.until ?? 0;
    return Math.max(0, until - this.#clock.monotonic());
  }

  /** Without a key: all keys of the model. */
  reset(modelId: number, keyId?: string): void {
    if (keyId === undefined) this.#entries.delete(modelId);
    else this.#entries.get(modelId)?.delete(keyId);
  }

  #pauseMs(failures: number): number {
    const { after, pausesMs } = this.#rule;
    return failures < after ? 0 : (pausesMs[failures - after] ?? pausesMs.at(-1) ?? 0);
  }
}

const secondsMs = (...seconds: readonly number[]): readonly number[] => seconds.map((each) => each * 1_000);

const transientRule: EscalationRule = { after: 3, pausesMs: secondsMs(30, 60, 120, 240, 480, 600) };
const rejectionRule: EscalationRule = { after: 3, pausesMs: secondsMs(60, 600, 3_600) };

/**
 * What failures in a row lead to; a success starts over, and so does a restart.
 * - Three requests in a row that end in a transient failure: the model is tried last for 30 s, after each further one
 *   twice as long, up to 10 minutes. It is never excluded by that.
 * - Three requests in a row that it rejects and another model completes: a cooldown of 1 minute, then of 10, then of an
 *   hour.
 * - Rate limits of a key in a row without a retry hint: the cooldowns of the settings.
 */
export class FailureBackoff {
  readonly #clock: Clock;
  readonly #transient: Escalation;
  readonly #rejections: Escalation;
  readonly #rateLimits: Escalation;

  constructor(clock: Clock, rateLimitPausesMs: readonly number[]) {
    this.#clock = clock;
    this.#rateLimits = new Escalation(clock, { after: 1, pausesMs: rateLimitPausesMs });
    this.#transient = new Escalation(clock, transientRule);
    this.#rejections = new Escalation(clock, rejectionRule);
  }

  isBackedOff(modelId: number): boolean {
    return this.#transient.remainingMs(modelId) > 0;
  }

  /** Epoch milliseconds at which the backoff ends; null without one. */
  until(modelId: number): number | null {
    const leftMs = this.#transient.remainingMs(modelId);
    return leftMs > 0 ? this.#clock.now() + leftMs : null;
  }

  /** Counts a request that ended in a transient failure of the model. */
  failed(modelId: number): void {
    this.#transient.failed(modelId);
  }

  /** Counts a request that the model rejected and another completed. Returns the cooldown in milliseconds; 0: none. */
  rejected(modelId: number): number {
    return this.#rejections.failed(modelId);
  }

  /** Counts a rate limit without a retry hint. Returns the cooldown in milliseconds. */
  rateLimited(modelId: number, keyId: string): number {
    return this.#rateLimits.failed(modelId, keyId);
  }

  /** Without a key: resets all of the model, when an operator clears it or it has another endpoint. */
  succeeded(modelId: number, keyId?: string): void {
    this.#transient.reset(modelId);
    this.#rejections.reset(modelId);
    this.#rateLimits.reset(modelId, keyId);
  }
}
