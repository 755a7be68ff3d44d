// A job queue in memory on an injected clock. Nothing survives the process.
import type {
  Clock,
  EnqueueOptions,
  IdSource,
  JobDefinition,
  JobFilter,
  JobHandler,
  JobProgress,
  JobQueue,
  JobState,
  JobView,
  Random,
} from '../../../src/core/index.ts';
import { parseCron, snakeCaseKeys } from '../../../src/core/index.ts';
import type { AttemptDeps } from '../../../src/platform/jobs/attempt.ts';
import {
  defaultAbortGraceMs,
  duplicateHandlerError,
  duplicateKeyError,
  JobAttempt,
  undefinedJobError,
} from '../../../src/platform/jobs/attempt.ts';
import type { Settlement } from '../../../src/platform/jobs/statements.ts';
import { canceledReason } from '../../../src/platform/jobs/statements.ts';

const defaultListLimit = 100;

export interface MemoryJobQueueOptions extends Pick<AttemptDeps, 'events'> {
  readonly clock: Clock;
  readonly random: Random;
  readonly ids: IdSource;
  readonly redact?: (text: string) => string;
  readonly abortGraceMs?: number;
}

export function createMemoryJobQueue(options: MemoryJobQueueOptions): JobQueue {
  return new MemoryJobQueue(options);
}

/** `enqueue` ignores `transaction`: there is no store to commit. */
class MemoryJobQueue implements JobQueue {
  readonly #options: MemoryJobQueueOptions;
  readonly #attempts: AttemptDeps;
  readonly #kinds = new Map<string, MemoryJobKind>();
  readonly #jobs = new Map<string, MemoryJob>();
  #order = 0;
  #isDraining = false;

