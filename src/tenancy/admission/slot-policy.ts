// Slots and the limits as pure data and functions, and what a server may admit by itself during an outage of Redis.
// redis/acquire-slots.lua applies the same rule; one contract suite runs on both.
import type { LimitScope, Slot, Usage, Verdict } from './types.ts';

/** The limit that leaves no room for one more slot; the organization's own comes first. */
export function limitReached(usage: Usage): LimitScope | undefined {
  if (usage.organization >= usage.organizationLimit) return 'organization';
  return usage.global >= usage.globalLimit ? 'global' : undefined;
}

/** The part of what is free that one server may use while no store decides: the sum over servers stays within `free`. */
export const shareOf = (free: number, servers: number): number => Math.max(0, Math.floor(free / servers));

/** Slots by execution id, with a count per organization; in the order in which they were added. */
export class SlotSet<HeldSlots extends Slot = Slot> {
  readonly #slots = new Map<string, HeldSlots>();
  readonly #counts = new Map<string, number>();

  get size(): number {
    return this.#slots.size;
  }

  get(executionId: string): HeldSlots | undefined {
    return this.#slots.get(executionId);
  }

  has(executionId: string): boolean {
    return this.#slots.has(executionId);
  }

  countOf(organizationId: string): number {
    return this.#counts.get(organizationId) ?? 0;
  }

  values(): Iterable<HeldSlots> {
    return this.#slots.values();
  }

  /** Replaces the slot of the same execution. */
  add(slot: HeldSlots): void {
    this.delete(slot.executionId);
    this.#slots.set(slot.executionId, slot);
    this.#counts.set(slot.organizationId, this.countOf(slot.organizationId) + 1);
  }

  delete(executionId: string): void {
    const slot = this.#slots.get(executionId);
    if (!slot) return;
    this.#slots.delete(executionId);
    const left = this.countOf(slot.organizationId) - 1;
    if (left > 0) this.#counts.set(slot.organizationId, left);
    else this.#counts.delete(slot.organizationId);
  }

  /** Deletes all others. */
  keep(isKept: (executionId: string) => boolean): void {
    for (const executionId of this.#slots.keys()) if (!isKept(executionId)) this.delete(executionId);
  }
}

type Limits = Pick<Usage, 'organizationLimit' | 'globalLimit'>;

/** Slots as a store listed them, and which of the missing ones are nevertheless held by this process. */
export interface Snapshot {
  readonly slots: readonly Slot[];
  readonly isOwn: (executionId: string) => boolean;
}

/**
 * What this server may admit by itself during a confirmed outage of Redis.
 *
 * It counts the slots that were in use when the outage was confirmed: those of the last snapshot and the last decisions
 * of Redis, every unfinished execution of the state store, and the slots that other servers report. What was free then is
 * divided by the number of servers, and each server admits only within its own share, so the sum over all servers stays
 * within the limit. When a counted slot is released, the shares of all servers grow by the same amount, unless other
 * servers still reach Redis: a server that alone lost it adds at most its share.
 */
export class LocalBudget {
  /** Slots of all servers that Redis listed, or that were in use when the outage was confirmed. */
  readonly #counted = new SlotSet();
  /** Further slots that the latest decisions of Redis counted without naming their holders. */
  readonly #unnamedBy = new Map<string, number>();
  #unnamed = 0;
  /** Admitted by this server during the outage. */
  #own = new SlotSet();
  /** Null while Redis decides. */
  #servers: number | null = null;
  /** Other servers reach Redis, which gives them what is released: the shares do not grow. */
  #isPartial = false;

