// Whether the slot store decides. A slow reply is not an outage: only a confirmed one lets this server decide by itself.
//
//   up        → suspected  a call failed, or had no reply for 100 ms. Requests wait; nobody decides locally.
//   suspected → up         the probe replied, and so did the connection that decides. After a failed call the store is
//                          first brought up to date (store-recovery.ts).
//   suspected → down       confirmed: the connection is refused, or the probe had no good reply for a second during
//                          which the event loop was never more than 50 ms late.
//   down      → up         a probe, at most a second apart, replied, and the store was brought up to date
//                          (`isRecovering`).
import type { Clock } from '../../core/index.ts';
import { CoreError, kindOf, messageOf, withTimeout } from '../../core/index.ts';
import type { Degradation, RegisteredRepair } from '../../ledger/index.ts';
import type { StoreProbe } from './types.ts';

/** No good reply of the probe for so long confirms an outage. */
export const confirmAfterMs = 1_000;
/** An event loop that is later than this proves nothing about the store: the second starts again. */
const maxLagMs = 50;
const tickMs = 50;
/** Between two probes while an outage is suspected. */
const suspectedProbeMs = 100;
const firstProbeMs = 100;
const maxProbeMs = 1_000;

export type StoreHealth =
  | { readonly state: 'up' }
  | { readonly state: 'suspected'; readonly since: number; readonly error: Error }
  | {
      readonly state: 'down';
      readonly since: number;
      readonly error: Error;
      /** The store replies again and is being brought up to date; this server still decides. */
      readonly isRecovering: boolean;
    };

export interface StoreHealthDeps {
  readonly clock: Clock;
  readonly probe: StoreProbe | undefined;
  /** A write on the connection that decides; fails while it cannot be used. */
  readonly verify: () => Promise<void>;
  /** Brings the store up to date; calls `markUp` at the moment from which it decides. */
  readonly recover: (markUp: () => void) => Promise<void>;
  /** Called before each probe of a store that is down. */
  readonly onProbe: () => Promise<void>;
  readonly onSuspected: (error: Error) => void;
  readonly onDown: (error: Error) => void;
  /** `downMs` null: the outage was only suspected. */
  readonly onUp: (downMs: number | null) => void;
}

export class StoreHealthMonitor {
  readonly #deps: StoreHealthDeps;
  readonly #downListeners = new Set<() => void>();
  readonly #waiting = new Set<() => void>();
  #health: StoreHealth = { state: 'up' };
  /** Replaced with every suspicion, so that a late reply of an earlier one has no effect. */
  #suspicion = {};
  /** A call failed since the store was last up: slots and releases may be missing in it. */
  #hasFailedCalls = false;
  #silentSince = 0;
  #cancelTick: () => void = () => undefined;
  #cancelProbe: () => void = () => undefined;
  #probePauseMs = firstProbeMs;
  #probing: Promise<void> | null = null;
  #returning: Promise<void> | null = null;
  readonly #closing = new AbortController();

  constructor(deps: StoreHealthDeps) {
    this.#deps = deps;
  }

  get current(): StoreHealth {
    return this.#health;
  }

  get isUp(): boolean {
    return this.#health.state === 'up';
  }

  get isDown(): boolean {
    return this.#health.state === 'down';
  }

  /** A call to the store failed, or its connection was lost. */
  reportFailure(error: unknown): void {
    this.#hasFailedCalls = true;
    this.#suspect(error instanceof Error ? error : new Error(messageOf(error)));
  }

