// An outage of the slot store from this server's side: the state read that fixes its share, and the replay of everything
// that happened meanwhile before the store decides again.
import { withTimeout } from '../../core/index.ts';
import type { LimitService } from './limits.ts';
import type { SlotLedger } from './slot-ledger.ts';
import type { AdmissionDeps, Slot } from './types.ts';

const verifyMs = 1_000;
/** Between two attempts to read the state store for the shares. */
const retryCutMs = 250;
/** Under a burst of local admissions the last of them are replayed right after the store decides, not before. */
const maxReplayRounds = 10;

interface Outage {
  readonly since: number;
  hasShares: boolean;
  readonly cut: Promise<void>;
  readonly onCut: () => void;
  /** Requests that this server admitted by itself. */
  localAdmissions: number;
}

export class StoreRecovery {
  readonly #deps: AdmissionDeps;
  readonly #ledger: SlotLedger;
  readonly #limits: LimitService;
  #restoring: Promise<void> | null = null;
  /** Admitted here while the store is being brought up to date; null at all other times. */
  #unreplayed: Slot[] | null = null;
  #refreshing: Promise<void> | null = null;
  /** Null while the store decides, or an outage is only suspected. */
  #outage: Outage | null = null;
  #cancelRetry: () => void = () => undefined;

  constructor(deps: AdmissionDeps, ledger: SlotLedger, limits: LimitService) {
    this.#deps = deps;
    this.#ledger = ledger;
    this.#limits = limits;
  }

  /** The outage is confirmed: reads all executions and limits once, then fixes this server's shares. */
  begin(): void {
    this.close();
    const { promise: cut, resolve: onCut } = Promise.withResolvers<void>();
    this.#outage = { since: this.#deps.clock.monotonic(), hasShares: false, cut, onCut, localAdmissions: 0 };
    void this.#cut(this.#outage);
  }

  /** Returns how many requests this server admitted by itself. */
  end(): number {
    const localAdmissions = this.#outage?.localAdmissions ?? 0;
    this.close();
    this.#outage = null;
    this.#ledger.budget.end();
    return localAdmissions;
  }

  close(): void {
    this.#cancelRetry();
    this.#outage?.onCut();
  }

  /** May this server decide? Not before all executions were read. */
  get hasShares(): boolean {
    return this.#outage?.hasShares === true;
  }

  /** Resolves when the shares are fixed, or the outage is over. */
  async sharesCut(): Promise<void> {
    await this.#outage?.cut;
  }

  /** This server admitted the slot without the store. */
  admittedLocally(slot: Slot): void {
    this.#unreplayed?.push(slot);
    if (this.#outage) this.#outage.localAdmissions++;
  }

  /** A write on the connection that decides: a store that is out of memory still answers reads. */
  async verify(): Promise<void> {
    const { clock, slots, serverId } = this.#deps;
    const write = serverId === null ? slots.invalidateLimits([]) : slots.heartbeat(serverId);
    const servers = await withTimeout(write, { clock, timeoutMs: verifyMs });
    if (serverId !== null) this.#ledger.setServers(servers);
  }

  /**
   * Brings the store up to date; it decides from the call of `markUp` on. Local admissions are collected before the
   * restore reads what is held, until after `markUp`.
   */
  async recover(markUp: () => void): Promise<void> {
    const { slots } = this.#deps;
    await this.verify();
    this.#unreplayed = [];
    try {
      await this.restore();
      await this.sendPendingReleases();
      // Limits may have changed while the cache could not be invalidated.
      await slots.invalidateLimits('all');
      for (let round = 0; round < maxReplayRounds && this.#unreplayed.length > 0; round++)
        await this.#replay();
      markUp();
      await this.#replay();
      // Again: a request may have been released between the first time and `markUp`.
      await this.sendPendingReleases();
    } finally {
      this.#unreplayed = null;
    }
  }

  /** Sends releases that are pending though no call failed: their requests gave up waiting. */
  async sendPendingReleases(): Promise<void> {
    await this.#ledger.sendPendingReleases(this.#deps.slots);
  }

  /** Creates the slots of all unfinished executions and held requests; concurrent callers share one run. */
  restore(): Promise<void> {
    this.#restoring ??= this.#restore().finally(() => (this.#restoring = null));
    return this.#restoring;
  }

  /** Updates the budget and the known limits from the state store. Never fails: the last known values stay. */
  refresh(): Promise<void> {
    this.#refreshing ??= this.#refresh().finally(() => (this.#refreshing = null));
    return this.#refreshing;
  }

  async #cut(outage: Outage): Promise<void> {
    const { clock, executions } = this.#deps;
    try {
      const [unfinished] = await Promise.all([executions.unfinished(), this.#limits.refreshKnown()]);
      if (this.#outage !== outage) return;
      this.#ledger.budget.cut(unfinished, this.#ledger.servers);
      outage.hasShares = true;
      outage.onCut();
    } catch {
      if (this.#outage === outage) this.#cancelRetry = clock.after(retryCutMs, () => void this.#cut(outage));
    }
  }

  async #refresh(): Promise<void> {
    const { clock, executions, options } = this.#deps;
    const { budget } = this.#ledger;
    const read = async () => {
      const snapshot = await this.#ledger.snapshot(() => executions.unfinished());
      if (this.#outage === null) budget.observe(snapshot);
      else if (this.#outage.hasShares)
        budget.refresh(snapshot, clock.monotonic() - this.#outage.since < options.leaseSeconds * 1_000);
    };
    await Promise.allSettled([read(), this.#limits.refreshKnown()]);
  }

  async #replay(): Promise<void> {
    const held = (this.#unreplayed ?? []).filter(({ executionId }) => this.#ledger.holds(executionId));
    this.#unreplayed = [];
    if (held.length > 0) await this.#deps.slots.renew(held);
  }

  async #restore(): Promise<void> {
    const { slots, executions, events } = this.#deps;
    const held = this.#ledger.held;
    const unfinished = await executions.unfinished();
    const known = new Set((await slots.holders()).map(({ executionId }) => executionId));
    const all = [...new Map([...unfinished, ...held].map((slot) => [slot.executionId, slot])).values()];
    const { wasEmpty } = await slots.restore(all);
    const count = all.filter(({ executionId }) => !known.has(executionId)).length;
    const reason = wasEmpty ? 'store-was-empty' : this.#outage === null ? 'missing' : 'store-was-down';
    if (count > 0) events.emit('admission:slots-restored', { count, reason });
    // What ended while it was being restored is not released by any other process.
    const ended = new Set(await executions.ended(all.map(({ executionId }) => executionId)));
    for (const slot of all) if (ended.has(slot.executionId)) await slots.release(slot);
  }
}
