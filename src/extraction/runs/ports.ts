// Registered sources and their runs: what is kept of them, and what keeping them needs.
import type { SessionStatus } from '../ports.ts';
import type { TypeFigures } from '../events.ts';
import type { SourceOptions } from './source-options.ts';

/** Where a source is, and under which names its secrets stand in the environment. Never a secret itself. */
export type SourceSettings =
  | {
      readonly kind: 'looker';
      readonly baseUrl: string;
      /** Names of environment variables of the server. */
      readonly clientIdVariable: string;
      readonly clientSecretVariable: string;
    }
  | {
      readonly kind: 'rest';
      /** The text of a source file: YAML, secrets only as `${NAME}`. */
      readonly definition: string;
    };

export interface SourceDraft {
  /** Unique, and fit for a file name. */
  readonly name: string;
  readonly settings: SourceSettings;
  /** What differs from the server's own `extraction` settings. */
  readonly options: SourceOptions;
  /** Five cron fields in UTC; null runs only when asked to. */
  readonly schedule: string | null;
  /** A file in the data folder's `vaults`. */
  readonly vault: string;
  /** Its schedule counts. */
  readonly isActive: boolean;
}

export interface ExtractionSource extends SourceDraft {
  readonly id: string;
  /** Kept in step with the sources file; changed there and nowhere else. */
  readonly isFromFile: boolean;
  readonly createdAt: Date;
  readonly modifiedAt: Date;
  /** Occurrences of the schedule up to here are dealt with. */
  readonly lastScheduledAt: Date;
}

export type RunOrigin = 'schedule' | 'http' | 'cli';

/** `waiting`: its job has not begun. `interrupted`: stopped, or nothing was heard of it any more. */
export type RunState = 'waiting' | SessionStatus;

export interface RunFigures {
  readonly types: readonly Omit<TypeFigures, 'itemsThisRun'>[];
  readonly calls: number;
  /** Calls that were answered 429. */
  readonly refusals: number;
  /** By what the rate limits are divided now. */
  readonly multiplier: number;
  readonly itemsPerSecond: number | null;
}

export interface ExtractionRun extends RunFigures {
  readonly id: string;
  /** The registered name; of a command, what it extracted from. */
  readonly source: string;
  readonly origin: RunOrigin;
  readonly vault: string;
  readonly state: RunState;
  /** Of the server that runs it; null for a command's. */
  readonly jobId: string | null;
  /** In the vault; null until it is open. */
  readonly session: string | null;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  /** Last sign of life. */
  readonly reportedAt: Date;
  /** One sentence on how it ended, if there is something to say. */
  readonly message: string | null;
}

export interface RunFilter {
  readonly source?: string;
  readonly states?: readonly RunState[];
  readonly limit: number;
  /** Only runs before this one (its id). */
  readonly before?: string;
}

/** Passed through to stores and the job queue; undefined where there are no transactions. */
export type InTransaction = <T>(work: (transaction: unknown) => Promise<T>) => Promise<T>;

export interface SourceStore {
  /** By name. */
  list(): Promise<readonly ExtractionSource[]>;
  get(id: string): Promise<ExtractionSource | null>;
  /** Fails with CONFLICT when the name is taken. */
  add(source: ExtractionSource): Promise<void>;
  /** Everything but id, name and time of creation. False when there is no such source. */
  update(source: ExtractionSource): Promise<boolean>;
  remove(id: string): Promise<boolean>;
  /**
   * Moves `lastScheduledAt` to `at` if the source is as it was seen. False: somebody else took this occurrence, or the
   * source was changed or removed.
   */
  claim(seen: ExtractionSource, at: Date, transaction: unknown): Promise<boolean>;
}

export interface RunStore {
  /** Adds the run, or replaces it. False when the id is taken by a run of another origin. */
  put(run: ExtractionRun, transaction?: unknown): Promise<boolean>;
  get(id: string): Promise<ExtractionRun | null>;
  /** Newest first. */
  list(filter: RunFilter): Promise<readonly ExtractionRun[]>;
  /** Ends a run that has not begun. False when it has, or is no more. */
  interruptWaiting(id: string, message: string, at: Date): Promise<boolean>;
  /** Ends running runs that gave no sign of life since `before`; how many. */
  interruptSilent(before: Date, message: string): Promise<number>;
  /** Deletes runs that ended before `before`, at most `limit`; how many went. */
  purge(before: Date, limit: number): Promise<number>;
}
