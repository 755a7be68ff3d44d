// What runs tell, whoever does them: for the log, metrics and the live stream.
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
    /** Null while the source has not said how many there are of each type. */
    total: number | null;
    calls: number;
    rateLimitedCalls: number;
    multiplier: number;
  }>({ level: 'debug', message: 'an extraction run goes on' }),
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
      help: 'Runs that the server did or was told of, by origin and how they ended.',
      labels: ['origin', 'state'],
    },
  }),
  'extraction:schedule-skipped': event<{ source: string; reason: string }>({
    level: 'warn',
    message: 'a scheduled extraction was left out',
  }),
};

export type RunEvents = typeof runEvents;
