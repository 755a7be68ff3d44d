// Events of an extraction: the source of log lines, metrics, the terminal's progress and --json.
import { event } from '../core/index.ts';
import type { RateLimiterSnapshot } from '../resilience/index.ts';
import { failureKinds } from '../resilience/index.ts';
import type { RunOrigin, RunState, SessionState, TypeState } from './types.ts';

const failedPageCauses = [...failureKinds, 'unexpected-shape', 'worker-died'] as const;

/** Why a page failed: its call failed, it has an unexpected shape, or worker threads died while processing it. */
export type FailedPageCause = (typeof failedPageCauses)[number];

export interface TypeFigures {
  readonly type: string;
  /** Stored by this session, earlier runs included. */
  readonly items: number;
  /** Stored by this run for the first time in the session. */
  readonly itemsThisRun: number;
  /** The source's own count; null when unknown. */
  readonly total: number | null;
  readonly state: TypeState;
}

export interface ProgressFigures {
  readonly types: readonly TypeFigures[];
  /** Calls of this run. */
  readonly calls: number;
  /** Calls of this run that received a 429; the limiter also counts those of earlier runs. */
  readonly rateLimitedCalls: number;
  readonly itemsPerSecond: number;
  readonly rateLimiter: RateLimiterSnapshot;
  readonly workersAlive: number;
  readonly workers: number;
  /** Pages queued for a worker thread. */
  readonly queuedPages: number;
  readonly queuedBytes: number;
}

/** What an extraction waits for: the rate limiter, a busy source, or a file that another process has locked. */
export type WaitReason = 'rate-limit' | 'source-busy' | 'limits-locked' | 'vault-locked';

export const extractionEvents = {
  'extraction:waiting': event<{
    reason: WaitReason;
    /** Text for users. */
    why: string;
    /** Null when unknown. */
    waitMs: number | null;
  }>({ level: 'info', message: 'an extraction waits before it can start' }),
  'extraction:started': event<{
    session: string;
    source: string;
    vault: string;
    types: readonly string[];
    isResumed: boolean;
    workerCount: number | null;
  }>({ level: 'info', message: 'extraction started' }),
  'extraction:page-committed': event<{
    session: string;
    type: string;
    page: string;
    /** Items that the session had not seen before. */
    items: number;
    added: number;
    changed: number;
    unchanged: number;
    repeated: number;
    rejected: number;
    total: number | null;
  }>({
    level: 'debug',
    message: 'a page was committed',
    counter: {
      name: 'headworks_extraction_items_total',
      help: 'Items that were written or found unchanged.',
      labels: ['type'],
      by: 'items',
    },
  }),
  'extraction:call': event<{ session: string; type: string; outcome: string; durationMs: number }>({
    level: 'debug',
    message: 'a source was called',
    counter: {
      name: 'headworks_extraction_calls_total',
      help: 'Calls to sources, by outcome.',
      labels: ['outcome'],
    },
    histogram: {
      name: 'headworks_extraction_call_seconds',
      help: 'Duration of calls to sources.',
      field: 'durationMs',
    },
    span: {
      name: 'source call',
      duration: 'durationMs',
      attributes: ['session', 'type', 'outcome'],
      hasFailed: ({ outcome }) => outcome !== 'responded',
    },
  }),
  'extraction:page-retried': event<{
    session: string;
    type: string;
    page: string;
    cause: string;
    attempt: number;
    waitMs: number;
  }>({ level: 'info', message: 'a page is retried' }),
  'extraction:page-failed': event<{
    session: string;
    type: string;
    page: string;
    cause: FailedPageCause;
    error: string;
  }>({
    level: 'warn',
    message: 'a page failed',
    counter: {
      name: 'headworks_extraction_failed_pages_total',
      help: 'Pages that failed after all retries.',
      labels: ['cause'],
      knownValues: failedPageCauses.map((cause) => [cause]),
    },
  }),
  'extraction:worker-died': event<{ session: string; worker: string; error: string; workersAlive: number }>({
    level: 'error',
    message: 'a worker thread died; another one processes its page',
  }),
  'extraction:type-finished': event<{
    session: string;
    type: string;
    state: TypeState;
    /** Stored items of the type. */
    items: number;
    itemsThisRun: number;
    total: number | null;
  }>({ level: 'info', message: 'a content type was extracted' }),
  'extraction:progress': event<{ session: string } & ProgressFigures>({
    level: 'debug',
    message: 'extraction progress',
  }),
  'extraction:setting-ignored': event<{ setting: string; reason: string }>({
    level: 'warn',
    message: 'a setting has no effect on this extraction',
  }),
  'extraction:rows-lost': event<{ vault: string; types: readonly string[] }>({
    level: 'warn',
    message: 'rows were removed from the vault: everything is extracted again',
  }),
  'extraction:types-changed': event<{ vault: string; types: readonly string[] }>({
    level: 'warn',
    message: 'the definition of types has changed since the last extraction: everything is extracted again',
  }),
  'extraction:vault-migrated': event<{ vault: string }>({
    level: 'info',
    message: 'the vault of an older version was migrated',
  }),
  'extraction:versions-pruned': event<{ vault: string; versions: number; bytes: number }>({
    level: 'info',
    message: 'old versions were deleted from a vault',
  }),
  'extraction:prune-failed': event<{ vault: string; error: string }>({
    level: 'warn',
    message: 'old versions could not be deleted from a vault',
  }),
  'extraction:finished': event<{
    session: string;
    state: Exclude<SessionState, 'running'>;
    /** All figures are of this run. */
    items: number;
    calls: number;
    errors: number;
    seconds: number;
    itemsPerSecond: number | null;
  }>({
    level: 'info',
    message: 'extraction ended',
    counter: {
      name: 'headworks_extraction_runs_total',
      help: 'Finished extractions, by state.',
      labels: ['state'],
    },
  }),
  'extraction:limits-unshared': event<{ error: string }>({
    level: 'warn',
    message: 'Redis is unavailable: rate limits are kept on this machine only until it is back',
  }),
  'extraction:limits-shared': event<object>({
    level: 'info',
    message: 'Redis is back: rate limits are shared again',
  }),
};

export type ExtractionEvents = typeof extractionEvents;

/** Events of the runs of registered sources and of commands that report to a server; streamed to its clients. */
export const runEvents = {
  'extraction:run-started': event<{ run: string; source: string; origin: RunOrigin }>({
    level: 'info',
    message: 'an extraction run started',
  }),
  'extraction:run-progress': event<{
    run: string;
    source: string;
    items: number;
    /** Null until the total of every type is known. */
    total: number | null;
    calls: number;
    rateLimitedCalls: number;
    multiplier: number;
  }>({ level: 'debug', message: 'progress of an extraction run' }),
  'extraction:run-finished': event<{
    run: string;
    source: string;
    origin: RunOrigin;
    state: RunState;
    items: number;
    calls: number;
    message: string | null;
  }>({
    level: 'info',
    message: 'an extraction run ended',
    counter: {
      name: 'headworks_extraction_server_runs_total',
      help: 'Finished runs, by origin and state.',
      labels: ['origin', 'state'],
    },
  }),
  'extraction:schedule-skipped': event<{ source: string; reason: string }>({
    level: 'warn',
    message: 'a scheduled extraction was skipped',
  }),
};

export type RunEvents = typeof runEvents;
