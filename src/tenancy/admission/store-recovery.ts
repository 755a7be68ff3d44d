// An outage of the slot store from this server's side: the state read that fixes its share, and the replay of everything
// that happened meanwhile before the store decides again.
import { withTimeout } from '../../core/index.ts';
import type { LimitService } from './limits.ts';
import type { PeerReports } from './peer-reports.ts';
import type { SlotLedger } from './slot-ledger.ts';
import type { AdmissionDeps, Slot } from './types.ts';

const verifyMs = 1_000;
/** Delay between two attempts to read the state store for the shares. */
const retryCutMs = 250;
/** Other servers notice within a second that the store has lost its data. */
const maxRestores = 20;
const restorePollMs = 50;
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
  readonly #peers: PeerReports;
  #restoring: Promise<boolean> | null = null;
  /** Admitted here while the store is being brought up to date; null at all other times. */
  #unreplayed: Map<string, Slot> | null = null;
  #refreshing: Promise<void> | null = null;
  /** Null while the store decides, or an outage is only suspected. */
  #outage: Outage | null = null;
  #cancelRetry: () => void = () => undefined;

  constructor(deps: AdmissionDeps, ledger: SlotLedger, limits: LimitService, peers: PeerReports) {
    this.#deps = deps;
    this.#ledger = ledger;
    this.#limits = limits;
    this.#peers = peers;
  }

  /** The outage is confirmed: reads other servers, all executions and limits, then fixes this server's shares. */
  begin(): void {
    this.close();
    this.#peers.beginOutage();
    const { promise: cut, resolve: onCut } = Promise.withResolvers<void>();
    this.#outage = { since: this.#deps.clock.monotonic(), hasShares: false, cut, onCut, localAdmissions: 0 };
    void this.#cut(this.#outage);
  }

  /** Returns how many requests this server admitted by itself. */
  end(): number {
    const { localAdmissions } = this;
    this.close();
    this.#outage = null;
    this.#peers.endOutage();
    this.#ledger.budget.end();
    return localAdmissions;
  }

  close(): void {
    this.#cancelRetry();
    this.#outage?.onCut();
  }

  /** Requests that this server has admitted by itself during the outage. */
  get localAdmissions(): number {
    return this.#outage?.localAdmissions ?? 0;
  }

  /** May this server decide? Not before all other servers and all executions were read. */
  get hasShares(): boolean {
    return this.#outage?.hasShares === true;
  }

  /** Resolves when the shares are fixed, or the outage is over. */
  async sharesCut(): Promise<void> {
    await this.#outage?.cut;
  }

  /** This server admitted the slot without the store. */
  admittedLocally(slot: Slot): void {
    this.#unreplayed?.set(slot.executionId, slot);
    if (this.#outage) this.#outage.localAdmissions++;
  }

  /** A slot that is free is not replayed; one whose request was accepted meanwhile is. */
  released(executionId: string): void {
    this.#unreplayed?.delete(executionId);
  }

  /** A write on the connection that decides: a store that is out of memory still serves reads. */
  async verify(): Promise<void> {
    const { clock, slots, serverId } = this.#deps;
    const write = serverId === null ? slots.invalidateLimits([]) : slots.heartbeat(serverId);
    const servers = await withTimeout(write, { clock, timeoutMs: verifyMs });
    if (serverId !== null && servers !== null) this.#ledger.setServers(servers);
  }

  /**
   * Brings the store up to date; it decides from the call of `markUp` on. Local admissions are collected before the
   * restore reads what is held, until after `markUp`.
   */
  async recover(markUp: () => void): Promise<void> {
    const { slots } = this.#deps;
    await this.verify();
    this.#unreplayed = new Map();
    try {
      await this.#peers.beginReturn();
      for (let attempt = 0; !(await this.restore()); attempt++) {
        if (attempt === maxRestores) throw new Error('Other servers have not restored their slots yet.');
        await this.#deps.clock.sleep(restorePollMs);
      }
      await this.sendPendingReleases();
      // Limits may have changed while the cache could not be invalidated.
      await slots.invalidateLimits('all');
      for (let round = 0; round < maxReplayRounds && this.#unreplayed.size > 0; round++) await this.#replay();
      markUp();
      await this.#replay();
      // Again: a request may have been released between the first time and `markUp`.
      await this.sendPendingReleases();
    } finally {
      this.#unreplayed = null;
      this.#peers.endReturn();
    }
  }

  /** Sends releases that are pending though no call failed: their requests gave up waiting. */
  async sendPendingReleases(): Promise<void> {
    await this.#ledger.sendPendingReleases(this.#deps.slots);
  }

  /**
   * Creates the slots of all unfinished executions and held requests; concurrent callers share one run. False while a
   * store that has lost its data waits for other servers to do the same.
   */
  restore(): Promise<boolean> {
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
      const division = await this.#peers.divide();
      // Executions last: a request that another server accepts meanwhile is in one of the two lists.
      const [unfinished] = division
        ? await Promise.all([executions.unfinished(), this.#limits.refreshKnown()])
        : [];
      if (this.#outage !== outage) return;
      if (division && unfinished) {
        this.#ledger.budget.cut([...division.slots, ...unfinished], division);
        outage.hasShares = true;
        return outage.onCut();
      }
    } catch {
      // The state store is down as well: nothing is admitted until it is read.
    }
    if (this.#outage === outage) this.#cancelRetry = clock.after(retryCutMs, () => void this.#cut(outage));
  }

  async #refresh(): Promise<void> {
    const { clock, executions, options } = this.#deps;
    const { budget } = this.#ledger;
    const read = async () => {
      const snapshot = await this.#ledger.snapshot(async () => [
        ...(await this.#peers.slots()),
        ...(await executions.unfinished()),
      ]);
      if (this.#outage === null) budget.observe(snapshot);
      else if (this.#outage.hasShares)
        budget.refresh(snapshot, clock.monotonic() - this.#outage.since < options.leaseSeconds * 1_000);
    };
    await Promise.allSettled([read(), this.#limits.refreshKnown()]);
  }

  async #replay(): Promise<void> {
    const slots = [...(this.#unreplayed?.values() ?? [])];
    this.#unreplayed?.clear();
    if (slots.length > 0) await this.#deps.slots.renew(slots);
  }

  async #restore(): Promise<boolean> {
    const { slots, executions, events } = this.#deps;
    const before = this.#ledger.held;
    const peers = await this.#peers.restoring();
    const unfinished = await executions.unfinished();
    const known = new Set((await slots.holders()).map(({ executionId }) => executionId));
    // Held slots after a reply of the store: what it admitted before it lost its data is held by then.
    const listed = byId([...unfinished, ...this.#ledger.held]);
    // Accepted since the read of unfinished executions, or released.
    const gone = before.filter(({ executionId }) => !listed.has(executionId));
    const all = [...listed.values(), ...gone];
    const { wasEmpty, isComplete } = await slots.restore(all, peers);
    const count = all.filter(({ executionId }) => !known.has(executionId)).length;
    const reason = wasEmpty ? 'store-was-empty' : this.#outage === null ? 'missing' : 'store-was-down';
    if (count > 0) events.emit('admission:slots-restored', { count, reason });
    // What ended or was released while it was being restored is not released by any other process.
    const ended = new Set(await executions.ended(all.map(({ executionId }) => executionId)));
    const accepted = gone.length > 0 ? byId(await executions.unfinished()) : new Map<string, Slot>();
    for (const slot of all) if (ended.has(slot.executionId)) await slots.release(slot);
    for (const slot of gone)
      if (!ended.has(slot.executionId) && !accepted.has(slot.executionId)) await slots.release(slot);
    return isComplete;
  }
}

const byId = (slots: readonly Slot[]): ReadonlyMap<string, Slot> =>
  new Map(slots.map((slot) => [slot.executionId, slot]));
