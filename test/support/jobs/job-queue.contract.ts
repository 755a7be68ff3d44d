// The contract of JobQueue, run by each implementation on virtual or real time.
import { afterEach, describe, expect, it } from 'vitest';
import type { JobContext, JobDefinition, JobQueue, JobView } from '../../../src/core/index.ts';
import { CoreError } from '../../../src/core/index.ts';

export interface JobQueueHarness {
  readonly queue: JobQueue;
  /** The events emitted so far, oldest first. */
  readonly events: readonly { readonly name: string; readonly payload: Readonly<Record<string, unknown>> }[];
  /** Advances a virtual clock, or waits. */
  passTime(ms: number): Promise<void>;
  close(): Promise<void>;
}

/** A text that the harness's redactor removes. */
export const contractSecret = 'hunter2-hunter2';

type Numbered = { readonly n: number };

let kinds = 0;

/** A new name each time, because implementations may share one store for the whole suite. */
function definition(settings: Partial<JobDefinition<Numbered>> = {}): JobDefinition<Numbered> {
  return {
    name: `contract.kind-${(kinds += 1)}`,
    description: 'A job of the contract suite.',
    parse: (payload) => {
      const n = (payload as { n?: unknown } | null)?.n;
      if (typeof n !== 'number') throw new TypeError('n must be a number');
      return { n };
    },
    retries: 0,
    retryDelayMs: 100,
    retryBackoff: false,
    concurrency: 1,
    timeoutMs: 30_000,
    ...settings,
  };
}

/** Keeps a handler running until it is opened. */
function gate() {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: resolve };
}