  constructor(options: MemoryJobQueueOptions) {
    this.#options = options;
    this.#attempts = {
      clock: options.clock,
      random: options.random,
      events: options.events,
      redact: options.redact ?? ((text) => text),
      abortGraceMs: options.abortGraceMs ?? defaultAbortGraceMs,
    };
  }

  async define(definitions: readonly JobDefinition<unknown>[]): Promise<void> {
    for (const definition of definitions) {
      const known = this.#kinds.get(definition.name);
      if (known) known.definition = definition;
      else this.#kinds.set(definition.name, new MemoryJobKind(definition));
    }
  }

  async enqueue<Payload>(
    definition: JobDefinition<Payload>,
    payload: Payload,
    options: EnqueueOptions = {},
  ): Promise<string | null> {
    return this.#add(this.#kind(definition.name), payload, options)?.id ?? null;
  }

  async work<Payload>(definition: JobDefinition<Payload>, handler: JobHandler<Payload>): Promise<void> {
    const kind = this.#kind(definition.name);
    kind.setHandler(handler as JobHandler<unknown>);
    this.#pump(kind);
  }

  async schedule<Payload>(definition: JobDefinition<Payload>, cron: string, payload: Payload): Promise<void> {
    const kind = this.#kind(definition.name);
    const times = parseCron(cron);
    const { clock } = this.#options;
    const arm = () => {
      kind.stopSchedule = clock.after(times.next(clock.now()) - clock.now(), () => {
        this.#add(kind, payload, {}, 'schedule');
        arm();
      });
    };
    kind.stopSchedule();
    arm();
  }

  async unschedule(definition: JobDefinition<unknown>): Promise<void> {
    this.#kind(definition.name).stopSchedule();
  }

  async get(id: string): Promise<JobView | null> {
    const job = this.#jobs.get(id);
    return job ? view(job) : null;
  }

  async list(filter: JobFilter = {}): Promise<readonly JobView[]> {
    const newestFirst = [...this.#jobs.values()].sort(
      (a, b) => b.createdAt - a.createdAt || b.order - a.order,
    );
    const before = newestFirst.findIndex(({ id }) => id === filter.after);
    if (filter.after !== undefined && before < 0) return [];
    return newestFirst
      .slice(before + 1)
      .filter((job) => filter.name === undefined || job.name === filter.name)
      .filter((job) => !filter.states || filter.states.includes(job.state))
      .slice(0, filter.limit ?? defaultListLimit)
      .map(view);
  }

  async counts(): Promise<
    readonly { readonly name: string; readonly state: JobState; readonly count: number }[]
  > {
    const groups = Map.groupBy(this.#jobs.values(), (job) => `${job.name} ${job.state}`);
    return [...groups.values()].flatMap((jobs) => {
      const [first] = jobs;
      return first ? [{ name: first.name, state: first.state, count: jobs.length }] : [];
    });
  }

  async retry(id: string): Promise<boolean> {
    const job = this.#jobs.get(id);
    if (job?.state !== 'failed') return false;
    const kind = this.#kind(job.name);
    if (!kind.claimKey(job)) throw duplicateKeyError(job.name, id);
    job.attemptsAllowed = job.attempts + 1;
    job.finishedAt = null;
    this.#makeQueued(kind, job, 0);
    return true;
  }

  async cancel(id: string): Promise<boolean> {
    const job = this.#jobs.get(id);
    if (!job || (job.state !== 'queued' && job.state !== 'running')) return false;
    const kind = this.#kind(job.name);
    const attempt = kind.running.get(id);
    this.#end(kind, job, 'canceled', canceledReason);
    kind.remove(job);
    attempt?.stop('canceled');
    this.#options.events.emit('job:canceled', {
      name: job.name,
      jobId: id,
      attempt: job.attempts,
      durationMs: attempt?.durationMs ?? 0,
      state: 'canceled',
      reason: canceledReason,
    });
    return true;
  }

  async purge(before: Date, limit: number): Promise<number> {
    const old = [...this.#jobs.values()]
      .filter((job) => job.finishedAt !== null && job.finishedAt < before.getTime())
      .sort((a, b) => (a.finishedAt ?? 0) - (b.finishedAt ?? 0))
      .slice(0, limit);
    for (const job of old) this.#jobs.delete(job.id);
    return old.length;
  }

  async stop(graceMs: number): Promise<void> {
    this.#isDraining = true;
    for (const kind of this.#kinds.values()) kind.stopTimers();
    const attempts = [...this.#kinds.values()].flatMap((kind) => [...kind.running.values()]);
    const settled = Promise.all([...this.#kinds.values()].flatMap((kind) => [...kind.settling]));
    const cancelGrace = this.#options.clock.after(graceMs, () => {
      for (const attempt of attempts) attempt.stop('drained');
    });
    await settled;
    cancelGrace();
  }

  #kind(name: string): MemoryJobKind {
    const kind = this.#kinds.get(name);
    if (!kind) throw undefinedJobError(name);
    return kind;
  }

  #add(kind: MemoryJobKind, payload: unknown, options: EnqueueOptions, source = 'caller'): MemoryJob | null {
    const now = this.#options.clock.now();
    const key = source === 'schedule' ? 'schedule' : options.key === undefined ? null : `key ${options.key}`;
    const job: MemoryJob = {
      id: this.#options.ids.uuid(),
      name: kind.definition.name,
      payload: snakeCaseKeys(JSON.parse(JSON.stringify(payload ?? null))),
      key,
      group: options.group ?? null,
      priority: options.priority ?? 0,
      order: this.#order++,
      attemptsAllowed: kind.definition.retries + 1,
      createdAt: now,
      state: 'queued',
      attempts: 0,
      startAfter: now,
      startedAt: null,
      finishedAt: null,
      progress: () => null,
      reason: null,
      result: null,
    };
    if (!kind.claimKey(job)) return null;
    this.#jobs.set(job.id, job);
    this.#makeQueued(kind, job, options.startAfterMs ?? 0);
    return job;
  }

  #makeQueued(kind: MemoryJobKind, job: MemoryJob, delayMs: number): void {
    const { clock } = this.#options;
    job.state = 'queued';
    job.startAfter = clock.now() + delayMs;
    if (delayMs <= 0) {
      kind.makeReady(job);
      // Not within the call: a handler must not run before `enqueue` has returned.
      queueMicrotask(() => this.#pump(kind));
      return;
    }
    kind.defer(
      job,
      clock.after(delayMs, () => {
        kind.makeReady(job);
        this.#pump(kind);
      }),
    );
  }

  #pump(kind: MemoryJobKind): void {
    for (;;) {
      const claim = this.#isDraining ? undefined : kind.takeReady();
      if (!claim) return;
      const work = this.#run(kind, claim.job, claim.handler).finally(() => kind.settling.delete(work));
      kind.settling.add(work);
    }
  }

  async #run(kind: MemoryJobKind, job: MemoryJob, handler: JobHandler<unknown>): Promise<void> {
    job.state = 'running';
    job.attempts += 1;
    job.startedAt = this.#options.clock.now();
    const attempt = new JobAttempt(
      kind.definition,
      handler,
      {
        id: job.id,
        payload: structuredClone(job.payload),
        attempt: job.attempts,
        isLast: job.attempts >= job.attemptsAllowed,
      },
      this.#attempts,
    );
    job.progress = () => attempt.progress;
    kind.running.set(job.id, attempt);
    const settlement = await attempt.ended;
    kind.running.delete(job.id);
    if (settlement) {
      this.#apply(kind, job, settlement);
      attempt.emitEnd(settlement);
    }
    this.#pump(kind);
  }

  #apply(kind: MemoryJobKind, job: MemoryJob, { kind: end, delayMs, output }: Settlement): void {
    switch (end) {
      case 'completed':
        job.result = output.result;
        return this.#end(kind, job, end, null);
      case 'skipped':
      case 'failed':
        return this.#end(kind, job, end, output.skipped ?? output.reason ?? null);
      case 'retried':
        job.reason = output.reason ?? null;
        return this.#makeQueued(kind, job, delayMs);
      case 'released':
        job.attempts -= 1;
        return this.#makeQueued(kind, job, 0);
    }
  }

  #end(kind: MemoryJobKind, job: MemoryJob, state: JobState, reason: string | null): void {
    job.state = state;
    job.reason = reason;
    job.finishedAt = this.#options.clock.now();
    kind.releaseKey(job);
  }
}