  /** All slots, as Redis lists them. Own slots are kept: the list may be older than they are. */
  observe({ slots, isOwn }: Snapshot): void {
    if (this.#servers !== null) return;
    this.#counted.keep(isOwn);
    for (const slot of slots) this.#counted.add(slot);
    this.#clearUnnamed();
  }

  /** A decision of Redis, newer than the last snapshot. */
  decided(slot: Slot, isAdmitted: boolean, usage: Usage): void {
    const { organizationId } = slot;
    if (isAdmitted) this.#counted.add(slot);
    this.#unnamedBy.set(
      organizationId,
      Math.max(0, usage.organization - this.#counted.countOf(organizationId)),
    );
    this.#unnamed = Math.max(0, usage.global - this.#counted.size);
  }

  /** The slot is free, whichever server admitted it. */
  released(executionId: string): void {
    if (!this.#isPartial) this.#counted.delete(executionId);
    this.#own.delete(executionId);
  }

  /** Fixes the shares, once per outage. `slots`: all executions of the state store, and what other servers hold. */
  cut(
    slots: readonly Slot[],
    { servers, isPartial }: { readonly servers: number; readonly isPartial: boolean },
  ): void {
    this.#servers = Math.max(1, servers);
    this.#isPartial = isPartial;
    for (const slot of slots) this.#count(slot);
  }

  /**
   * All unfinished executions and what other servers report, during the outage. `keepsUnlisted`: other slots are those of
   * requests whose servers do not report; after a lease they would have expired in Redis as well.
   */
  refresh({ slots, isOwn }: Snapshot, keepsUnlisted: boolean): void {
    const listed = new Set(slots.map(({ executionId }) => executionId));
    const isThere = (executionId: string): boolean => listed.has(executionId) || isOwn(executionId);
    this.#own.keep(isThere);
    for (const slot of slots) if ((this.#unnamedBy.get(slot.organizationId) ?? 0) > 0) this.#count(slot);
    if (keepsUnlisted || this.#isPartial) return;
    this.#counted.keep(isThere);
    this.#clearUnnamed();
  }

  /** Redis decides again and has every slot that was admitted meanwhile. */
  end(): void {
    this.#servers = null;
    this.#isPartial = false;
    for (const slot of this.#own.values()) this.#counted.add(slot);
    this.#own = new SlotSet();
  }

  decide(slot: Slot, limits: Limits): Verdict {
    const { organizationId, executionId } = slot;
    const { organizationLimit, globalLimit } = limits;
    const servers = this.#servers ?? 1;
    const isHeld = this.#counted.has(executionId) || this.#own.has(executionId);
    const limitedBy = limitReached({
      organization: this.#own.countOf(organizationId),
      organizationLimit: shareOf(organizationLimit - this.#countedOf(organizationId), servers),
      global: this.#own.size,
      globalLimit: shareOf(globalLimit - this.#counted.size - this.#unnamed, servers),
    });
    if (!isHeld && !limitedBy) this.#own.add(slot);
    const usage = this.usage(organizationId, limits);
    if (isHeld || !limitedBy) return { kind: 'admitted', usage };
    // The rest of the limit belongs to the other servers: to callers of this one it is used.
    const full =
      limitedBy === 'organization'
        ? { organization: Math.max(usage.organization, organizationLimit) }
        : { global: Math.max(usage.global, globalLimit) };
    return { kind: 'rejected', limitedBy, usage: { ...usage, ...full } };
  }

  usage(organizationId: string, { organizationLimit, globalLimit }: Limits): Usage {
    return {
      organization: this.#countedOf(organizationId) + this.#own.countOf(organizationId),
      organizationLimit,
      global: this.#counted.size + this.#unnamed + this.#own.size,
      globalLimit,
    };
  }

  #count(slot: Slot): void {
    if (this.#counted.has(slot.executionId) || this.#own.has(slot.executionId)) return;
    this.#counted.add(slot);
    const unnamed = this.#unnamedBy.get(slot.organizationId) ?? 0;
    if (unnamed > 0) this.#unnamedBy.set(slot.organizationId, unnamed - 1);
    this.#unnamed = Math.max(0, this.#unnamed - 1);
  }

  #countedOf(organizationId: string): number {
    return this.#counted.countOf(organizationId) + (this.#unnamedBy.get(organizationId) ?? 0);
  }

  #clearUnnamed(): void {
    this.#unnamedBy.clear();
    this.#unnamed = 0;
  }
}
