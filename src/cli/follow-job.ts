// Waits for a job to end, wherever it runs.
import type { Job } from '../api/jobs.ts';
import type { HeadworksClient } from '../app/client/session.ts';
import type { Clock } from '../core/index.ts';
import { HeadworksError } from '../core/index.ts';

const firstLookMs = 100;
const longestLookMs = 1000;
/** How long the server may be unable to tell before we stop asking. */
const patienceMs = 60_000;

export interface FollowOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Called whenever something changed, and once more when the job has ended. */
  readonly onChange: (job: Job) => void;
}

/** The job as it ended. Asks again while the server is away for a moment; what refuses us for good is thrown. */
export async function followJob(client: HeadworksClient, id: string, options: FollowOptions): Promise<Job> {
  const { clock, signal } = options;
  let waitMs = firstLookMs;
  let lastSeen = '';
  let heardAt = clock.monotonic();
  for (;;) {
    signal.throwIfAborted();
    try {
      const job = await client.call<Job>('GET', `/api/v1/jobs/${encodeURIComponent(id)}`, { signal });
      heardAt = clock.monotonic();
      const seen = JSON.stringify(job);
      if (seen !== lastSeen) {
        options.onChange(job);
        waitMs = firstLookMs;
      }
      lastSeen = seen;
      if (hasEnded(job)) return job;
    } catch (error) {
      const isPassing = error instanceof HeadworksError && error.isRetryable;
      if (!isPassing || clock.monotonic() - heardAt > patienceMs) throw error;
    }
    await clock.sleep(waitMs, signal);
    waitMs = Math.min(waitMs * 1.5, longestLookMs);
  }
}

export function hasEnded(job: Job): boolean {
  return job.state !== 'queued' && job.state !== 'running';
}
