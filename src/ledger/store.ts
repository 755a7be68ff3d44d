// Degradations, ledger entries, and their store in PostgreSQL: the index ledger_entries_open allows one open row per kind
// and subject.
import type { IdSource } from '../core/index.ts';
import { isUuid, CoreError } from '../core/index.ts';
import type { Queryable } from '../platform/postgres/ports.ts';
import type { Sql } from '../platform/postgres/sql.ts';
import { joinSql, json, sql } from '../platform/postgres/sql.ts';

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
  readonly resolvedAt: Date | null;
  /** `repair`, `gone`, or the text of the person who resolved it. */
  readonly resolution: string | null;
  readonly repairAttempts: number;
  /** Background repair skips it until then. */
  readonly nextRepairAt: Date | null;
  readonly lastRepairError: string | null;
}

export interface LedgerFilter {
  readonly state?: 'open' | 'resolved' | 'all';
  readonly kind?: string;
  readonly subject?: string;
  readonly limit?: number;
  /** Continue after this entry (its id). */
  readonly after?: string;
}

export interface LedgerCount {
  readonly kind: string;
  readonly open: number;
  readonly resolved: number;
}

export interface LedgerStore {
  /** Upserts open rows: one per kind and subject, counts added up; the newest cause and message win. All or nothing. */
  record(seen: readonly SeenDegradation[]): Promise<void>;
  /** Newest first (by id). Default: open rows, at most 100. */
  list(filter: LedgerFilter): Promise<readonly LedgerEntry[]>;
  get(id: string): Promise<LedgerEntry | null>;
  /** Open rows of these kinds whose repair is due, longest due first. */
  due(kinds: readonly string[], now: Date, limit: number): Promise<readonly LedgerEntry[]>;
  /** Counts by kind, sorted by name. */
  counts(): Promise<readonly LedgerCount[]>;
  /**
   * Resolves the row if its count is still `seenCount`. False when it was seen again or is resolved: a repair that raced
   * with a new failure does not hide it. (Not by time: two failures can share a millisecond, and clocks differ.)
   */
  markResolved(id: string, resolution: string, at: Date, seenCount: number): Promise<boolean>;
  /** Counts one more failed repair. A resolved row is not changed. */
  markRepairFailed(id: string, error: string, nextRepairAt: Date): Promise<void>;
  /** Deletes up to `limit` rows that were resolved before `before`, and returns how many. */
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

const columns = sql`
  id, kind, subject, cause, message, details, count,
  first_seen_at as "firstSeenAt", last_seen_at as "lastSeenAt",
  resolved_at as "resolvedAt", resolution as "resolution", repair_attempts as "repairAttempts",
  next_repair_at as "nextRepairAt", last_repair_error as "lastRepairError"`;

export class PostgresLedgerStore implements LedgerStore {
  readonly #database: Queryable;
  readonly #ids: IdSource;

  constructor(database: Queryable, ids: IdSource) {
    this.#database = database;
    this.#ids = ids;
  }

