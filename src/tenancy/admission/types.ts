// Slots, their store, limits, and the executions that hold slots.
import type { Clock, Emitter } from '../../core/index.ts';
import type { LedgerRecorder } from '../../ledger/index.ts';
import type { AdmissionOptions } from '../options.ts';
import type { AdmissionEvents } from '../events.ts';

/** A slot is held by one execution of an organization. The execution id is the member of both sorted sets. */
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

export type LimitScope = 'organization' | 'global';

export interface SlotRequest extends Slot {
  /**
   * The organization's limit as read from the limit store, with the token of the `limit-unknown` decision that
   * requested it. It decides this call, and is cached only if no limit changed since the token was issued, so that a stale
   * value is not cached again. Without it the cached limit decides.
   */
  readonly limit?: { readonly value: number; readonly token: string } | undefined;
  readonly globalLimit: number;
}

/** Which limit rejected a request, and what was counted then. */
export interface Rejection {
  readonly limitedBy: LimitScope;
  readonly usage: Usage;
}

/**
 * `limit-unknown`: no limit is cached (or the token is outdated); read it and call again with this token.
 * `not-restored`: the store is new or lost its data; call `restore` first, nothing is admitted before.
 * An execution that already holds a slot is admitted again without a second one.
 * When both limits are reached, `limitedBy` is the organization.
 */
export type SlotDecision =
  | { readonly kind: 'admitted'; readonly usage: Usage }
  | ({ readonly kind: 'rejected' } & Rejection)
  | { readonly kind: 'limit-unknown'; readonly token: string }
  | { readonly kind: 'not-restored' };

/** A decision about a request that needs no further call. */
export type Verdict = Extract<SlotDecision, { readonly usage: Usage }>;

/** A verdict, and how it was reached. */
export interface Decision {
  readonly verdict: Verdict;
  readonly decider: 'store' | 'local';
  /** Whether the limit was cached; null when the store did not decide. */
  readonly isCached: boolean | null;
  readonly decisionMs: number;
}

export interface SlotCounts {
  readonly global: number;
  readonly organizations: ReadonlyMap<string, number>;
}

/**
 * Slots and cached limits. Each call is atomic and takes one round trip. Times are the store's own. A slot that is not
 * renewed within a lease is free; expired slots are removed before they could reject a request, and are never counted.
 * Fails with REDIS_UNAVAILABLE when the store cannot be reached; a call that failed may have been executed.
 */
