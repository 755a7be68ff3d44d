// Background rounds of every server: heartbeat, lease renewal, and the comparison of slots with executions.
import { kindOf } from '../../core/index.ts';
import type { AdmissionController } from './admission-controller.ts';
import type { PeerReports } from './peer-reports.ts';
import type { SlotLedger } from './slot-ledger.ts';
import type { StoreHealthMonitor } from './store-health.ts';
import type { AdmissionDeps, Slot } from './types.ts';

/** The process that ends an execution releases its slot right after; a slot still held this much later has leaked. */
const graceMs = 1_000;
/** A heartbeat without a reply for so long raises the suspicion of an outage, also on a server without requests. */
const slowHeartbeatMs = 500;

interface ReconcilerServices {
  readonly ledger: SlotLedger;
  readonly health: StoreHealthMonitor;
  readonly peers: PeerReports;
  readonly controller: Pick<AdmissionController, 'slotReleased'>;
}

/** Only the report to other servers continues while the store is not up. The rounds never fail: they are repeated. */
export class Reconciler {
  readonly #deps: AdmissionDeps;
  readonly #services: ReconcilerServices;

  constructor(deps: AdmissionDeps, services: ReconcilerServices) {
    this.#deps = deps;
    this.#services = services;
  }

  /**
   * Records that this server is alive, takes a snapshot of all slots for an outage, and restores a store that has lost its
   * data; every second.
   */
  async sendHeartbeat(): Promise<void> {
    const { clock, serverId } = this.#deps;
    const { health, peers } = this.#services;
    if (serverId === null) return;
    if (health.isUp) {
      const cancelTimer = clock.after(slowHeartbeatMs, () => health.reportSlow(slowHeartbeatMs));
      await this.#heartbeat(serverId).catch((error: unknown) => {
        if (!kindOf(error).startsWith('STATE_')) health.reportFailure(error);
      });
      cancelTimer();
    }
    await peers.report().catch(() => undefined);
  }

  async #heartbeat(serverId: string): Promise<void> {
    const { slots } = this.#deps;
    const { ledger, health, peers } = this.#services;
    const servers = await slots.heartbeat(serverId);
    peers.heartbeatReplied();
    if (servers === null) return void (await health.restore());
    ledger.setServers(servers);
    ledger.budget.observe(await ledger.snapshot(() => slots.holders()));
  }

  /** Renews the slots of this process, and ends what has held one for too long; three times a lease. */
  async renewLeases(): Promise<void> {
    const { clock, slots, options, events, endOverdue } = this.#deps;
    const { ledger, health } = this.#services;
    if (!health.isUp) return;
    for (const slot of ledger.heldSinceBefore(clock.monotonic() - options.ttlHours * 3_600_000)) {
      events.emit('admission:execution-overdue', slot);
      ledger.remove(slot.executionId);
      await endOverdue(slot).catch(() => undefined);
    }
    const { held } = ledger;
    if (held.length === 0) return;
    try {
      this.#emitRestored((await slots.renew(held)).length);
    } catch (error) {
      health.reportFailure(error);
    }
  }

  /** Compares slots with executions: unfinished ones have a slot, ended ones have none; three times a lease. */
  async reconcile(): Promise<void> {
    const { health } = this.#services;
    if (!health.isUp) return;
    try {
      await this.#reconcile();
    } catch (error) {
      const cause = kindOf(error);
      this.#deps.events.emit('admission:reconcile-failed', { cause });
      if (!cause.startsWith('STATE_')) health.reportFailure(error);
    }
  }

  async #reconcile(): Promise<void> {
    const { slots, executions } = this.#deps;
    const { ledger, peers } = this.#services;
    // Holders first: an execution that starts in between has its slot in neither list, and keeps it.
    const { slots: holders } = await ledger.snapshot(() => slots.holders());
    const unfinished = await executions.unfinished();
    const alive = await this.#endOverdue(unfinished);
    await this.#restoreMissing(alive);
    const restoring = await peers.restoring();
    // Not in the name of this server: its own slots are not among them.
    if (restoring && restoring.unreachable.length > 0)
      await slots.restore([], { ...restoring, serverId: null });
    await this.#releaseLeaked(holders, new Set(unfinished.map(({ executionId }) => executionId)));
    await this.#correctLimits(holders);
  }

  /** Ends executions beyond the longest time allowed; returns the rest. */
  async #endOverdue(unfinished: readonly (Slot & { readonly acceptedAt: Date })[]): Promise<readonly Slot[]> {
    const { clock, options, events, endOverdue } = this.#deps;
    const oldest = clock.now() - options.ttlHours * 3_600_000;
    const alive: Slot[] = [];
    for (const { organizationId, executionId, acceptedAt } of unfinished) {
      const slot = { organizationId, executionId };
      if (acceptedAt.getTime() >= oldest) {
        alive.push(slot);
        continue;
      }
      events.emit('admission:execution-overdue', slot);
      await endOverdue(slot);
    }
    return alive;
  }

  /** The slots of queued executions are renewed only here. */
  async #restoreMissing(alive: readonly Slot[]): Promise<void> {
    if (alive.length === 0) return;
    const { slots, executions } = this.#deps;
    const missing = await slots.renew(alive);
    if (missing.length === 0) return;
    // Executions that ended since the read have no slot for that reason.
    const ended = new Set(await executions.ended(missing));
    for (const slot of alive) if (ended.has(slot.executionId)) await slots.release(slot);
    this.#emitRestored(missing.length - ended.size);
  }

  #emitRestored(count: number): void {
    const reason = this.#services.health.isUp ? 'missing' : 'store-was-down';
    if (count > 0) this.#deps.events.emit('admission:slots-restored', { count, reason });
  }

  /** Slots of unknown executions stay: their requests are not committed yet, or the lease expires. */
  async #releaseLeaked(holders: readonly Slot[], unfinished: ReadonlySet<string>): Promise<void> {
    const { clock, slots, executions, events } = this.#deps;
    const { ledger, controller } = this.#services;
    const idle = holders.filter(
      ({ executionId }) => !unfinished.has(executionId) && !ledger.holds(executionId),
    );
    if (idle.length === 0) return;
    const ended = new Set(await executions.ended(idle.map(({ executionId }) => executionId)));
    if (ended.size === 0) return;
    await clock.sleep(graceMs);
    let count = 0;
    for (const slot of idle) {
      if (!ended.has(slot.executionId) || !(await slots.release(slot))) continue;
      count++;
      controller.slotReleased(slot);
    }
    if (count > 0) events.emit('admission:slots-released', { count });
  }

  /** A process that died between a commit and its invalidation leaves a cached limit whose TTL every request extends. */
  async #correctLimits(holders: readonly Slot[]): Promise<void> {
    const { slots, limits, options, events } = this.#deps;
    const own = new Map(
      (await limits.list()).map((limit) => [limit.organizationId, limit.concurrentRequestLimit]),
    );
    const organizationIds = [...new Set([...own.keys(), ...holders.map((slot) => slot.organizationId)])];
    if (organizationIds.length === 0) return;
    const cached = await slots.cachedLimits(organizationIds);
    const stale = [...cached].filter(([id, limit]) => limit !== (own.get(id) ?? options.defaultLimit));
    if (stale.length === 0) return;
    await slots.invalidateLimits(stale.map(([id]) => id));
    events.emit('admission:limits-corrected', { count: stale.length });
  }
}
