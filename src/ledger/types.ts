// Degradations, ledger entries and the store they are kept in.
import { CoreError, isUuid } from '../core/index.ts';

/** A fallback or unfinished work. Ids and classes only: operators see subjects and details. */
export interface Degradation {
  /** `domain.what`, for example `knowledge.embedding-missing`. */
  readonly kind: string;
  /** What it happened to. `kind` and `subject` identify the row: a repetition increments its count. */
  readonly subject: string;
  /** The error's class or code. */
  readonly cause: string;
  /** One sentence for a person. */
  readonly message: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

/**
 * Resolves when the row is durable, which takes as long as the store is unavailable: await it only where the row must
 * exist before the next step. Rejects when the row was lost; an ignored rejection is not reported. Never throws.
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
  /** `repair`, `gone`, or the sentence of the person who closed it. */
  readonly repairedHow: string | null;
  readonly repairAttempts: number;
  /** Background repair skips it until then. */
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
  /** Newest first (by id). Default: open rows, at most 100. */
  list(filter: LedgerFilter): Promise<readonly LedgerEntry[]>;
  get(id: string): Promise<LedgerEntry | null>;
  /** Open rows of these kinds whose repair is due, longest due first. */
  due(kinds: readonly string[], now: Date, limit: number): Promise<readonly LedgerEntry[]>;
  /** By kind, sorted by name. */
  counts(): Promise<readonly LedgerCount[]>;
  /**
   * Closes the row if its count is still `seenCount`. False when it was seen again or is closed: a repair that raced
   * with a new failure does not hide it. (Not by time: two failures can share a millisecond, and clocks differ.)
   */
  markRepaired(id: string, how: string, at: Date, seenCount: number): Promise<boolean>;
  /** Counts one more failed repair. A closed row is not changed. */
  markRepairFailed(id: string, error: string, nextRepairAt: Date): Promise<void>;
  /** Deletes up to `limit` rows that were repaired before `before`, and returns how many. */
  purge(before: Date, limit: number): Promise<number>;
}

/** `repaired`: as if it had never failed. `gone`: the subject no longer exists. `still-broken`: retry later. */
export type RepairOutcome =
  | { readonly outcome: 'repaired' | 'gone' }
  | { readonly outcome: 'still-broken'; readonly reason: string };

/** Must be idempotent: it may run twice, or after the subject was repaired in another way. */
export type Repair = (entry: LedgerEntry, signal: AbortSignal) => Promise<RepairOutcome>;

export const rowKey = (row: { readonly kind: string; readonly subject: string }): string =>
  `${row.kind}\0${row.subject}`;

/** Adds the counts; the newest occurrence provides the cause. */
export function mergeSeen(earlier: SeenDegradation, later: SeenDegradation): SeenDegradation {
  const newest = later.lastSeenAt < earlier.lastSeenAt ? earlier : later;
  const firstSeenAt = later.firstSeenAt < earlier.firstSeenAt ? later.firstSeenAt : earlier.firstSeenAt;
  return { ...newest, firstSeenAt, count: earlier.count + later.count };
}

/** One occurrence per row, in order of first appearance. */
export function mergeRows(seen: readonly SeenDegradation[]): readonly SeenDegradation[] {
  const rows = new Map<string, SeenDegradation>();
  for (const row of seen) {
    const earlier = rows.get(rowKey(row));
    rows.set(rowKey(row), earlier ? mergeSeen(earlier, row) : row);
  }
  return [...rows.values()];
}

/** The filter with its defaults. A cursor that is not an id fails with INPUT_INVALID. */
export function completeFilter(filter: LedgerFilter): LedgerFilter & { state: string; limit: number } {
  if (filter.after !== undefined && !isUuid(filter.after))
    throw new CoreError(
      'INPUT_INVALID',
      `"${filter.after}" is not the id of a ledger row: continue after one that was listed.`,
    );
  return { ...filter, state: filter.state ?? 'open', limit: filter.limit ?? 100 };
}