  async record(seen: readonly SeenDegradation[]): Promise<void> {
    if (seen.length === 0) return;
    const rows = mergeRows(seen).map((row) => ({ ...row, id: this.#ids.uuid() }));
    // Writers lock rows in one order, whatever the order of their batches: else two of them could deadlock.
    await this.#database.query(sql`
      insert into ledger_entries (id, kind, subject, cause, message, details, count, first_seen_at, last_seen_at)
      select id, kind, subject, cause, message, details, count, "firstSeenAt", "lastSeenAt"
      from jsonb_to_recordset(${json(rows)}::jsonb) as seen(
        id uuid, kind text, subject text, cause text, message text, details jsonb, count bigint,
        "firstSeenAt" timestamptz, "lastSeenAt" timestamptz)
      order by kind collate "C", subject collate "C"
      on conflict (kind, subject) where resolved_at is null do update set
        count = ledger_entries.count + excluded.count,
        first_seen_at = least(ledger_entries.first_seen_at, excluded.first_seen_at),
        last_seen_at = greatest(ledger_entries.last_seen_at, excluded.last_seen_at),
        cause = case when excluded.last_seen_at >= ledger_entries.last_seen_at
          then excluded.cause else ledger_entries.cause end,
        message = case when excluded.last_seen_at >= ledger_entries.last_seen_at
          then excluded.message else ledger_entries.message end,
        details = case when excluded.last_seen_at >= ledger_entries.last_seen_at
          then excluded.details else ledger_entries.details end`);
  }

  async list(filter: LedgerFilter): Promise<readonly LedgerEntry[]> {
    const { state, kind, subject, after, limit } = completeFilter(filter);
    const conditions: Sql[] = [sql`true`];
    if (state === 'open') conditions.push(sql`resolved_at is null`);
    if (state === 'resolved') conditions.push(sql`resolved_at is not null`);
    if (kind !== undefined) conditions.push(sql`kind = ${kind}`);
    if (subject !== undefined) conditions.push(sql`subject = ${subject}`);
    if (after !== undefined) conditions.push(sql`id < ${after}::uuid`);
    const { rows } = await this.#database.query<LedgerEntry>(sql`
      select ${columns} from ledger_entries
      where ${joinSql(conditions, sql` and `)} order by id desc limit ${limit}`);
    return rows;
  }

  async get(id: string): Promise<LedgerEntry | null> {
    if (!isUuid(id)) return null;
    const { rows } = await this.#database.query<LedgerEntry>(
      sql`select ${columns} from ledger_entries where id = ${id}::uuid`,
    );
    return rows[0] ?? null;
  }

  async due(kinds: readonly string[], now: Date, limit: number): Promise<readonly LedgerEntry[]> {
    const { rows } = await this.#database.query<LedgerEntry>(sql`
      select ${columns} from ledger_entries
      where resolved_at is null and kind = any(${kinds}::text[])
        and coalesce(next_repair_at, '-infinity') <= ${now}::timestamptz
      order by coalesce(next_repair_at, first_seen_at), id limit ${limit}`);
    return rows;
  }

  async counts(): Promise<readonly LedgerCount[]> {
    const { rows } = await this.#database.query<LedgerCount>(sql`
      select kind, count(*) filter (where resolved_at is null) as open,
        count(*) filter (where resolved_at is not null) as resolved
      from ledger_entries group by kind order by kind collate "C"`);
    return rows;
  }

  async markResolved(id: string, resolution: string, at: Date, seenCount: number): Promise<boolean> {
    if (!isUuid(id)) return false;
    const { affected } = await this.#database.query(sql`
      update ledger_entries set resolved_at = ${at}, resolution = ${resolution}, next_repair_at = null
      where id = ${id}::uuid and resolved_at is null and count = ${seenCount}`);
    return affected === 1;
  }

  async markRepairFailed(id: string, error: string, nextRepairAt: Date): Promise<void> {
    if (!isUuid(id)) return;
    await this.#database.query(sql`
      update ledger_entries set repair_attempts = repair_attempts + 1, last_repair_error = ${error},
        next_repair_at = ${nextRepairAt}
      where id = ${id}::uuid and resolved_at is null`);
  }

  async purge(before: Date, limit: number): Promise<number> {
    const { affected } = await this.#database.query(sql`
      delete from ledger_entries where id in (
        select id from ledger_entries where resolved_at < ${before} order by resolved_at limit ${limit})`);
    return affected;
  }
}

/** Ready to be handed to the metrics' `gauge`: name, help, labels, and the query of each scrape. */
export function openRowsGauge(store: Pick<LedgerStore, 'counts'>) {
  return {
    name: 'headworks_ledger_open_rows',
    help: 'Open rows of the ledger.',
    labels: ['kind'],
    collect: async () => (await store.counts()).map(({ kind, open }) => ({ labels: { kind }, value: open })),
  } as const;
}
