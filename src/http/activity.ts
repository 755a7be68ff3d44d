// What happened on this server lately, counted by the minute: for people who look, not for bookkeeping.

export interface ActivityCounts {
  readonly admitted: number;
  readonly refused: number;
  readonly modelCalls: number;
  readonly modelFailures: number;
  readonly executionsEnded: number;
  readonly documentsRead: number;
}

/** One minute. */
export interface MinuteCounts extends ActivityCounts {
  /** Its beginning, epoch milliseconds. */
  readonly at: number;
}

/** Of one organization, over the last hour. */
export interface TenantActivity {
  readonly organizationId: string;
  readonly admitted: number;
  readonly refused: number;
  readonly ended: number;
  /** How long slots were held, on average and at most; null when none was given back. */
  readonly averageHoldMs: number | null;
  readonly longestHoldMs: number | null;
}

/** An extraction run at one moment. */
export interface RunSample {
  readonly at: number;
  readonly items: number;
  readonly calls: number;
  readonly refusals: number;
  readonly multiplier: number;
}

/** In memory: gone with the process, and of this server alone. */
export interface Activity {
  /** When counting began, epoch milliseconds. */
  readonly since: number;
  /** The last hour, oldest first; minutes in which nothing happened are there, too. */
  minutes(): readonly MinuteCounts[];
  /** The last 60 seconds, whatever the clock says; to within five of them. */
  lastMinute(): ActivityCounts;
  tenants(): readonly TenantActivity[];
  /** Oldest first; none when the run is not known here. */
  run(id: string): readonly RunSample[];
}
