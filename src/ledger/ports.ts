// What the ledger offers to other domains, and what it needs of a store.

/** Something fell back or stayed undone. Ids and classes only: subjects and details are shown to operators. */
export interface Degradation {
  /** `domain.what`, for example `knowledge.embedding-missing`. */
  readonly kind: string;
  /** What it happened to; with `kind` it names the row: the same again is counted, not added. */
  readonly subject: string;
  /** The error's class or code. */
  readonly cause: string;
  /** One sentence for a person. */
  readonly message: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

/**
 * The one method every domain may use. Resolves when the row is durable, which takes as long as the store is away:
 * wait for it only where the row must exist before the next step. Rejects when the row could not be kept; a promise
 * that nobody looks at does no harm. Never throws.
 */
export interface LedgerRecorder {
  record(degradation: Degradation): Promise<void>;
}

/** A degradation and how often it was seen. */
export interface SeenDegradation extends Required<Degradation> {
  readonly count: number;
  readonly firstSeenAt: Date;
  readonly lastSeenAt: Date;
}

export interface LedgerEntry extends SeenDegradation {
  readonly id: string;
  readonly repairedAt: Date | null;
  /** How it was repaired: `repair`, `gone`, or what a person said. */
  readonly repairedHow: string | null;
  readonly repairAttempts: number;
  /** Background repair does not touch it before this. */
  readonly nextRepairAt: Date | null;
  readonly lastRepairError: string | null;
}

export interface LedgerFilter {
  readonly state?: 'open' | 'repaired' | 'all';
  readonly kind?: string;
  readonly subject?: string;
  readonly limit?: number;
  /** Continue after this entry (its id). */
  readonly after?: string;
}

export interface LedgerCount {
  readonly kind: string;
  readonly open: number;
  readonly repaired: number;
}

export interface LedgerStore {
  /** Upserts open rows: one per kind and subject, counts added up; the newest cause and message win. All or nothing. */
  record(seen: readonly SeenDegradation[]): Promise<void>;
  /** Open rows unless told otherwise, newest row first (by id); 100 of them unless told otherwise. */
  list(filter: LedgerFilter): Promise<readonly LedgerEntry[]>;
  get(id: string): Promise<LedgerEntry | null>;
  /** Open rows of these kinds whose repair is due, those that have been due for longest first. */
  due(kinds: readonly string[], now: Date, limit: number): Promise<readonly LedgerEntry[]>;
  /** By kind, in the order of their names. */
  counts(): Promise<readonly LedgerCount[]>;
  /**
   * Closes the row if its count is still `seenCount`. False when it was seen again or is closed: a repair that raced
   * with a new failure does not hide it. (Not by time: two failures can share a millisecond, and machines disagree.)
   */
  markRepaired(id: string, how: string, at: Date, seenCount: number): Promise<boolean>;
  /** Counts one more try that did not help. Nothing happens to a row that is closed. */
  markRepairFailed(id: string, error: string, nextRepairAt: Date): Promise<void>;
  /** Deletes rows repaired before `before`, at most `limit`; how many went. */
  purge(before: Date, limit: number): Promise<number>;
}

/** `repaired`: it is as if it had never failed. `gone`: the subject is no more. `still-broken`: try again later. */
export type RepairOutcome =
  | { readonly outcome: 'repaired' | 'gone' }
  | { readonly outcome: 'still-broken'; readonly reason: string };

/** Must be idempotent: it may run twice, or after the thing was repaired otherwise. */
export type Repair = (entry: LedgerEntry, signal: AbortSignal) => Promise<RepairOutcome>;
