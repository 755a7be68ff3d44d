// What admission offers, and what it needs: a store of slots, a store of limits, and a view of executions.

/** Who holds a slot: an execution of an organization. The execution's id is the member in both sorted sets. */
export interface Slot {
  readonly organizationId: string;
  readonly executionId: string;
}

export interface Usage {
  readonly organization: number;
  readonly organizationLimit: number;
  readonly global: number;
  readonly globalLimit: number;
}

export type SlotLayer = 'organization' | 'global';

export interface AcquireRequest extends Slot {
  /**
   * The organization's limit as the limit store has it, with the token that came with `limit-unknown`. It decides this
   * call and is cached only if no limit changed since the token was given: a stale value cannot come back. Absent: the
   * cached limit decides.
   */
  readonly limit?: { readonly value: number; readonly token: string };
  readonly globalLimit: number;
}

/**
 * `limit-unknown`: no limit is cached (or the token is old); read it and ask again with this token.
 * `unrestored`: the store is new or lost everything; `restore` first, nothing is admitted before.
 * An execution that holds a slot already is admitted again without a second one.
 * With both layers full the organization's is named.
 */
export type Acquired =
  | { readonly kind: 'admitted'; readonly usage: Usage }
  | { readonly kind: 'refused'; readonly layer: SlotLayer; readonly usage: Usage }
  | { readonly kind: 'limit-unknown'; readonly token: string }
  | { readonly kind: 'unrestored' };

export interface HeldSlot extends Slot {
  /** When it was taken or last renewed, by the store's clock. */
  readonly renewedAt: Date;
}

/**
 * Slots and cached limits. Each call is atomic and takes one round trip. Times are the store's own. A slot that is not
 * renewed for a lease is free; expired ones are swept before they could refuse anybody, and are never counted.
 * Fails with REDIS_UNAVAILABLE when the store is away; a call that failed may have been carried out.
 */
export interface SlotStore {
  acquire(request: AcquireRequest): Promise<Acquired>;
  /** Gives each a new lease, also those that were missing; the ids of those that were. */
  renew(slots: readonly Slot[]): Promise<readonly string[]>;
  /** False when it was not held. */
  release(slot: Slot): Promise<boolean>;
  /** Takes these slots without asking for limits, and lets others be admitted from now on. Was the store empty before? */
  restore(slots: readonly Slot[]): Promise<{ readonly wasEmpty: boolean }>;
  /** Everything that is held, expired ones left out. */
  holders(): Promise<readonly HeldSlot[]>;
  /** How many each holds, and all together. */
  usage(
    organizationIds: readonly string[],
  ): Promise<{ readonly global: number; readonly organizations: ReadonlyMap<string, number> }>;
  /** What is cached, without refreshing it. */
  cachedLimits(organizationIds: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /** Forgets cached limits, and every reading of a limit that is under way; how many were cached. */
  forgetLimits(organizationIds: readonly string[] | 'all'): Promise<number>;
  /** Says that this server is alive; how many are, itself included. */
  heartbeat(serverId: string): Promise<number>;
}

export interface OrganizationLimit {
  readonly id: string;
  readonly organizationId: string;
  readonly concurrentRequestLimit: number;
  readonly createdAt: Date;
  readonly modifiedAt: Date;
}

/** The table `organization_rate_limits`. */
export interface LimitStore {
  get(organizationId: string): Promise<OrganizationLimit | null>;
  /** By time of creation. */
  list(): Promise<readonly OrganizationLimit[]>;
  set(
    organizationId: string,
    limit: number,
    at: Date,
  ): Promise<{ readonly limit: OrganizationLimit; readonly isNew: boolean }>;
  /** What was removed; null when there was none. */
  remove(organizationId: string): Promise<OrganizationLimit | null>;
}

/** What admission must know of executions; deployments has them, the composition root plugs it in. */
export interface ExecutionsView {
  /** Accepted and not ended: each must hold a slot. */
  unfinished(): Promise<readonly (Slot & { readonly acceptedAt: Date })[]>;
  /** Those of these ids that have ended: none may hold a slot. Unknown ids are not accepted yet, or never were. */
  ended(executionIds: readonly string[]): Promise<readonly string[]>;
}

/** A slot, and what for: slots of the same work are held about as long, which tells others when to come back. */
export interface SlotForWork extends Slot {
  /** Of any name; absent: whatever the organization does. */
  readonly work?: string;
}

export interface AdmitRequest extends SlotForWork {
  /** Longest wait for a slot; 0 answers at once. */
  readonly waitMs: number;
  readonly signal: AbortSignal;
}

export interface Admission {
  readonly usage: Usage;
  /** `local`: Redis was away, and this process decided by its own budget. */
  readonly decidedBy: 'store' | 'local';
}

/**
 * The door's keeper. Slots are renewed by this process from `admit` or `hold` on until `letGo` or `release`.
 * Exactly one of the two follows every admission: `letGo` when the execution was dispatched and whoever runs it holds
 * it from then on, `release` when nothing came of it or it has ended.
 */
export interface AdmissionGate {
  /** Fails with ADMISSION_ORG_LIMIT, ADMISSION_GLOBAL_LIMIT, ADMISSION_UNAVAILABLE, STATE_UNAVAILABLE, CANCELED. */
  admit(request: AdmitRequest): Promise<Admission>;
  /** This process runs the execution: keeps its slot alive. */
  hold(slot: SlotForWork): void;
  letGo(slot: Slot): void;
  /** Frees the slot. Never fails: what cannot be told to the store now runs out with its lease. */
  release(slot: Slot): Promise<void>;
}
