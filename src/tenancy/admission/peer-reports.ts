// What this server reports to the others through the state store, and what it reads of them. Redis cannot pass this on
// while it is down, or after it has lost its data.
import type { SlotLedger } from './slot-ledger.ts';
import type { AdmissionDeps, RestoringPeers, Slot } from './types.ts';

/** A heartbeat to which Redis replied before an outage may be reported during it; the second one after that began later. */
const provingHeartbeats = 2;

/** The servers that divide the limits during an outage. */
export interface Division {
  readonly servers: number;
  /** Slots that the other servers hold. */
  readonly slots: readonly Slot[];
  /** Other servers still reach Redis, which admits requests up to the limits. */
  readonly isPartial: boolean;
}

export class PeerReports {
  readonly #deps: Pick<AdmissionDeps, 'servers' | 'serverId'>;
  readonly #ledger: SlotLedger;
  /** Heartbeats of the other servers when this one first read them during the outage; null while Redis decides. */
  #seen: Map<string, number> | null = null;
  #sharedWith: readonly string[] | null = null;
  #isReturning = false;
  #heartbeats = 0;
  #number = 0;

  constructor(deps: Pick<AdmissionDeps, 'servers' | 'serverId'>, ledger: SlotLedger) {
    this.#deps = deps;
    this.#ledger = ledger;
  }

  /** Redis replied to a heartbeat of this server. */
  heartbeatReplied(): void {
    this.#heartbeats++;
  }

  /** No slot is taken from Redis from now on. */
  beginOutage(): void {
    this.#seen = new Map();
    this.#sharedWith = null;
  }

  endOutage(): void {
    this.#seen = null;
    this.#sharedWith = null;
  }

  /**
   * This server is about to restore its slots, and to take slots from Redis again. It reports that first: otherwise the
   * others would restore what it last reported. Fails with STATE_UNAVAILABLE.
   */
  async beginReturn(): Promise<void> {
    this.#isReturning = true;
    await this.report();
  }

  endReturn(): void {
    this.#isReturning = false;
  }

  /** Fails with STATE_UNAVAILABLE. */
  async report(): Promise<void> {
    const { servers, serverId } = this.#deps;
    if (!servers || serverId === null) return;
    await servers.report({
      serverId,
      number: ++this.#number,
      heartbeats: this.#heartbeats,
      slots: this.#ledger.held,
      isDown: this.#seen !== null && !this.#isReturning,
      sharedWith: this.#sharedWith,
    });
  }

  /**
   * Null until each of the other servers has confirmed the outage and reported its slots, or has reached Redis meanwhile.
   * Also null while another server has divided the limits without this one, which started during the outage.
   *
   * Each of the servers that divide the limits counts all others: it reports between whom it divides, and reads the
   * others again after that; a server that starts later reads that report.
   */
  async divide(): Promise<Division | null> {
    const { servers, serverId } = this.#deps;
    if (!servers || serverId === null) return { servers: this.#ledger.servers, slots: [], isPartial: false };
    for (;;) {
      await this.report();
      const others = (await servers.list()).filter((each) => each.serverId !== serverId);
      const alive = [serverId, ...others.map((each) => each.serverId)];
      if (this.#sharedWith?.join() !== alive.join()) {
        this.#sharedWith = alive;
        continue;
      }
      const reaching = others.filter(({ isDown }) => !isDown);
      if (!reaching.every((each) => this.#hasProven(each.serverId, each.heartbeats))) return null;
      if (!others.every((each) => each.sharedWith?.includes(serverId) ?? true)) return null;
      const slots = others.flatMap((each) => each.slots);
      return { servers: alive.length, slots, isPartial: reaching.length > 0 };
    }
  }

  /** Slots that the other servers hold. Fails with STATE_UNAVAILABLE. */
  async slots(): Promise<readonly Slot[]> {
    const { servers, serverId } = this.#deps;
    const reports = (await servers?.list()) ?? [];
    return reports.filter((each) => each.serverId !== serverId).flatMap((each) => each.slots);
  }

  /** Undefined where servers do not report. Fails with STATE_UNAVAILABLE. */
  async restoring(): Promise<RestoringPeers | undefined> {
    const { servers, serverId } = this.#deps;
    if (!servers) return undefined;
    const reports = await servers.list();
    const others = reports.filter((each) => each.serverId !== serverId);
    const reaching = others.filter(({ isDown }) => !isDown).map((each) => each.serverId);
    return {
      serverId,
      awaited: serverId === null ? reaching : [serverId, ...reaching],
      unreachable: others.filter(({ isDown }) => isDown),
    };
  }

  /** The others no longer wait for this server. */
  async close(): Promise<void> {
    const { servers, serverId } = this.#deps;
    if (servers && serverId !== null) await servers.remove(serverId).catch(() => undefined);
  }

  #hasProven(serverId: string, heartbeats: number): boolean {
    const seen = this.#seen?.get(serverId);
    if (seen === undefined) this.#seen?.set(serverId, heartbeats);
    return seen !== undefined && heartbeats >= seen + provingHeartbeats;
  }
}
