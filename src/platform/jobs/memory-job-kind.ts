// The jobs of one kind in memory: who is ready, who runs, which keys are taken.
import type { JobDefinition, JobHandler, JobProgress, JobState } from '../../core/index.ts';
import type { JobAttempt } from './job-attempt.ts';
import { workedTwice } from './job-rules.ts';

export interface MemoryJob {
  readonly id: string;
  readonly name: string;
  readonly payload: unknown;
  readonly key: string | null;
  readonly priority: number;
  readonly order: number;
  readonly createdAt: number;
  triesAllowed: number;
  state: JobState;
  attempts: number;
  startAfter: number;
  startedAt: number | null;
  finishedAt: number | null;
  progress: () => JobProgress | null;
  reason: string | null;
  result: unknown;
}

export class MemoryJobKind {
  definition: JobDefinition<unknown>;
  stopSchedule: () => void = () => undefined;
  readonly running = new Map<string, JobAttempt>();
  /** Tries whose end has not been written down yet. */
  readonly settling = new Set<Promise<void>>();
  readonly #ready: MemoryJob[] = [];
  readonly #deferred = new Map<string, () => void>();
  readonly #keys = new Map<string, string>();
  #handler: JobHandler<unknown> | undefined;

  constructor(definition: JobDefinition<unknown>) {
    this.definition = definition;
  }

  takeHandler(handler: JobHandler<unknown>): void {
    if (this.#handler) throw workedTwice(this.definition.name);
    this.#handler = handler;
  }

  /** False when another job has the key. */
  holdKey(job: MemoryJob): boolean {
    if (job.key === null) return true;
    const holder = this.#keys.get(job.key);
    if (holder !== undefined && holder !== job.id) return false;
    this.#keys.set(job.key, job.id);
    return true;
  }

  releaseKey(job: MemoryJob): void {
    if (job.key !== null) this.#keys.delete(job.key);
  }

  makeReady(job: MemoryJob): void {
    this.#deferred.delete(job.id);
    const behind = this.#ready.findIndex(
      (other) =>
        other.priority < job.priority || (other.priority === job.priority && other.order > job.order),
    );
    this.#ready.splice(behind === -1 ? this.#ready.length : behind, 0, job);
  }

  defer(job: MemoryJob, cancelTimer: () => void): void {
    this.#deferred.set(job.id, cancelTimer);
  }

  /** The next job and its handler, if there is one and a slot for it. */
  takeReady(): { readonly job: MemoryJob; readonly handler: JobHandler<unknown> } | undefined {
    if (!this.#handler || this.running.size >= this.definition.concurrency) return undefined;
    const job = this.#ready.shift();
    return job && { job, handler: this.#handler };
  }

  /** Takes a pending job out of the line. */
  forget(job: MemoryJob): void {
    this.#deferred.get(job.id)?.();
    this.#deferred.delete(job.id);
    const index = this.#ready.indexOf(job);
    if (index !== -1) this.#ready.splice(index, 1);
  }

  stopTimers(): void {
    this.stopSchedule();
    for (const cancel of this.#deferred.values()) cancel();
  }
}