export function describeJobQueueContract(name: string, make: () => Promise<JobQueueHarness>): void {
  describe(`job queue contract: ${name}`, () => {
    let harness: JobQueueHarness;
    const open = async (...definitions: readonly JobDefinition<unknown>[]): Promise<JobQueue> => {
      harness = await make();
      await harness.queue.define(definitions);
      return harness.queue;
    };
    afterEach(() => harness.close());

    async function until<T>(look: () => Promise<T | undefined | false> | T | undefined | false): Promise<T> {
      for (let tries = 0; tries < 4_000; tries += 1) {
        const found = await look();
        if (found !== undefined && found !== false) return found;
        await harness.passTime(25);
      }
      throw new Error('The expected state was not reached.');
    }
    const inState = (id: string | null, state: JobView['state']): Promise<JobView> =>
      until(async () => {
        const view = await harness.queue.get(id ?? '');
        return view?.state === state && view;
      });
    const names = (id: string | null) =>
      harness.events.filter((event) => event.payload['jobId'] === id).map((event) => event.name);

    describe('groups', () => {
      it('one group cannot occupy every slot, and gets the next one when one of its jobs ends', async () => {
        const kind = definition({ concurrency: 4, groupConcurrency: 2 });
        const queue = await open(kind);
        const started: number[] = [];
        const gates = new Map([1, 2, 3, 4, 5, 10, 20].map((n) => [n, gate()]));
        for (const n of [1, 2, 3, 4, 5]) await queue.enqueue(kind, { n }, { group: 'slow' });
        await queue.enqueue(kind, { n: 10 }, { group: 'other' });
        await queue.enqueue(kind, { n: 20 });
        await queue.work(kind, async ({ n }) => {
          started.push(n);
          await gates.get(n)?.opened;
          return undefined;
        });
        await until(() => started.length === 4);
        await harness.passTime(200);
        expect([...started].sort((a, b) => a - b)).toEqual([1, 2, 10, 20]);
        gates.get(10)?.open();
        await harness.passTime(200);
        expect(started).toHaveLength(4);
        gates.get(1)?.open();
        await until(() => started.length === 5);
        expect(started[4]).toBe(3);
        for (const each of gates.values()) each.open();
        await until(() => started.length === 7);
      });

      it('a free slot goes first to a group of which no job is running', async () => {
        const kind = definition({ concurrency: 3, groupConcurrency: 3 });
        const queue = await open(kind);
        const started: number[] = [];
        const gates = new Map([1, 2, 3, 4, 5, 10].map((n) => [n, gate()]));
        await queue.work(kind, async ({ n }) => {
          started.push(n);
          await gates.get(n)?.opened;
          return undefined;
        });
        for (const n of [1, 2, 3, 4, 5]) await queue.enqueue(kind, { n }, { group: 'first' });
        await until(() => started.length === 3);
        await queue.enqueue(kind, { n: 10 }, { group: 'second' });
        gates.get(2)?.open();
        await until(() => started.length === 4);
        expect(started[3]).toBe(10);
        for (const each of gates.values()) each.open();
        await until(() => started.length === 6);
      });
    });

    describe('running', () => {
      it('passes the payload to the handler and stores the result', async () => {
        const kind = definition();
        const queue = await open(kind);
        await queue.work(kind, async ({ n }, { attempt }) => ({ result: { double: n * 2, attempt } }));
        const id = await queue.enqueue(kind, { n: 21 });
        const view = await inState(id, 'completed');
        expect(view).toMatchObject({
          id,
          name: kind.name,
          payload: { n: 21 },
          attempts: 1,
          reason: null,
          result: { double: 42, attempt: 1 },
          startAfter: null,
        });
        expect(view.startedAt).toBeInstanceOf(Date);
        expect(view.finishedAt).toBeInstanceOf(Date);
        expect(names(id)).toEqual(['job:started', 'job:completed']);
      });

      it('stores payload and result with the field names of the API, snake_case', async () => {
        const kind: JobDefinition<{ readonly thingId: string }> = {
          ...definition(),
          parse: (payload) => ({ thingId: (payload as { thingId: string }).thingId }),
        };
        const queue = await open(kind);
        await queue.work(kind, async ({ thingId }) => ({
          result: { thingId, byKind: { 'a.kept-name': [{ isDue: true }] } },
        }));
        expect(await inState(await queue.enqueue(kind, { thingId: 'x' }), 'completed')).toMatchObject({
          payload: { thing_id: 'x' },
          result: { thing_id: 'x', by_kind: { 'a.kept-name': [{ is_due: true }] } },
        });
      });

      it('runs jobs that were added before their handler', async () => {
        const kind = definition();
        const queue = await open(kind);
        const id = await queue.enqueue(kind, { n: 1 });
        expect(await queue.get(id ?? '')).toMatchObject({ state: 'queued', attempts: 0, startedAt: null });
        await queue.work(kind, async () => undefined);
        await inState(id, 'completed');
      });

      it('stores why a job was skipped', async () => {
        const kind = definition();
        const queue = await open(kind);
        await queue.work(kind, async () => ({ skipped: 'nothing to do' }));
        const id = await queue.enqueue(kind, { n: 1 });
        expect(await inState(id, 'skipped')).toMatchObject({ reason: 'nothing to do', result: null });
        expect(names(id)).toEqual(['job:started', 'job:skipped']);
      });

      it('runs exactly as many jobs at once as the definition allows', async () => {
        const kind = definition({ concurrency: 3 });
        const queue = await open(kind);
        const barrier = gate();
        let running = 0;
        let max = 0;
        await queue.work(kind, async () => {
          max = Math.max(max, (running += 1));
          await barrier.opened;
          running -= 1;
          return undefined;
        });
        const ids = await Promise.all([1, 2, 3, 4, 5, 6, 7].map((n) => queue.enqueue(kind, { n })));
        await until(() => running === 3);
        await harness.passTime(100);
        barrier.open();
        for (const id of ids) await inState(id, 'completed');
        expect(max).toBe(3);
      });

      it('runs the higher priority first, then the older job', async () => {
        const kind = definition();
        const queue = await open(kind);
        const order: number[] = [];
        for (const n of [1, 2]) await queue.enqueue(kind, { n });
        for (const n of [3, 4]) await queue.enqueue(kind, { n }, { priority: 5 });
        await queue.work(kind, async ({ n }) => void order.push(n));
        await until(() => order.length === 4);
        expect(order).toEqual([3, 4, 1, 2]);
      });

      it('does not start a job before its start time', async () => {
        const kind = definition();
        const queue = await open(kind);
        await queue.work(kind, async () => undefined);
        const id = await queue.enqueue(kind, { n: 1 }, { startAfterMs: 700 });
        await harness.passTime(250);
        const waiting = await queue.get(id ?? '');
        expect(waiting).toMatchObject({ state: 'queued', attempts: 0 });
        const view = await inState(id, 'completed');
        expect(view.startedAt?.getTime()).toBeGreaterThanOrEqual(waiting?.startAfter?.getTime() ?? Infinity);
      });

      it('isolates a failing job from the others', async () => {
        const kind = definition({ concurrency: 4 });
        const queue = await open(kind);
        await queue.work(kind, async ({ n }) => {
          if (n === 2) throw new Error('only me');
          return undefined;
        });
        const ids = await Promise.all([1, 2, 3, 4].map((n) => queue.enqueue(kind, { n })));
        const states = await Promise.all(
          ids.map((id, index) =>
            inState(id, index === 1 ? 'failed' : 'completed').then((view) => view.attempts),
          ),
        );
        expect(states).toEqual([1, 1, 1, 1]);
      });

      it('rejects undefined kinds and a second handler', async () => {
        const kind = definition();
        const queue = await open(kind);
        await queue.work(kind, async () => undefined);
        await expect(queue.work(kind, async () => undefined)).rejects.toMatchObject({ code: 'INTERNAL' });
        await expect(queue.enqueue(definition(), { n: 1 })).rejects.toMatchObject({ code: 'INTERNAL' });
      });
    });

    describe('failing', () => {
      it('retries after the delay and passes the attempt number', async () => {
        const kind = definition({ retries: 2, retryDelayMs: 300 });
        const queue = await open(kind);
        const attempts: number[] = [];
        await queue.work(kind, async (_, { attempt }) => {
          attempts.push(attempt);
          if (attempt < 3) throw new Error(`attempt ${attempt} failed`);
          return { result: 'at last' };
        });
        const id = await queue.enqueue(kind, { n: 1 });
        const between = await until(async () => {
          const view = await queue.get(id ?? '');
          return view?.state === 'queued' && view.attempts === 1 && view;
        });
        expect(between).toMatchObject({ reason: 'attempt 1 failed', finishedAt: null });
        const wait = (between.startAfter?.getTime() ?? 0) - (between.startedAt?.getTime() ?? 0);
        expect(wait).toBeGreaterThanOrEqual(295);
        expect(await inState(id, 'completed')).toMatchObject({
          attempts: 3,
          result: 'at last',
          reason: null,
        });
        expect(attempts).toEqual([1, 2, 3]);
        const failedAttempt = ['job:started', 'job:retried'];
        expect(names(id)).toEqual([...failedAttempt, ...failedAttempt, 'job:started', 'job:completed']);
      });

      it('keeps a failed job, without secrets or stack trace, until it is retried', async () => {
        const kind = definition({ retries: 1, retryDelayMs: 0 });
        const queue = await open(kind);
        let isBroken = true;
        await queue.work(kind, async () => {
          if (isBroken)
            throw new Error(`no way in with ${contractSecret}\n    at secret.ts:1 ${'x'.repeat(999)}`);
          return undefined;
        });
        const id = (await queue.enqueue(kind, { n: 1 })) ?? '';
        const failed = await inState(id, 'failed');
        expect(failed).toMatchObject({ attempts: 2, reason: 'no way in with [redacted]' });
        expect(failed.finishedAt).toBeInstanceOf(Date);
        expect(JSON.stringify(harness.events)).not.toContain(contractSecret);
        expect((await queue.list({ name: kind.name, states: ['failed'] })).map((job) => job.id)).toEqual([
          id,
        ]);

        expect(await queue.retry(id)).toBe(true);
        expect(await inState(id, 'failed')).toMatchObject({ attempts: 3 });
        isBroken = false;
        expect(await queue.retry(id)).toBe(true);
        expect(await inState(id, 'completed')).toMatchObject({ attempts: 4, reason: null });
        expect(await queue.retry(id)).toBe(false);
        expect(await queue.retry('018b0000-0000-7000-8000-000000000000')).toBe(false);
      });

      it('does not retry after an error that is not retryable', async () => {
        const kind = definition({ retries: 3, retryDelayMs: 0 });
        const queue = await open(kind);
        let tries = 0;
        await queue.work(kind, async () => {
          tries += 1;
          throw new CoreError('NOT_FOUND', 'There is no such thing.');
        });
        const id = await queue.enqueue(kind, { n: 1 });
        expect(await inState(id, 'failed')).toMatchObject({ attempts: 1 });
        expect(tries).toBe(1);
      });

      it('fails a job with an invalid payload at once, whatever its retries', async () => {
        const kind = definition({ retries: 5 });
        const queue = await open(kind);
        let calls = 0;
        await queue.work(kind, async () => void (calls += 1));
        const id = await queue.enqueue(kind, { n: 'many' } as never);
        const view = await inState(id, 'failed');
        expect(view).toMatchObject({ attempts: 1 });
        expect(view.reason).toMatch(/payload.*n must be a number/);
        expect(calls).toBe(0);
      });

      it('stops an attempt that exceeds its timeout and counts it as failed', async () => {
        const kind = definition({ timeoutMs: 150, retries: 1, retryDelayMs: 0 });
        const queue = await open(kind);
        const reasons: unknown[] = [];
        await queue.work(kind, async (_, { signal }) => {
          await new Promise((resolve) => signal.addEventListener('abort', resolve));
          reasons.push((signal.reason as { code?: string }).code);
          throw new Error('gave up');
        });
        const id = await queue.enqueue(kind, { n: 1 });
        const view = await inState(id, 'failed');
        expect(view).toMatchObject({ attempts: 2 });
        expect(view.reason).toContain('longer than 150 ms');
        expect(reasons).toEqual(['DEADLINE_EXCEEDED', 'DEADLINE_EXCEEDED']);
      });

      it('frees the slot of a handler that ignores its signal', async () => {
        const kind = definition({ timeoutMs: 50 });
        const queue = await open(kind);
        await queue.work(kind, async ({ n }) => {
          if (n === 1) await new Promise(() => undefined);
          return undefined;
        });
        const stuck = await queue.enqueue(kind, { n: 1 });
        const next = await queue.enqueue(kind, { n: 2 });
        await inState(stuck, 'failed');
        await inState(next, 'completed');
      });
    });

    describe('keys', () => {
      it('adds no second job while one with the key is queued or running', async () => {
        const [kind, other] = [definition(), definition()];
        const queue = await open(kind, other);
        const first = await queue.enqueue(kind, { n: 1 }, { key: 'same' });
        expect(first).not.toBeNull();
        expect(await queue.enqueue(kind, { n: 2 }, { key: 'same' })).toBeNull();
        expect(await queue.enqueue(kind, { n: 3 }, { key: 'else' })).not.toBeNull();
        expect(await queue.enqueue(other, { n: 4 }, { key: 'same' })).not.toBeNull();
        expect(await queue.enqueue(kind, { n: 5 })).not.toBeNull();
        expect(await queue.enqueue(kind, { n: 6 })).not.toBeNull();

        const barrier = gate();
        await queue.work(kind, async () => ({ result: await barrier.opened.then(() => 'ok') }));
        await inState(first, 'running');
        expect(await queue.enqueue(kind, { n: 7 }, { key: 'same' })).toBeNull();
        barrier.open();
        await inState(first, 'completed');
        expect(await queue.enqueue(kind, { n: 8 }, { key: 'same' })).not.toBeNull();
      });

      it('rejects the retry of a failed job while another has its key', async () => {
        const kind = definition();
        const queue = await open(kind);
        await queue.work(kind, async ({ n }) => {
          if (n === 1) throw new Error('no');
          return undefined;
        });
        const failed = (await queue.enqueue(kind, { n: 1 }, { key: 'k' })) ?? '';
        await inState(failed, 'failed');
        const later = await queue.enqueue(kind, { n: 2 }, { key: 'k', startAfterMs: 60_000 });
        expect(later).not.toBeNull();
        await expect(queue.retry(failed)).rejects.toMatchObject({ code: 'CONFLICT' });
        expect(await queue.get(failed)).toMatchObject({ state: 'failed' });
      });
    });

    describe('observing and controlling', () => {
      it('shows progress while the job runs and throttles its events', async () => {
        const kind = definition();
        const queue = await open(kind);
        const barrier = gate();
        await queue.work(kind, async (_, { progress }) => {
          for (let done = 1; done <= 50; done += 1)
            progress({ done, total: 50, message: `row ${done} ${contractSecret}` });
          await barrier.opened;
          return undefined;
        });
        const id = await queue.enqueue(kind, { n: 1 });
        const view = await until(async () => {
          const job = await queue.get(id ?? '');
          return job?.state === 'running' && job.progress?.done === 50 && job;
        });
        expect(view.progress).toEqual({ done: 50, total: 50, message: 'row 50 [redacted]' });
        barrier.open();
        expect((await inState(id, 'completed')).progress).toMatchObject({ done: 50 });
        const progressEvents = harness.events.filter((event) => event.name === 'job:progressed');
        expect(progressEvents.map((event) => event.payload['done'])).toEqual([1, 50]);
      });

      it('lists newest first by kind, state, limit and page, and counts', async () => {
        const [kind, other] = [definition(), definition()];
        const queue = await open(kind, other);
        const ids: string[] = [];
        for (const n of [1, 2, 3]) {
          ids.push((await queue.enqueue(kind, { n })) ?? '');
          await harness.passTime(5);
        }
        await queue.enqueue(other, { n: 4 });
        await queue.cancel(ids[0] ?? '');
        const listed = async (filter: Parameters<JobQueue['list']>[0]) =>
          (await queue.list(filter)).map((job) => job.id);
        expect(await listed({ name: kind.name })).toEqual(ids.toReversed());
        expect(await listed({ name: kind.name, limit: 2 })).toEqual([ids[2], ids[1]]);
        expect(await listed({ name: kind.name, states: ['queued'] })).toEqual([ids[2], ids[1]]);
        expect(await listed({ name: kind.name, limit: 1, after: ids[2] ?? '' })).toEqual([ids[1]]);
        expect(await listed({ name: kind.name, after: ids[0] ?? '' })).toEqual([]);
        expect(await listed({ name: kind.name, states: ['canceled', 'failed'] })).toEqual([ids[0]]);
        const counts = (await queue.counts()).filter((row) => row.name === kind.name);
        expect(counts).toHaveLength(2);
        expect(counts).toContainEqual({ name: kind.name, state: 'queued', count: 2 });
        expect(counts).toContainEqual({ name: kind.name, state: 'canceled', count: 1 });
        expect(await queue.get('018b0000-0000-7000-8000-000000000000')).toBeNull();
        expect(await queue.get('no id at all')).toBeNull();
      });

      it('cancels a queued job before it runs', async () => {
        const kind = definition();
        const queue = await open(kind);
        let calls = 0;
        const id = (await queue.enqueue(kind, { n: 1 }, { key: 'k' })) ?? '';
        expect(await queue.cancel(id)).toBe(true);
        await queue.work(kind, async () => void (calls += 1));
        const next = await queue.enqueue(kind, { n: 2 }, { key: 'k' });
        await inState(next, 'completed');
        expect(calls).toBe(1);
        expect(await queue.get(id)).toMatchObject({ state: 'canceled', attempts: 0 });
        expect((await queue.get(id))?.reason).toContain('canceled');
        expect(await queue.cancel(id)).toBe(false);
        expect(names(id)).toEqual(['job:canceled']);
      });

      it('cancels a running job by aborting its signal', async () => {
        const kind = definition({ retries: 3 });
        const queue = await open(kind);
        const seen: string[] = [];
        await queue.work(kind, async ({ n }, { signal }) => {
          if (n === 2) return undefined;
          await new Promise((resolve) => signal.addEventListener('abort', resolve));
          seen.push('aborted');
          throw new Error('stopped');
        });
        const id = (await queue.enqueue(kind, { n: 1 })) ?? '';
        await inState(id, 'running');
        expect(await queue.cancel(id)).toBe(true);
        await until(() => seen.length === 1);
        await inState(await queue.enqueue(kind, { n: 2 }), 'completed');
        expect(await queue.get(id)).toMatchObject({ state: 'canceled', attempts: 1 });
        expect(await queue.cancel('018b0000-0000-7000-8000-000000000000')).toBe(false);
      });

      it('purges ended jobs before a time, failed ones included, and never live ones', async () => {
        const kind = definition();
        const queue = await open(kind);
        await queue.work(kind, async ({ n }) => {
          if (n === 2) throw new Error('no');
          return undefined;
        });
        await queue.purge(new Date('2100-01-01'), 10_000);
        const ended = [await queue.enqueue(kind, { n: 1 }), await queue.enqueue(kind, { n: 2 })];
        const waiting = await queue.enqueue(kind, { n: 3 }, { startAfterMs: 60_000 });
        await inState(ended[0] ?? '', 'completed');
        const last = await inState(ended[1] ?? '', 'failed');
        const after = new Date((last.finishedAt?.getTime() ?? 0) + 1_000);
        expect(await queue.purge(new Date(0), 10)).toBe(0);
        expect(await queue.purge(after, 1)).toBe(1);
        expect(await queue.get(ended[0] ?? '')).toBeNull();
        expect(await queue.purge(after, 1_000)).toBeGreaterThanOrEqual(1);
        expect(await queue.get(ended[1] ?? '')).toBeNull();
        expect(await queue.get(waiting ?? '')).toMatchObject({ state: 'queued' });
      });
    });

    describe('schedules', () => {
      it('rejects an invalid cron expression', async () => {
        const kind = definition();
        const queue = await open(kind);
        await expect(queue.schedule(kind, 'every day', { n: 1 })).rejects.toMatchObject({
          code: 'INPUT_INVALID',
        });
      });
    });

    describe('stopping', () => {
      it('lets running jobs finish within the grace period and starts no more', async () => {
        const kind = definition();
        const queue = await open(kind);
        const barrier = gate();
        await queue.work(kind, async () => ({ result: await barrier.opened.then(() => 'finished') }));
        const first = await queue.enqueue(kind, { n: 1 });
        await inState(first, 'running');
        const second = await queue.enqueue(kind, { n: 2 });
        const stopped = queue.stop(20_000);
        await harness.passTime(50);
        barrier.open();
        await stopped;
        expect(names(first)).toEqual(['job:started', 'job:completed']);
        expect(names(second)).toEqual([]);
      });

      it('aborts jobs that outlast the grace period and queues them again without counting the attempt', async () => {
        const kind = definition();
        const queue = await open(kind);
        const started = Promise.withResolvers<JobContext>();
        await queue.work(kind, async (_, context) => {
          started.resolve(context);
          await new Promise((_resolve, reject) =>
            context.signal.addEventListener('abort', () => reject(context.signal.reason as Error)),
          );
          return undefined;
        });
        const id = (await queue.enqueue(kind, { n: 1 })) ?? '';
        await inState(id, 'running');
        const { signal } = await started.promise;
        const stopped = queue.stop(100);
        await harness.passTime(300);
        await stopped;
        expect(signal.aborted).toBe(true);
        expect(await queue.get(id)).toMatchObject({ state: 'queued', attempts: 0 });
      });
    });
  });
}
