// Rows of a vault as records.
import type { DeadLetter, ItemRecord, SessionRecord, TypeRecord, VersionRecord } from '../records.ts';

export type Row = Readonly<Record<string, unknown>>;

const text = (value: unknown): string | null => (typeof value === 'string' ? value : null);
const count = (value: unknown): number | null =>
  typeof value === 'number' || typeof value === 'bigint' ? Number(value) : null;

/** 16 hexadecimal digits of a hash as SQLite keeps it. */
export const hashText = (hash: unknown): string =>
  BigInt.asUintN(64, hash as bigint)
    .toString(16)
    .padStart(16, '0');

export const toSession = (row: Row): SessionRecord => ({
  number: Number(row['number']),
  id: String(row['id']),
  source: String(row['source']),
  status: row['status'] as SessionRecord['status'],
  startedAt: Number(row['started_at']),
  finishedAt: count(row['finished_at']),
  totalItems: Number(row['total_items']),
  totalCalls: Number(row['total_calls']),
  errors: Number(row['errors']),
  workerCount: count(row['worker_count']),
  throughputItemsPerSecond: count(row['throughput_items_per_second']),
});

export const toType = (row: Row): TypeRecord => ({
  type: String(row['type']),
  live: Number(row['live']),
  deleted: Number(row['deleted']),
  bytes: Number(row['bytes']),
  session: Number(row['session']),
  status: row['status'] as TypeRecord['status'],
  scope: text(row['scope']),
  reason: text(row['reason']),
  expectedTotal: count(row['expected_total']),
  itemsSeen: Number(row['items_seen']),
  duplicates: Number(row['duplicates']),
  completedAt: count(row['completed_at']),
});

export const toItem = (row: Row): ItemRecord => ({
  type: String(row['type']),
  id: String(row['id']),
  name: text(row['name']),
  owner: text(row['owner']),
  folder: text(row['folder']),
  createdAt: count(row['created_at']),
  updatedAt: count(row['updated_at']),
  syncedAt: Number(row['synced_at']),
  deletedAt: count(row['deleted_at']),
  size: Number(row['size']),
  hash: hashText(row['hash']),
  versions: Number(row['versions']),
});

export const toVersion = (row: Row): VersionRecord => ({
  number: Number(row['number']),
  session: Number(row['session']),
  firstSeenAt: Number(row['first_seen_at']),
  size: count(row['size']),
  hash: row['hash'] === null ? null : hashText(row['hash']),
});

export const toDeadLetter = (row: Row): DeadLetter => ({
  session: Number(row['session']),
  type: String(row['type']),
  pageKey: String(row['page_key']),
  cause: String(row['cause']),
  message: String(row['message']),
  at: Number(row['at']),
  resolvedAt: count(row['resolved_at']),
});
