// What this process may admit by itself while Redis is away.
//
// It knows what was in use when Redis last decided (by its last counts, and by the state store, which is asked at that
// moment), and how many servers there were. What was free then is shared evenly among them, and these shares stay as
// they are for as long as it lasts: what one admits takes nothing from the others, and what a server sees of the others
// late gives it nothing. A slot that becomes free goes to whose share it was of, or is shared itself if it was taken
// before. Where less than one a server is free, each may take one, as long as it sees that nobody else did: nobody is
// shut out because a store is away that admission could do without.
//
// Servers that lose Redis at the same time so exceed a limit by one for each further server at most. One that loses it
// alone may add its share to what Redis, which never hears of that, admits for the others.
import type { Slot, SlotLayer, Usage } from '../ports.ts';
import { SlotCount } from './slot-count.ts';

export interface BudgetLimits {
  readonly organizationLimit: number;
  readonly globalLimit: number;
}

export type LocalDecision =
  | { readonly kind: 'admitted'; readonly usage: Usage }
  | { readonly kind: 'refused'; readonly layer: SlotLayer; readonly usage: Usage };

/** What was seen, and which of it need not be known to whoever was asked. */
export interface Sight {
  readonly slots: readonly Slot[];
  readonly isOurs: (executionId: string) => boolean;
}

export class LocalBudget {
  /** Everybody's slots when the store last decided. */
  #before = new SlotCount();
  /** More that the store counted then, without saying whose they are. */
  readonly #uncountedBy = new Map<string, number>();
  #uncounted = 0;
  /** Admitted here since the store went away. */
  #own = new SlotCount();
  /** Admitted by other servers since then. */
  #others = new SlotCount();
  #servers = 1;
  #isAway = false;
  /** Has nobody looked since the store went away? */
  #isUnseen = false;

  /** How many servers are alive, this one included. */
  servers(count: number): void {
    this.#servers = Math.max(1, count);
  }

  /** The store went away: shares are cut from what is free now. */
  lost(): void {
    this.#isAway = true;
    this.#isUnseen = true;
  }

  /** The store decides again, and was told everything. */
  back(): void {
    this.#isAway = false;
    for (const slot of [...this.#own.list(), ...this.#others.list()]) this.#before.add(slot);
    this.#own = new SlotCount();
    this.#others = new SlotCount();
  }

  /** Everybody's slots, while the store decides. What is ours is kept: whoever was asked may not know of it yet. */
  see({ slots, isOurs }: Sight): void {
    if (this.#isAway) return;
    const ours = this.#before.list().filter(({ executionId }) => isOurs(executionId));
    this.#before = new SlotCount();
    for (const slot of [...slots, ...ours]) this.#before.add(slot);
    this.#forgetUncounted();
  }

  /**
   * Executions under way, while the store is away. `isRecent`: slots that no execution has are those of requests that
   * other servers are reading.
   */
  seeExecutions({ slots, isOurs }: Sight, isRecent: boolean): void {
    const listed = new Set(slots.map(({ executionId }) => executionId));
    const isThere = (executionId: string): boolean => listed.has(executionId) || isOurs(executionId);
    this.#own.keep(isThere);
    this.#others.keep((executionId) => listed.has(executionId));
    if (!isRecent) {
      this.#before.keep(isThere);
      this.#forgetUncounted();
    }
    for (const slot of slots)
      if (!this.#before.has(slot.executionId) && !this.#own.has(slot.executionId)) this.#place(slot);
    this.#isUnseen = false;
  }

  /** A decision of the store: newer than what was seen. */
  decided(slot: Slot, isAdmitted: boolean, usage: Usage): void {
    const { organizationId } = slot;
    if (isAdmitted) this.#before.add(slot);
    this.#uncountedBy.set(organizationId, Math.max(0, usage.organization - this.#before.of(organizationId)));
    this.#uncounted = Math.max(0, usage.global - this.#before.size);
  }

  /** It is free again, whoever had admitted it. */
  freed(executionId: string): void {
    for (const slots of [this.#before, this.#own, this.#others]) slots.delete(executionId);
  }

  decide(slot: Slot, limits: BudgetLimits): LocalDecision {
    const { organizationId, executionId } = slot;
    const isHeld = this.#before.has(executionId) || this.#own.has(executionId);
    const mayOrganization = this.#isWithin(limits.organizationLimit, {
      before: this.#beforeOf(organizationId),
      own: this.#own.of(organizationId),
      others: this.#others.of(organizationId),
    });
    const mayAll = this.#isWithin(limits.globalLimit, {
      before: this.#before.size + this.#uncounted,
      own: this.#own.size,
      others: this.#others.size,
    });
    const isAdmitted = isHeld || (mayOrganization && mayAll);
    if (isAdmitted && !isHeld) this.#own.add(slot);
    const usage = this.usage(organizationId, limits);
    if (isAdmitted) return { kind: 'admitted', usage };
    // What is left is for the other servers: for this one it is used.
    if (!mayOrganization) {
      const organization = Math.max(usage.organization, usage.organizationLimit);
      return { kind: 'refused', layer: 'organization', usage: { ...usage, organization } };
    }
    const global = Math.max(usage.global, usage.globalLimit);
    return { kind: 'refused', layer: 'global', usage: { ...usage, global } };
  }

  usage(organizationId: string, { organizationLimit, globalLimit }: BudgetLimits): Usage {
    return {
      organization:
        this.#beforeOf(organizationId) + this.#own.of(organizationId) + this.#others.of(organizationId),
      organizationLimit,
      global: this.#before.size + this.#uncounted + this.#own.size + this.#others.size,
      globalLimit,
    };
  }

  #isWithin(limit: number, used: { readonly before: number; readonly own: number; readonly others: number }) {
    const free = limit - used.before;
    const share = Math.max(1, Math.floor(free / this.#servers));
    return used.own < share && used.own + used.others < free;
  }

  /** One that was not known: of before, if that was just now or one is missing there; else another server's. */
  #place(slot: Slot): void {
    const uncounted = this.#uncountedBy.get(slot.organizationId) ?? 0;
    if (uncounted > 0) this.#uncountedBy.set(slot.organizationId, uncounted - 1);
    if (uncounted > 0 || this.#isUnseen) {
      this.#before.add(slot);
      this.#uncounted = Math.max(0, this.#uncounted - 1);
    } else this.#others.add(slot);
  }

  #beforeOf(organizationId: string): number {
    return this.#before.of(organizationId) + (this.#uncountedBy.get(organizationId) ?? 0);
  }

  #forgetUncounted(): void {
    this.#uncountedBy.clear();
    this.#uncounted = 0;
  }
}