function view(job: MemoryJob): JobView {
  return {
    id: job.id,
    name: job.name,
    state: job.state,
    payload: structuredClone(job.payload),
    attempts: job.attempts,
    createdAt: new Date(job.createdAt),
    startedAt: job.startedAt === null ? null : new Date(job.startedAt),
    finishedAt: job.finishedAt === null ? null : new Date(job.finishedAt),
    startAfter: job.state === 'queued' ? new Date(job.startAfter) : null,
    progress: job.progress(),
    reason: job.reason,
    result: structuredClone(job.result),
  };
}

interface MemoryJob {
  readonly id: string;
  readonly name: string;
  readonly payload: unknown;
  readonly key: string | null;
  readonly group: string | null;
  readonly priority: number;
  readonly order: number;
  readonly createdAt: number;
  attemptsAllowed: number;
  state: JobState;
  attempts: number;
  startAfter: number;
  startedAt: number | null;
  finishedAt: number | null;
  progress: () => JobProgress | null;
  reason: string | null;
  result: unknown;
}

class MemoryJobKind {
  definition: JobDefinition<unknown>;
  stopSchedule: () => void = () => undefined;
  readonly running = new Map<string, JobAttempt>();
  readonly #groups = new Map<string, string | null>();
  /** Attempts whose end has not been applied. */
  readonly settling = new Set<Promise<void>>();
  readonly #ready: MemoryJob[] = [];
  readonly #deferred = new Map<string, () => void>();
  readonly #keys = new Map<string, string>();
  #handler: JobHandler<unknown> | undefined;

  constructor(definition: JobDefinition<unknown>) {
    this.definition = definition;
  }

  setHandler(handler: JobHandler<unknown>): void {
    if (this.#handler) throw duplicateHandlerError(this.definition.name);
    this.#handler = handler;
  }

  /** False when another job has the key. */
  claimKey(job: MemoryJob): boolean {
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

  /** The next job and its handler, if there is one and a free slot. */
  takeReady(): { readonly job: MemoryJob; readonly handler: JobHandler<unknown> } | undefined {
    if (!this.#handler || this.running.size >= this.definition.concurrency) return undefined;
    const job = this.#next();
    if (!job) return undefined;
    this.#ready.splice(this.#ready.indexOf(job), 1);
    this.#groups.set(job.id, job.group);
    return { job, handler: this.#handler };
  }

  #next(): MemoryJob | undefined {
    const { groupConcurrency = Number.POSITIVE_INFINITY } = this.definition;
    const count = (group: string | null): number =>
      group === null ? 0 : [...this.running.keys()].filter((id) => this.#groups.get(id) === group).length;
    if (groupConcurrency === Number.POSITIVE_INFINITY) return this.#ready[0];
    return (
      this.#ready.find(({ group }) => count(group) === 0) ??
      this.#ready.find(({ group }) => count(group) < groupConcurrency)
    );
  }

  /** Removes a queued job. */
  remove(job: MemoryJob): void {
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
