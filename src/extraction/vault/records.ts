// What can be read of a vault. Times are epoch milliseconds.
import type { SessionStatus, TypeStatus } from '../ports.ts';

export interface SessionRecord {
  /** 1 is the first; what people type. */
  readonly number: number;
  readonly id: string;
  readonly source: string;
  readonly status: SessionStatus;
  readonly startedAt: number;
  readonly finishedAt: number | null;
  readonly totalItems: number;
  readonly totalCalls: number;
  readonly errors: number;
  /** Null when sequential. */
  readonly workerCount: number | null;
  readonly throughputItemsPerSecond: number | null;
}

/** A type as the newest session that asked for it left it. */
export interface TypeRecord {
  readonly type: string;
  readonly live: number;
  readonly deleted: number;
  /** Of the live items' data. */
  readonly bytes: number;
  /** Number of the newest session that asked for the type. */
  readonly session: number;
  readonly status: TypeStatus;
  readonly scope: string | null;
  /** Why it is incomplete. */
  readonly reason: string | null;
  /** What the source says there is; null when it does not say. */
  readonly expectedTotal: number | null;
  readonly itemsSeen: number;
  readonly duplicates: number;
  readonly completedAt: number | null;
}

export interface ItemRecord {
  readonly type: string;
  readonly id: string;
  readonly name: string | null;
  readonly owner: string | null;
  readonly folder: string | null;
  readonly createdAt: number | null;
  readonly updatedAt: number | null;
  /** When it was last seen. */
  readonly syncedAt: number;
  readonly deletedAt: number | null;
  readonly size: number;
  /** 16 hexadecimal digits. */
  readonly hash: string;
  /** How many are kept; one that says that it was gone is among them. */
  readonly versions: number;
}

export interface VersionRecord {
  /** 1 is the first. */
  readonly number: number;
  /** Number of the session that saw it first. */
  readonly session: number;
  readonly firstSeenAt: number;
  /** Null for a version that says that the item was gone. */
  readonly size: number | null;
  readonly hash: string | null;
}

export interface DeadLetter {
  readonly session: number;
  readonly type: string;
  readonly pageKey: string;
  readonly cause: string;
  readonly message: string;
  readonly at: number;
  /** When the page came after all. */
  readonly resolvedAt: number | null;
}
