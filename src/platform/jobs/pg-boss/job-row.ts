// What is stored of a job, and how it becomes what users see.
import type { JobProgress, JobState, JobView } from '../../../core/index.ts';
import { cancelledReason } from '../job-rules.ts';

/** The shape of pg-boss's `output` column as we write it. */
export interface JobOutput {
  readonly result?: unknown;
  readonly skipped?: string;
  readonly reason?: string;
  readonly progress?: JobProgress;
}

export interface JobRow {
  readonly id: string;
  readonly name: string;
  readonly payload: unknown;
  readonly state: JobState;
  readonly isCancelled: boolean;
  readonly attempts: number;
  readonly createdAt: Date;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  readonly startAfter: Date;
  readonly output: JobOutput | null;
}

export function viewOf(row: JobRow): JobView {
  const { id, name, state, payload, attempts, createdAt, startedAt, finishedAt } = row;
  const output = row.output ?? {};
  return {
    id,
    name,
    state,
    payload,
    attempts,
    createdAt,
    startedAt,
    finishedAt,
    startAfter: state === 'pending' ? row.startAfter : null,
    progress: output.progress ?? null,
    reason: row.isCancelled ? cancelledReason : (output.skipped ?? output.reason ?? null),
    result: output.result ?? null,
  };
}
