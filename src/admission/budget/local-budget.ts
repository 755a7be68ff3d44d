// What this process may admit by itself while Redis is away.
//
// It knows who held slots when that was last seen (in Redis, or, while Redis is away, in the state store), and how
// many servers there were. What was free then is shared evenly among them: together they do not exceed a limit. Where
// less than one slot a server is free, each takes one: at most one too many for each further server, but nobody is
// shut out because a store is away that admission could do without.
import type { Slot, SlotLayer, Usage } from '../ports.ts';

export interface BudgetLimits {
  readonly organizationLimit: number;
  readonly globalLimit: number;
}

export type LocalDecision =
  | { readonly kind: 'admitted'; readonly usage: Usage }
  | { readonly kind: 'refused'; readonly layer: SlotLayer; readonly usage: Usage };

export class LocalBudget {
  /** Everybody's slots as last seen, by execution. */
  #seen = new Map<string, string>();
  #seenBy = new Map<string, number>();
  /** Admitted here since then, by execution. */
  #own = new Map<string, string>();
  #ownBy = new Map<string, number>();
  /** Slots of others that the store counted later on, without saying whose they are. */
  #unseenBy = new Map<string, number>();
  #unseen = 0;
  #servers = 1;

  /** How many servers are alive, this one included. */
  servers(count: number): void {
    this.#servers = Math.max(1, count);
  }

  /** Everybody's slots as just read. What is ours is kept: whoever was asked may not know of it yet. */
  see(slots: readonly Slot[], isOurs: (executionId: string) => boolean): void {
    const ours = [...this.#seen].filter(([executionId]) => isOurs(executionId));
    this.#seen = new Map(slots.map(({ executionId, organizationId }) => [executionId, organizationId]));
    for (const [executionId, organizationId] of ours) this.#seen.set(executionId, organizationId);
    this.#seenBy = counts(this.#seen.values());
    this.#own = new Map(
      [...this.#own].filter(([executionId]) => isOurs(executionId) && !this.#seen.has(executionId)),
    );
    this.#ownBy = counts(this.#own.values());
    this.#unseenBy.clear();
    this.#unseen = 0;
  }

  /** A decision of the store: newer than what was seen. */
  decided({ executionId, organizationId }: Slot, isAdmitted: boolean, usage: Usage): void {
    if (isAdmitted && !this.#seen.has(executionId)) {
      this.#seen.set(executionId, organizationId);
      add(this.#seenBy, organizationId, 1);
    }
    this.#unseenBy.set(
      organizationId,
      Math.max(0, usage.organization - (this.#seenBy.get(organizationId) ?? 0)),
    );
    this.#unseen = Math.max(0, usage.global - this.#seen.size);
  }

  /** It is free again, whoever had admitted it. */
  freed(executionId: string): void {
    take(this.#seen, this.#seenBy, executionId);
    take(this.#own, this.#ownBy, executionId);
  }

  decide(slot: Slot, limits: BudgetLimits): LocalDecision {
    const { organizationId, executionId } = slot;
    const isHeld = this.#seen.has(executionId) || this.#own.has(executionId);
    const ownOfIt = this.#ownBy.get(organizationId) ?? 0;
    const mayOrganization = ownOfIt < this.#share(limits.organizationLimit - this.#seenOf(organizationId));
    const mayAll = this.#own.size < this.#share(limits.globalLimit - this.#seen.size - this.#unseen);
    if (!isHeld && mayOrganization && mayAll) {
      this.#own.set(executionId, organizationId);
      add(this.#ownBy, organizationId, 1);
    }
    const usage = this.usage(organizationId, limits);
    if (isHeld || (mayOrganization && mayAll)) return { kind: 'admitted', usage };
    return { kind: 'refused', layer: mayOrganization ? 'global' : 'organization', usage };
  }

  usage(organizationId: string, { organizationLimit, globalLimit }: BudgetLimits): Usage {
    return {
      organization: this.#seenOf(organizationId) + (this.#ownBy.get(organizationId) ?? 0),
      organizationLimit,
      global: this.#seen.size + this.#unseen + this.#own.size,
      globalLimit,
    };
  }

  #seenOf(organizationId: string): number {
    return (this.#seenBy.get(organizationId) ?? 0) + (this.#unseenBy.get(organizationId) ?? 0);
  }

  #share(free: number): number {
    return free <= 0 ? 0 : Math.max(1, Math.floor(free / this.#servers));
  }
}

function counts(organizationIds: Iterable<string>): Map<string, number> {
  const by = new Map<string, number>();
  for (const organizationId of organizationIds) add(by, organizationId, 1);
  return by;
}

function add(by: Map<string, number>, organizationId: string, change: number): void {
  const count = (by.get(organizationId) ?? 0) + change;
  if (count > 0) by.set(organizationId, count);
  else by.delete(organizationId);
}

function take(slots: Map<string, string>, by: Map<string, number>, executionId: string): void {
  const organizationId = slots.get(executionId);
  if (organizationId === undefined) return;
  slots.delete(executionId);
  add(by, organizationId, -1);
}
