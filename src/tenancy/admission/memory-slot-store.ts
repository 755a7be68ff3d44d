// Slots in the memory of one process. Same rules as redis/acquire-slots.lua; one contract suite runs on both.
import type { Clock } from '../../core/index.ts';
import { limitReached, SlotSet } from './slot-policy.ts';
import type {
  RestoreResult,
  RestoringPeers,
  Slot,
  SlotCounts,
  SlotDecision,
  SlotRequest,
  SlotStore,
} from './types.ts';

export interface MemorySlotStoreOptions {
  readonly clock: Clock;
  readonly leaseSeconds: number;
  readonly cacheTtlSeconds: number;
}

interface LeasedSlot extends Slot {
  /** Monotonic milliseconds. */
  readonly expiresAt: number;
}

interface CachedLimit {
  readonly value: number;
  readonly expiresAt: number;
}

export class MemorySlotStore implements SlotStore {
  readonly #clock: Clock;
  readonly #leaseMs: number;
  readonly #cacheTtlMs: number;
  /** In order of expiry. */
  readonly #slots = new SlotSet<LeasedSlot>();
  readonly #limits = new Map<string, CachedLimit>();
  readonly #servers = new Map<string, number>();
  #generation = 0;
  #isRestored = false;

  constructor({ clock, leaseSeconds, cacheTtlSeconds }: MemorySlotStoreOptions) {
    this.#clock = clock;
    this.#leaseMs = leaseSeconds * 1_000;
    this.#cacheTtlMs = cacheTtlSeconds * 1_000;
  }

  acquire(request: SlotRequest): Promise<SlotDecision> {
    return Promise.resolve(this.#decide(request));
  }

  renew(slots: readonly Slot[]): Promise<readonly string[]> {
    this.#removeExpired();
    return Promise.resolve(slots.filter((slot) => this.#add(slot)).map(({ executionId }) => executionId));
  }

  release({ organizationId, executionId }: Slot): Promise<boolean> {
    this.#removeExpired();
    const isHeld = this.#holds({ organizationId, executionId });
    if (isHeld) this.#slots.delete(executionId);
    return Promise.resolve(isHeld);
  }

  async restore(slots: readonly Slot[], peers?: RestoringPeers): Promise<RestoreResult> {
    const wasEmpty = !this.#isRestored;
    const { serverId = null, awaited = [], unreachable = [] } = peers ?? {};
    await this.renew(slots);
    for (const other of unreachable) if (!this.#isReaching(other.serverId)) await this.renew(other.slots);
    if (!wasEmpty) return { wasEmpty, isComplete: true };
    if (serverId !== null) this.#servers.set(serverId, this.#clock.monotonic() + this.#leaseMs);
    this.#isRestored = awaited.every((id) => this.#isAlive(id));
    return { wasEmpty, isComplete: this.#isRestored };
  }

  holders(): Promise<readonly Slot[]> {
    this.#removeExpired();
    return Promise.resolve(
      Array.from(this.#slots.values(), ({ organizationId, executionId }) => ({
        organizationId,
        executionId,
      })),
    );
  }

  usage(organizationIds: readonly string[]): Promise<SlotCounts> {
    this.#removeExpired();
    const organizations = new Map(organizationIds.map((id) => [id, this.#slots.countOf(id)]));
    return Promise.resolve({ global: this.#slots.size, organizations });
  }

  cachedLimits(organizationIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const cached = organizationIds.flatMap((id) => {
      const limit = this.#cachedLimit(id);
      return limit === undefined ? [] : [[id, limit] as const];
    });
    return Promise.resolve(new Map(cached));
  }

  invalidateLimits(organizationIds: readonly string[] | 'all'): Promise<number> {
    this.#generation++;
    const ids = organizationIds === 'all' ? [...this.#limits.keys()] : organizationIds;
    const cached = ids.filter((id) => this.#cachedLimit(id) !== undefined && this.#limits.delete(id));
    return Promise.resolve(cached.length);
  }

  heartbeat(serverId: string): Promise<number | null> {
    if (!this.#isRestored) return Promise.resolve(null);
    const now = this.#clock.monotonic();
    this.#servers.set(serverId, now + this.#leaseMs);
    for (const [id, aliveUntil] of this.#servers) if (aliveUntil < now) this.#servers.delete(id);
    return Promise.resolve(this.#servers.size);
  }

  #decide({ organizationId, executionId, limit, globalLimit }: SlotRequest): SlotDecision {
    if (!this.#isRestored) return { kind: 'not-restored' };
    const token = `memory:${this.#generation}`;
    const organizationLimit = limit?.token === token ? limit.value : this.#cachedLimit(organizationId);
    if (organizationLimit === undefined) return { kind: 'limit-unknown', token };
    this.#limits.set(organizationId, {
      value: organizationLimit,
      expiresAt: this.#clock.monotonic() + this.#cacheTtlMs,
    });
    this.#removeExpired();
    const slot = { organizationId, executionId };
    const usage = () => ({
      organization: this.#slots.countOf(organizationId),
      organizationLimit,
      global: this.#slots.size,
      globalLimit,
    });
    const limitedBy = this.#holds(slot) ? undefined : limitReached(usage());
    if (limitedBy) return { kind: 'rejected', limitedBy, usage: usage() };
    this.#add(slot);
    return { kind: 'admitted', usage: usage() };
  }

  #isAlive(serverId: string): boolean {
    return (this.#servers.get(serverId) ?? Number.NEGATIVE_INFINITY) >= this.#clock.monotonic();
  }

  /** It has sent a heartbeat within two seconds. */
  #isReaching(serverId: string): boolean {
    const aliveUntil = this.#servers.get(serverId) ?? Number.NEGATIVE_INFINITY;
    return aliveUntil - this.#leaseMs >= this.#clock.monotonic() - 2_000;
  }

  #cachedLimit(organizationId: string): number | undefined {
    const cached = this.#limits.get(organizationId);
    if (!cached || cached.expiresAt > this.#clock.monotonic()) return cached?.value;
    this.#limits.delete(organizationId);
    return undefined;
  }

  #holds({ organizationId, executionId }: Slot): boolean {
    return this.#slots.get(executionId)?.organizationId === organizationId;
  }

  /** Starts a new lease; true when the slot was not held. */
  #add({ organizationId, executionId }: Slot): boolean {
    const wasHeld = this.#holds({ organizationId, executionId });
    const expiresAt = this.#clock.monotonic() + this.#leaseMs;
    this.#slots.add({ organizationId, executionId, expiresAt });
    return !wasHeld;
  }

  #removeExpired(): void {
    const now = this.#clock.monotonic();
    for (const { executionId, expiresAt } of this.#slots.values()) {
      if (expiresAt >= now) return;
      this.#slots.delete(executionId);
    }
  }
}
