// What an extraction tells while it runs. Log lines, metrics, the terminal and --json all read these.
import { event } from '../core/index.ts';
import type { RateLimiterSnapshot } from '../resilience/index.ts';
import { failureKinds } from '../resilience/index.ts';
import type { SessionStatus, TypeStatus } from './types.ts';

const failedPageCauses = [...failureKinds, 'unexpected-shape', 'worker-died'] as const;

/** Why a page was given up: its call failed, it is not what was asked for, or worker threads die of it. */
export type FailedPageCause = (typeof failedPageCauses)[number];

export interface TypeFigures {
  readonly type: string;
  /** In the vault from this session, earlier runs included. */
  readonly items: number;
  /** Read in this run, and not before by the session. */
  readonly itemsThisRun: number;
  /** What the source says there is; null when it does not say. */
  readonly total: number | null;
  readonly status: TypeStatus;
}

export interface ProgressFigures {
  readonly types: readonly TypeFigures[];
  /** Of this run. */
  readonly calls: number;
  /** Calls of this run that were answered 429; the limiter counts those of earlier runs too. */
  readonly rateLimitedCalls: number;
  readonly itemsPerSecond: number;
  readonly rateLimiter: RateLimiterSnapshot;
  readonly workersAlive: number;
  readonly workers: number;
  /** Pages that wait for a worker thread. */
  readonly queuedPages: number;
  readonly queuedBytes: number;
}

/** What an extraction waits for: leave of the rate limiter, a source that is busy, or the file that limits are kept in. */
export type WaitReason = 'rate-limit' | 'source-busy' | 'limits-locked' | 'vault-locked';

export const extractionEvents = {
  'extraction:waiting': event<{
    reason: WaitReason;
    /** For people. */
    why: string;
    /** Null where nobody knows. */
    waitMs: number | null;
  }>({ level: 'info', message: 'an extraction waits before it can begin' }),
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
    /** That the session had not seen before. */
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
      help: 'Calls of sources, by how they ended.',
      labels: ['outcome'],
    },
    histogram: {
      name: 'headworks_extraction_call_seconds',
      help: 'How long calls of sources took.',
      field: 'durationMs',
    },
  }),
  'extraction:page-retried': event<{
    session: string;
    type: string;
    page: string;
    cause: string;
    attempt: number;
    waitMs: number;
  }>({ level: 'info', message: 'a page did not come and is asked for again' }),
  'extraction:page-failed': event<{
    session: string;
    type: string;
    page: string;
    cause: FailedPageCause;
    error: string;
  }>({
    level: 'warn',
    message: 'a page was given up',
    counter: {
      name: 'headworks_extraction_failed_pages_total',
      help: 'Pages that were given up.',
      labels: ['cause'],
      knownValues: failedPageCauses.map((cause) => [cause]),
    },
  }),
  'extraction:worker-died': event<{ session: string; worker: string; error: string; workersAlive: number }>({
    level: 'error',
    message: 'a worker thread died; the others go on',
  }),
  'extraction:type-finished': event<{
    session: string;
    type: string;
    status: TypeStatus;
    /** That the vault holds now. */
    items: number;
    itemsThisRun: number;
    total: number | null;
  }>({ level: 'info', message: 'a content type was read' }),
  'extraction:progress': event<{ session: string } & ProgressFigures>({
    level: 'debug',
    message: 'extraction goes on',
  }),
  'extraction:setting-ignored': event<{ setting: string; reason: string }>({
    level: 'warn',
    message: 'a setting has no effect on this extraction',
  }),
  'extraction:rows-lost': event<{ vault: string; types: readonly string[] }>({
    level: 'warn',
    message: 'rows were removed from the vault: everything is read again',
  }),
  'extraction:types-redefined': event<{ vault: string; types: readonly string[] }>({
    level: 'warn',
    message: 'the definition of types has changed since the last extraction: everything is read anew',
  }),
  'extraction:vault-migrated': event<{ vault: string }>({
    level: 'info',
    message: 'the vault of an older version was brought up to date',
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
    status: Exclude<SessionStatus, 'running'>;
    /** All of this run. */
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
      help: 'Extractions that ended, by status.',
      labels: ['status'],
    },
  }),
  'extraction:limits-unshared': event<{ error: string }>({
    level: 'warn',
    message: 'Redis is away: rate limits are kept on this machine alone until it is back',
  }),
  'extraction:limits-shared': event<object>({
    level: 'info',
    message: 'Redis is back: rate limits are shared again',
  }),
};

export type ExtractionEvents = typeof extractionEvents;