export interface SlotStore {
  acquire(request: SlotRequest): Promise<SlotDecision>;
  /** False when the slot was not held. */
  release(slot: Slot): Promise<boolean>;
  /** Extends the lease of each slot and re-creates missing ones; returns the ids of those that were missing. */
  renew(slots: readonly Slot[]): Promise<readonly string[]>;
  /**
   * Creates these slots regardless of limits. A store that has lost its data allows admissions again when all servers of
   * `awaited` have restored theirs; without `peers`, at once.
   */
  restore(slots: readonly Slot[], peers?: RestoringPeers): Promise<RestoreResult>;
  /** All slots that are held, without expired ones. */
  holders(): Promise<readonly Slot[]>;
  usage(organizationIds: readonly string[]): Promise<SlotCounts>;
  /** Cached limits, without extending their TTL. */
  cachedLimits(organizationIds: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /** Deletes cached limits and outdates every token issued so far; returns how many were cached. */
  invalidateLimits(organizationIds: readonly string[] | 'all'): Promise<number>;
  /**
   * Records that this server is alive; returns how many servers are, including this one. Null when the store has lost its
   * data: call `restore`.
   */
  heartbeat(serverId: string): Promise<number | null>;
}

/** The servers that share a store which may have lost its data. */
export interface RestoringPeers {
  /** The server that restores its slots with this call; null for a process that accepts no requests. */
  readonly serverId: string | null;
  /** Servers that reach the store and must restore their slots before a request is admitted. */
  readonly awaited: readonly string[];
  /** Servers without Redis: their slots are created and renewed for them, unless a heartbeat shows that they reach it again. */
  readonly unreachable: readonly { readonly serverId: string; readonly slots: readonly Slot[] }[];
}

export interface RestoreResult {
  /** The store had lost its data. */
  readonly wasEmpty: boolean;
  /** The store admits requests. */
  readonly isComplete: boolean;
}

/** What a server reports about itself in the state store, for the other servers while Redis cannot provide it. */
export interface ServerReport {
  readonly serverId: string;
  /** Grows with every report; an older report does not replace a newer one. */
  readonly number: number;
  /** How often Redis has replied to a heartbeat of this server. */
  readonly heartbeats: number;
  /** All slots this server holds; those of requests whose body it is receiving are in no other place. */
  readonly slots: readonly Slot[];
  /** It has confirmed an outage: no further slot comes from Redis. */
  readonly isDown: boolean;
  /** The servers between which it divided the limits; null while it decides nothing by itself. */
  readonly sharedWith: readonly string[] | null;
}

/** Servers that are alive, in the state store. A server without a report for a lease counts as ended. */
export interface ServerRegistry {
  report(report: ServerReport): Promise<void>;
  list(): Promise<readonly ServerReport[]>;
  remove(serverId: string): Promise<void>;
}

/**
 * `pong`: the store replies and accepts writes. `refused`: nothing listens at its address. `failed`: the connection
 * broke, or the store replied with an error (loading, out of memory, read-only).
 */
export type ProbeResult =
  | { readonly kind: 'pong' }
  | { readonly kind: 'refused' | 'failed'; readonly error: Error };

/** Checks the store on a connection of its own. Stays pending for as long as the store does not reply. */
export interface StoreProbe {
  ping(): Promise<ProbeResult>;
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
  /** Oldest first. */
  list(): Promise<readonly OrganizationLimit[]>;
  set(
    organizationId: string,
    limit: number,
    at: Date,
  ): Promise<{ readonly limit: OrganizationLimit; readonly isNew: boolean }>;
  /** The deleted limit; null when there was none. */
  delete(organizationId: string): Promise<OrganizationLimit | null>;
}

/** Executions as far as admission needs them. One implementation: the store of executions, outside of admission. */
export interface ExecutionIndex {
  /** Accepted and not ended: each must hold a slot. */
  unfinished(): Promise<readonly (Slot & { readonly acceptedAt: Date })[]>;
  /** Those of these ids that have ended: none may hold a slot. Unknown ids may not be accepted yet. */
  ended(executionIds: readonly string[]): Promise<readonly string[]>;
}

/** A slot and the workload it is for, from which Retry-After is estimated: equal workloads hold slots about equally long. */
export interface WorkloadSlot extends Slot {
  /** For example a deployment id. Default: the organization. */
  readonly workload?: string | undefined;
}

export interface AcquireOptions extends WorkloadSlot {
  /** Longest time in the queue for a slot; 0 returns at once. */
  readonly waitMs: number;
  readonly signal: AbortSignal;
}

export interface AdmissionDeps {
  readonly clock: Clock;
  readonly events: Emitter<AdmissionEvents>;
  readonly ledger: LedgerRecorder;
  readonly slots: SlotStore;
  /** Absent when the slots are in this process and cannot be lost. */
  readonly probe?: StoreProbe | undefined;
  readonly limits: LimitStore;
  readonly executions: ExecutionIndex;
  /** Absent when no state store is shared with other servers; they are then known from the slot store only. */
  readonly servers?: ServerRegistry | undefined;
  readonly options: AdmissionOptions;
  /** New with every start. Null for a process that accepts no requests: it has no share of a limit while Redis is down. */
  readonly serverId: string | null;
  /** Where the slots are, for messages: the address of Redis. */
  readonly storeName: string;
  /** False in a process beside the one server that counts slots in its own memory. */
  readonly countsSlots: boolean;
  /** Ends an execution that has held its slot for as long as it may, which releases the slot. */
  readonly endOverdue: (slot: Slot) => Promise<void>;
  /** Called when Redis decides again after a confirmed outage. */
  readonly onOutageEnded?: (() => void) | undefined;
  /** Throws when nothing can be accepted at all, for example because the state store is down. */
  readonly checkReady: () => void;
}
