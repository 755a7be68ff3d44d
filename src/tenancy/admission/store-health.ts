// Whether the slot store decides. A slow reply is not an outage: only a confirmed one lets this server decide by itself.
//
//   up        → suspected  a call failed, or had no reply for 100 ms. Requests wait; no server decides locally.
//   suspected → up         the probe replied, and so did the connection that decides. After a failed call the store is
//                          first brought up to date (store-recovery.ts).
//   suspected → down       confirmed: the connection is refused, or the probe had no good reply for a second during
//                          which the event loop was never more than 50 ms late.
//   down      → up         a probe, at most a second apart, replied, and the store was brought up to date
//                          (`isRecovering`).
import { CoreError, kindOf, messageOf, withTimeout } from '../../core/index.ts';
import type { StoreRecovery } from './store-recovery.ts';
import type { AdmissionDeps, ProbeResult } from './types.ts';

/** No good reply of the probe for so long confirms an outage. */
export const confirmAfterMs = 1_000;
/** An event loop that is later than this proves nothing about the store: the second starts again. */
const maxLagMs = 50;
const tickMs = 50;
/** Interval between two probes while an outage is suspected. */
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

export interface HealthListener {
  readonly onSuspected: (error: Error) => void;
  readonly onDown: (error: Error) => void;
  /** After a confirmed outage, during which this server admitted this many requests by itself. */
  readonly onUp: (downMs: number, localAdmissions: number) => void;
}

export class StoreHealthMonitor {
  readonly #deps: Pick<AdmissionDeps, 'clock' | 'probe'>;
  readonly #recovery: StoreRecovery;
  readonly #listener: HealthListener;
  readonly #changeListeners = new Set<() => void>();
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

  constructor(
    deps: Pick<AdmissionDeps, 'clock' | 'probe'>,
    recovery: StoreRecovery,
    listener: HealthListener,
  ) {
    this.#deps = deps;
    this.#recovery = recovery;
    this.#listener = listener;
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

  /** Calls back when an outage is confirmed, and when the store is up; the returned function stops that. */
  onChange(listener: () => void): () => void {
    this.#changeListeners.add(listener);
    return () => this.#changeListeners.delete(listener);
  }

  /** Resolves when the outage is no longer just suspected, or after `timeoutMs`. */
  async settled(timeoutMs: number): Promise<void> {
    if (this.#health.state !== 'suspected') return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancelTimer = this.#deps.clock.after(timeoutMs, resolve);
    const stopListening = this.onChange(resolve);
    await promise;
    cancelTimer();
    stopListening();
  }

  /**
   * Restores the slots of all unfinished executions. `incomplete`: other servers have to restore theirs. `failed`: the
   * store did. Fails with STATE_UNAVAILABLE when the executions cannot be read.
   */
  async restore(): Promise<'restored' | 'incomplete' | 'failed'> {
    try {
      return (await this.#recovery.restore()) ? 'restored' : 'incomplete';
    } catch (error) {
      if (kindOf(error).startsWith('STATE_')) throw error;
      this.reportFailure(error);
      return 'failed';
    }
  }

  /** Probes a store that is down without waiting for the next scheduled probe. Resolves when that is done. */
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
    this.#endSuspicion();
    this.#recovery.close();
    this.#notify();
    await this.#probing;
  }

  #suspect(error: Error): void {
    if (this.#health.state !== 'up' || this.#closing.signal.aborted) return;
    const now = this.#deps.clock.monotonic();
    this.#health = { state: 'suspected', since: now, error };
    this.#silentSince = now;
    this.#suspicion = {};
    this.#listener.onSuspected(error);
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
    const { clock } = this.#deps;
    const result = await this.#ping();
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
    try {
      if (this.#hasFailedCalls) return await this.#recover();
      await this.#recovery.verify();
      // Replies arrive in the order of calls: every slow call has its reply, and none failed.
      if (this.#health.state === 'suspected' && !this.#hasFailedCalls) this.#markUp();
    } catch {
      this.#hasFailedCalls = true;
    }
  }

  #recover(): Promise<void> {
    return this.#recovery.recover(() => this.#markUp());
  }

  #ping(): Promise<ProbeResult> {
    return this.#deps.probe?.ping() ?? Promise.resolve({ kind: 'pong' });
  }

  #confirm(error: Error): void {
    this.#endSuspicion();
    this.#hasFailedCalls = true;
    this.#health = { state: 'down', since: this.#deps.clock.monotonic(), error, isRecovering: false };
    this.#probePauseMs = firstProbeMs;
    this.#recovery.begin();
    this.#listener.onDown(error);
    this.#notify();
    this.#scheduleProbe();
  }

  #markUp(): void {
    const before = this.#health;
    if (before.state === 'up') return;
    this.#endSuspicion();
    this.#hasFailedCalls = false;
    this.#health = { state: 'up' };
    if (before.state === 'down') {
      const localAdmissions = this.#recovery.end();
      this.#listener.onUp(this.#deps.clock.monotonic() - before.since, localAdmissions);
    } else this.#recovery.sendPendingReleases().catch((error: unknown) => this.reportFailure(error));
    this.#notify();
  }

  #endSuspicion(): void {
    this.#cancelTick();
    this.#cancelProbe();
    this.#suspicion = {};
  }

  #notify(): void {
    for (const listener of this.#changeListeners) listener();
  }

  async #probeDown(): Promise<void> {
    const { clock } = this.#deps;
    try {
      await this.#recovery.refresh();
      const timeout = { clock, timeoutMs: confirmAfterMs, signal: this.#closing.signal };
      const result = await withTimeout(this.#ping(), timeout);
      if (result.kind !== 'pong') throw result.error;
      this.#setRecovering(true);
      // One that began while the outage was only suspected is continued.
      await (this.#returning ?? this.#recover());
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