  /** A call to the store has had no reply for `ms`; it may still get one. */
  reportSlow(ms: number): void {
    this.#suspect(
      new CoreError('REDIS_UNAVAILABLE', `Redis did not reply within ${ms} ms.`, { isRetryable: true }),
    );
  }

  /** Calls back when an outage is confirmed; the returned function stops that. */
  onDown(listener: () => void): () => void {
    this.#downListeners.add(listener);
    return () => this.#downListeners.delete(listener);
  }

  /** Resolves when the outage is no longer just suspected, or after `timeoutMs`. */
  settled(timeoutMs: number): Promise<void> {
    if (this.#health.state !== 'suspected') return Promise.resolve();
    return new Promise((resolve) => {
      const done = () => {
        cancel();
        this.#waiting.delete(done);
        resolve();
      };
      const cancel = this.#deps.clock.after(timeoutMs, done);
      this.#waiting.add(done);
    });
  }

  /** Probes a store that is down without waiting for the next turn. Resolves when that is done. */
  async probeNow(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    if (!this.isDown) {
      await this.#returning;
      return;
    }
    this.#cancelProbe();
    this.#probing ??= this.#probeDown().finally(() => {
      this.#probing = null;
      if (this.isDown) this.#scheduleProbe();
    });
    await this.#probing;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#suspicion = {};
    this.#cancelTick();
    this.#cancelProbe();
    for (const done of this.#waiting) done();
    await this.#probing;
  }

  #suspect(error: Error): void {
    if (this.#health.state !== 'up' || this.#closing.signal.aborted) return;
    const now = this.#deps.clock.monotonic();
    this.#health = { state: 'suspected', since: now, error };
    this.#silentSince = now;
    this.#suspicion = {};
    this.#deps.onSuspected(error);
    this.#tick();
    void this.#investigate(this.#suspicion);
  }

  /** Measures the lag of the event loop, and confirms the outage after a second of silence without lag. */
  #tick(): void {
    const { clock } = this.#deps;
    const dueAt = clock.monotonic() + tickMs;
    this.#cancelTick = clock.after(tickMs, () => {
      if (this.#health.state !== 'suspected') return;
      const now = clock.monotonic();
      if (now - dueAt >= maxLagMs) this.#silentSince = now;
      if (now - this.#silentSince >= confirmAfterMs) this.#confirm(this.#health.error);
      else this.#tick();
    });
  }

  /** Probes until the suspicion is over. The store may take any time for a reply. */
  async #investigate(suspicion: object): Promise<void> {
    const { clock, probe } = this.#deps;
    const result = probe ? await probe.ping() : ({ kind: 'pong' } as const);
    if (this.#suspicion !== suspicion || this.#health.state !== 'suspected') return;
    if (result.kind === 'refused') return this.#confirm(result.error);
    if (result.kind === 'pong') {
      this.#silentSince = clock.monotonic();
      this.#returning ??= this.#return().finally(() => (this.#returning = null));
    } else this.#health = { ...this.#health, error: result.error };
    this.#cancelProbe = clock.after(suspectedProbeMs, () => void this.#investigate(suspicion));
  }

  /** The probe replied: the connection that decides must do so as well. Pings continue meanwhile. */
  async #return(): Promise<void> {
    const { verify, recover } = this.#deps;
    try {
      if (this.#hasFailedCalls) return await recover(() => this.#markUp());
      await verify();
      // Replies come in the order of calls: whatever was slow has its reply, and nothing failed.
      if (this.#health.state === 'suspected' && !this.#hasFailedCalls) this.#markUp();
    } catch {
      this.#hasFailedCalls = true;
    }
  }

  #confirm(error: Error): void {
    const { clock, onDown } = this.#deps;
    this.#cancelTick();
    this.#cancelProbe();
    this.#suspicion = {};
    this.#hasFailedCalls = true;
    this.#health = { state: 'down', since: clock.monotonic(), error, isRecovering: false };
    this.#probePauseMs = firstProbeMs;
    onDown(error);
    for (const listener of this.#downListeners) listener();
    for (const done of this.#waiting) done();
    this.#scheduleProbe();
  }

  #markUp(): void {
    const { clock, onUp } = this.#deps;
    const before = this.#health;
    if (before.state === 'up') return;
    this.#cancelTick();
    this.#cancelProbe();
    this.#suspicion = {};
    this.#hasFailedCalls = false;
    this.#health = { state: 'up' };
    onUp(before.state === 'down' ? clock.monotonic() - before.since : null);
    for (const done of this.#waiting) done();
  }

  async #probeDown(): Promise<void> {
    const { clock, probe, recover, onProbe } = this.#deps;
    try {
      await onProbe();
      const ping = probe ? probe.ping() : Promise.resolve({ kind: 'pong' } as const);
      const result = await withTimeout(ping, {
        clock,
        timeoutMs: confirmAfterMs,
        signal: this.#closing.signal,
      });
      if (result.kind !== 'pong') throw result.error;
      this.#setRecovering(true);
      // One that began while the outage was only suspected is continued.
      await (this.#returning ?? recover(() => this.#markUp()));
      if (this.isDown) throw new Error('not recovered');
    } catch {
      this.#setRecovering(false);
      this.#probePauseMs = Math.min(this.#probePauseMs * 2, maxProbeMs);
    }
  }

  #setRecovering(isRecovering: boolean): void {
    if (this.#health.state === 'down') this.#health = { ...this.#health, isRecovering };
  }

  #scheduleProbe(): void {
    if (this.#closing.signal.aborted) return;
    this.#cancelProbe();
    this.#cancelProbe = this.#deps.clock.after(this.#probePauseMs, () => void this.probeNow());
  }
}

/** The ledger's kind of a confirmed outage; the subject is the address of Redis. */
export const redisDownKind = 'admission.redis-down';

export function redisDownDegradation(
  storeName: string,
  failureMode: 'open' | 'closed',
  error: unknown,
): Degradation {
  const consequence =
    failureMode === 'closed'
      ? 'Requests are rejected until it is up.'
      : 'Each server admits requests within its share of the limits.';
  return {
    kind: redisDownKind,
    subject: storeName,
    cause: kindOf(error),
    message: `Redis does not decide about slots: ${messageOf(error)} ${consequence}`,
  };
}

/** `problem`: why Redis does not decide; null when it does. */
export function redisDownRepair(problem: () => string | null, probe: () => Promise<void>): RegisteredRepair {
  return {
    kind: redisDownKind,
    describe: 'Probe Redis; when it replies, reconcile slots with executions and let it decide again.',
    repair: async () => {
      // This server may be the last to notice that Redis is up, and then nobody else would close the entry soon.
      if (problem() !== null) await probe();
      const reason = problem();
      return reason === null ? { outcome: 'repaired' } : { outcome: 'still-broken', reason };
    },
  };
}
