// What an extraction tells while it runs. Log lines, metrics, the terminal and --json all read these.
import { event } from '../core/index.ts';
import type { RateLimiterSnapshot } from '../resilience/index.ts';
import type { SessionStatus, TypeStatus } from './ports.ts';

export interface TypeFigures {
  readonly type: string;
  /** In the vault from this session, earlier runs included. */
  readonly items: number;
  /** What the source says there is; null when it does not say. */
  readonly total: number | null;
  readonly status: TypeStatus;
}

export interface ProgressFigures {
  readonly types: readonly TypeFigures[];
  /** Of this run. */
  readonly calls: number;
  readonly itemsPerSecond: number;
  readonly rateLimiter: RateLimiterSnapshot;
  readonly workersAlive: number;
  readonly workers: number;
  /** Pages that wait for a worker thread. */
  readonly queuedPages: number;
  readonly queuedBytes: number;
}

export const extractionEvents = {
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
    items: number;
    added: number;
    changed: number;
    unchanged: number;
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
    cause: string;
    error: string;
  }>({
    level: 'warn',
    message: 'a page was given up',
    counter: {
      name: 'headworks_extraction_failed_pages_total',
      help: 'Pages that were given up.',
      labels: ['cause'],
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
    items: number;
    total: number | null;
  }>({ level: 'info', message: 'a content type was read' }),
  'extraction:progress': event<{ session: string } & ProgressFigures>({
    level: 'debug',
    message: 'extraction goes on',
  }),
  'extraction:finished': event<{
    session: string;
    status: Exclude<SessionStatus, 'running'>;
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
};

export type ExtractionEvents = typeof extractionEvents;
