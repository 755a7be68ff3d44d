// Events of runs, for the log, metrics and the live stream.
import { event } from '../../core/index.ts';
import type { RunOrigin, RunState } from './stores.ts';

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
