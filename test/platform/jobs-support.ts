// Job queues on real stores, with their events recorded, and databases that can be disconnected.
import type { JobDefinition, JobQueue } from '../../src/core/index.ts';
import { CoreError, EventBus, systemClock, systemIds, systemRandom } from '../../src/core/index.ts';
import { jobEventSpecs } from '../../src/platform/jobs/events.ts';
import { contractSecret } from '../support/jobs/job-queue.contract.ts';
import { createJobQueue, type JobQueueOptions } from '../../src/platform/jobs/queue.ts';
import type { Database } from '../../src/platform/postgres/ports.ts';

/** A job that any process of these tests may work on. */
export const sleepyJob: JobDefinition<unknown> = {
  name: 'test.sleepy',
  description: 'A job of the integration tests.',
  parse: (payload) => payload,
  retries: 0,
  retryDelayMs: 0,
  retryBackoff: false,
  concurrency: 2,
  timeoutMs: 60_000,
};

export interface RecordedQueue {
  readonly queue: JobQueue;
  readonly events: readonly { readonly name: string; readonly payload: Readonly<Record<string, unknown>> }[];
}

export async function openJobQueue(
  database: Database,
  options: Partial<JobQueueOptions> = {},
): Promise<RecordedQueue> {
  const bus = new EventBus(jobEventSpecs);
  const events: { name: string; payload: Readonly<Record<string, unknown>> }[] = [];
  bus.listen((event) => events.push(event));
  const queue = await createJobQueue({
    database,
    clock: systemClock,
    random: systemRandom,
    ids: systemIds,
    events: bus,
    redact: (text) => text.replaceAll(contractSecret, '[redacted]'),
    runSchedules: false,
    abortGraceMs: 200,
    ...options,
  });
  return { queue, events };
}

export async function dropJobSchema(database: Database): Promise<void> {
  await database.script(`drop schema if exists "${database.schema}_jobs" cascade`);
}

/** Waits until `look` finds something. */
export async function until<T>(
  look: () => Promise<T | undefined | false> | T | undefined | false,
  withinMs = 25_000,
): Promise<T> {
  const deadline = systemClock.monotonic() + withinMs;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    if (systemClock.monotonic() > deadline) throw new Error(`It did not happen within ${withinMs} ms.`);
    await systemClock.sleep(20);
  }
}

/** The same database until `kill` is called; then every call fails, as in a process that was killed. */
export function killable(database: Database): { readonly database: Database; kill(): void } {
  let isKilled = false;
  const reached = new Proxy(database, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]): unknown => {
        if (isKilled) throw new CoreError('STATE_UNAVAILABLE', 'This process was killed.');
        return Reflect.apply(value, target, args);
      };
    },
  });
  return {
    database: reached,
    kill: () => {
      isKilled = true;
    },
  };
}
