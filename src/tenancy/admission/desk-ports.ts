// Limits as people handle them, and what needs their attention.
import type { Usage } from './ports.ts';

/** `executions`: the store of slots is not reached, so that executions under way were counted in the state store. */
export interface LimitUsage extends Usage {
  readonly countedBy: 'slots' | 'executions';
}

export interface LimitView {
  readonly organizationId: string;
  /** Of the organization's own; null when it has none and the default counts. */
  readonly customLimit: number | null;
  readonly createdAt: Date | null;
  readonly modifiedAt: Date | null;
  /** What counts. */
  readonly limit: number;
  /** What servers remember; null when that is nothing, or not known. */
  readonly cachedLimit: number | null;
  /** False when what servers remember is not reached: Redis is away, or another process counts. */
  readonly isCacheKnown: boolean;
  /** Null when it was not asked for, or nobody could be asked. */
  readonly usage: LimitUsage | null;
}

export interface LimitDesk {
  readonly defaultLimit: number;
  readonly globalLimit: number;
  /** Counts at once, in all processes. Fails with INPUT_INVALID for anything but a whole number from 1 on. */
  set(organizationId: string, limit: number): Promise<{ readonly view: LimitView; readonly isNew: boolean }>;
  /**
   * `clearCache` forgets what is cached and caches what the table says now. Then only it fails with REDIS_UNAVAILABLE,
   * or with ADMISSION_NEEDS_REDIS where another process counts.
   */
  get(organizationId: string, options?: { readonly clearCache?: boolean }): Promise<LimitView>;
  /** These organizations, in their order, and what all together use (null when nobody could be asked): read in one go. */
  overview(
    organizationIds: readonly string[],
  ): Promise<{ readonly globalUsed: number | null; readonly limits: readonly LimitView[] }>;
  /** Organizations that have a limit of their own. */
  list(options?: { readonly withUsage?: boolean }): Promise<readonly LimitView[]>;
  /** The organization as it is afterwards. Fails with NOT_FOUND when it had none of its own. */
  delete(organizationId: string): Promise<LimitView>;
  /**
   * How many cached limits were forgotten. `custom`: those of organizations that have one of their own. Fails with
   * REDIS_UNAVAILABLE, or with ADMISSION_NEEDS_REDIS where another process counts.
   */
  clearCache(which: readonly string[] | 'custom' | 'all'): Promise<number>;
}

export interface Alert {
  /** As in the shipped rule file. */
  readonly name: string;
  /** The organization it is about; null when it is about all. */
  readonly organizationId: string | null;
  readonly severity: 'warning' | 'critical';
  /** One sentence for a person: what, and what to do. */
  readonly message: string;
  readonly since: Date;
  /** `pending` until it has lasted as long as the rule says. */
  readonly state: 'pending' | 'firing';
}

export interface AlertDesk {
  list(): readonly Alert[];
}
