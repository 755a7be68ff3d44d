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

/** The one method every domain may use. Resolves when the row is durable; callers on a hot path need not wait. */
export interface LedgerRecorder {
  record(degradation: Degradation): Promise<void>;
}

export interface LedgerEntry extends Required<Degradation> {
  readonly id: string;
  readonly count: number;
  readonly firstSeenAt: Date;
  readonly lastSeenAt: Date;
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

export interface LedgerStore {
  /** Upserts open rows: one per kind and subject, counts added up. All or nothing. */
  record(
    entries: readonly (Required<Degradation> & { readonly count: number; readonly seenAt: Date })[],
  ): Promise<void>;
  list(filter: LedgerFilter): Promise<readonly LedgerEntry[]>;
  get(id: string): Promise<LedgerEntry | null>;
  /** Open rows whose repair is due, oldest first. */
  due(kinds: readonly string[], now: Date, limit: number): Promise<readonly LedgerEntry[]>;
  counts(): Promise<readonly { readonly kind: string; readonly open: number; readonly repaired: number }[]>;
  /**
   * Closes the row if it has not been seen again since `seenUpTo`. False when it was seen again or is closed:
   * a repair that raced with a new failure does not hide it.
   */
  markRepaired(id: string, how: string, at: Date, seenUpTo: Date): Promise<boolean>;
  markRepairFailed(id: string, error: string, nextRepairAt: Date): Promise<void>;
  /** Deletes rows repaired before `before`, at most `limit`; how many went. */
  purge(before: Date, limit: number): Promise<number>;
}

/** `repaired`: it is as if it had never failed. `gone`: the subject is no more. `still-broken`: try again later. */
export type RepairOutcome =
  { readonly outcome: 'repaired' | 'gone' } | { readonly outcome: 'still-broken'; readonly reason: string };

/** Must be idempotent: it may run twice, or after the thing was repaired otherwise. */
export type Repair = (entry: LedgerEntry, signal: AbortSignal) => Promise<RepairOutcome>;
