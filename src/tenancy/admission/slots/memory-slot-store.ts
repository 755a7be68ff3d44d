// Slots in this process: for one server alone. The same rules as redis/acquire-slots.lua; one suite runs on both.
import type { Clock } from '../../../core/index.ts';
import type { Acquired, AcquireRequest, HeldSlot, Slot, SlotStore } from '../ports.ts';

export interface MemorySlotStoreOptions {
  readonly clock: Clock;
  readonly leaseSeconds: number;
  readonly cacheTtlSeconds: number;
}

interface Held extends HeldSlot {
  /** On the clock that never runs backwards. */
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
  /** By execution, the one that expires first in front. */
  readonly #held = new Map<string, Held>();
  readonly #counts = new Map<string, number>();
  readonly #limits = new Map<string, CachedLimit>();
  readonly #servers = new Map<string, number>();
  #generation = 0;
  #isRestored = false;

  constructor({ clock, leaseSeconds, cacheTtlSeconds }: MemorySlotStoreOptions) {
    this.#clock = clock;
    this.#leaseMs = leaseSeconds * 1_000;
    this.#cacheTtlMs = cacheTtlSeconds * 1_000;
  }

  acquire(request: AcquireRequest): Promise<Acquired> {
    return Promise.resolve(this.#decide(request));
  }

  renew(slots: readonly Slot[]): Promise<readonly string[]> {
    this.#sweep();
    return Promise.resolve(slots.filter((slot) => this.#take(slot)).map(({ executionId }) => executionId));
  }

  release({ organizationId, executionId }: Slot): Promise<boolean> {
    this.#sweep();
    const isHeld = this.#holds({ organizationId, executionId });
    if (isHeld) this.#drop(executionId);
    return Promise.resolve(isHeld);
  }

  async restore(slots: readonly Slot[]): Promise<{ readonly wasEmpty: boolean }> {
    await this.renew(slots);
    const wasEmpty = !this.#isRestored;
    this.#isRestored = true;
    return { wasEmpty };
  }

  holders(): Promise<readonly HeldSlot[]> {
    this.#sweep();
    const copies = Array.from(this.#held.values(), ({ organizationId, executionId, renewedAt }) => ({
      organizationId,
      executionId,
      renewedAt,
    }));
    return Promise.resolve(copies);
  }

  usage(
    organizationIds: readonly string[],
  ): Promise<{ readonly global: number; readonly organizations: ReadonlyMap<string, number> }> {
    this.#sweep();
    const organizations = new Map(organizationIds.map((id) => [id, this.#counts.get(id) ?? 0]));
    return Promise.resolve({ global: this.#held.size, organizations });
  }

  cachedLimits(organizationIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const cached = organizationIds.flatMap((id) => {
      const limit = this.#cached(id);
      return limit === undefined ? [] : [[id, limit] as const];
    });
    return Promise.resolve(new Map(cached));
  }

  forgetLimits(organizationIds: readonly string[] | 'all'): Promise<number> {
    this.#generation++;
    const ids = organizationIds === 'all' ? [...this.#limits.keys()] : organizationIds;
    const cached = ids.filter((id) => this.#cached(id) !== undefined && this.#limits.delete(id));
    return Promise.resolve(cached.length);
  }

  heartbeat(serverId: string): Promise<number> {
    const now = this.#clock.monotonic();
    this.#servers.set(serverId, now + this.#leaseMs);
    for (const [id, aliveUntil] of this.#servers) if (aliveUntil < now) this.#servers.delete(id);
    return Promise.resolve(this.#servers.size);
  }

  #decide({ organizationId, executionId, limit, globalLimit }: AcquireRequest): Acquired {
    if (!this.#isRestored) return { kind: 'unrestored' };
    const token = `memory:${this.#generation}`;
    const organizationLimit = limit?.token === token ? limit.value : this.#cached(organizationId);
    if (organizationLimit === undefined) return { kind: 'limit-unknown', token };
    this.#limits.set(organizationId, {
      value: organizationLimit,
      expiresAt: this.#clock.monotonic() + this.#cacheTtlMs,
    });
    this.#sweep();
    const slot = { organizationId, executionId };
    const layer = this.#holds(slot)
      ? undefined
      : this.#fullLayer(organizationId, organizationLimit, globalLimit);
    if (!layer) this.#take(slot);
    const usage = {
      organization: this.#counts.get(organizationId) ?? 0,
      organizationLimit,
      global: this.#held.size,
      globalLimit,
    };
    return layer ? { kind: 'refused', layer, usage } : { kind: 'admitted', usage };
  }

  #fullLayer(
    organizationId: string,
    organizationLimit: number,
    globalLimit: number,
  ): 'organization' | 'global' | undefined {
    if ((this.#counts.get(organizationId) ?? 0) >= organizationLimit) return 'organization';
    return this.#held.size >= globalLimit ? 'global' : undefined;
  }

  #cached(organizationId: string): number | undefined {
    const cached = this.#limits.get(organizationId);
    if (!cached || cached.expiresAt > this.#clock.monotonic()) return cached?.value;
    this.#limits.delete(organizationId);
    return undefined;
  }

  #holds({ organizationId, executionId }: Slot): boolean {
    return this.#held.get(executionId)?.organizationId === organizationId;
  }

  /** Gives it a new lease; true when it was not held. */
  #take({ organizationId, executionId }: Slot): boolean {
    const wasHeld = this.#holds({ organizationId, executionId });
    this.#drop(executionId);
    this.#held.set(executionId, {
      organizationId,
      executionId,
      renewedAt: new Date(this.#clock.now()),
      expiresAt: this.#clock.monotonic() + this.#leaseMs,
    });
    this.#counts.set(organizationId, (this.#counts.get(organizationId) ?? 0) + 1);
    return !wasHeld;
  }

  #drop(executionId: string): void {
    const held = this.#held.get(executionId);
    if (!held) return;
    this.#held.delete(executionId);
    const left = (this.#counts.get(held.organizationId) ?? 0) - 1;
    if (left > 0) this.#counts.set(held.organizationId, left);
    else this.#counts.delete(held.organizationId);
  }

  #sweep(): void {
    const now = this.#clock.monotonic();
    for (const { executionId, expiresAt } of this.#held.values()) {
      if (expiresAt >= now) return;
      this.#drop(executionId);
    }
  }
}
