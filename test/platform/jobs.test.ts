// Jobs on pg-boss: the contract, and beyond it transactions, notifications, several workers, and processes and stores that die.
import { AsyncLocalStorage } from 'node:async_hooks';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock, type JobDefinition } from '../../src/core/index.ts';
import { describeJobQueueContract } from '../support/jobs/job-queue.contract.ts';
import { lostReason } from '../../src/platform/jobs/statements.ts';
import type { Database, QueryOptions } from '../../src/platform/postgres/ports.ts';
import { Sql, sql, type RawSql } from '../../src/platform/postgres/sql.ts';
import { openServerDatabase } from '../../src/platform/postgres/server/server-store.ts';
import { embeddedDatabase } from '../support/embedded-database.ts';
import { databaseUrl, uniqueName } from '../support/services.ts';
import {
  dropJobSchema,
  killable,
  openJobQueue,
  sleepyJob,
  until,
  type RecordedQueue,
} from './jobs-support.ts';

let kinds = 0;
const newKind = (settings: Partial<JobDefinition<unknown>> = {}): JobDefinition<unknown> => ({
  ...sleepyJob,
  name: `test.kind-${(kinds += 1)}`,
  ...settings,
});

/** So slow that only a notification can have started a job. */
const neverPolls = { pollMs: 600_000 };

const stores: readonly (readonly [string, () => Promise<Database>])[] = [
  ['the embedded store', () => embeddedDatabase({ schema: 'public' })],
  [
    'a server',
    () => openServerDatabase({ url: databaseUrl(), schema: uniqueName('jobs'), clock: systemClock }),
  ],
];

// One store for all tests of an adapter: opening it takes longer than most of them.
describe.each(stores)('jobs on %s', (name, open) => {
  let database: Database;
  const opened: RecordedQueue[] = [];
  const openQueue = async (...args: Parameters<typeof openJobQueue>): Promise<RecordedQueue> => {
    const recorded = await openJobQueue(...args);
    opened.push(recorded);
    return recorded;
  };
  beforeAll(async () => {
    database = await open();
  });
  afterAll(async () => {
    await Promise.all(opened.map(({ queue }) => queue.stop(0)));
    await dropJobSchema(database);
    await database.close();
  });

  describeJobQueueContract(`pg-boss on ${name}`, async () => {
    const { queue, events } = await openJobQueue(database, { timing: { pollMs: 200 } });
    return { queue, events, passTime: (ms) => systemClock.sleep(ms), close: () => queue.stop(0) };
  });

  it('adds a job only if its transaction commits, and starts it then', async () => {
    const kind = newKind();
    const { queue } = await openQueue(database, { timing: neverPolls });
    await queue.define([kind]);
    await queue.work(kind, async () => undefined);
    // Longer than until the first poll, so that what follows can only come by notification.
    await systemClock.sleep(200);
    const rolledBack = database.transaction(async (transaction) => {
      await queue.enqueue(kind, {}, { transaction });
      throw new Error('rolled back by the test');
    });
    await expect(rolledBack).rejects.toThrow('rolled back by the test');
    expect(await queue.list({ name: kind.name })).toEqual([]);
    const id = await database.transaction((transaction) => queue.enqueue(kind, {}, { transaction }));
    await until(async () => (await queue.get(id ?? ''))?.state === 'completed');
  });

  it('runs a job outside the async context of the caller that added it', async () => {
    const kind = newKind();
    const { queue } = await openQueue(database);
    await queue.define([kind]);
    const context = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];
    await queue.work(kind, async () => void seen.push(context.getStore()));
    // From the first poll on, the call itself wakes the worker.
    await systemClock.sleep(200);
    await context.run('the request', () => queue.enqueue(kind, {}));
    await until(() => seen.length === 1);
    expect(seen).toEqual([undefined]);
  });

  it('starts a job that another process added promptly, by notification', async () => {
    const kind = newKind();
    const [adder, worker] = [await openQueue(database), await openQueue(database, { timing: neverPolls })];
    await adder.queue.define([kind]);
    await worker.queue.define([kind]);
    const started = new Map<unknown, number>();
    await worker.queue.work(kind, async (_, { id }) => void started.set(id, systemClock.monotonic()));
    const latencies: number[] = [];
    for (let n = 0; n < 5; n += 1) {
      const before = systemClock.monotonic();
      const id = await adder.queue.enqueue(kind, { n });
      latencies.push((await until(() => started.get(id))) - before);
    }
    expect(Math.max(...latencies)).toBeLessThan(2_000);
  });

  it('aborts a job that another process cancels', async () => {
    const kind = newKind();
    const [other, worker] = [await openQueue(database), await openQueue(database, { timing: neverPolls })];
    await other.queue.define([kind]);
    await worker.queue.define([kind]);
    const aborted: unknown[] = [];
    await worker.queue.work(kind, async (_, { signal }) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      aborted.push(signal.reason);
      return undefined;
    });
    const id = (await other.queue.enqueue(kind, {})) ?? '';
    await until(async () => (await other.queue.get(id))?.state === 'running');
    expect(await other.queue.cancel(id)).toBe(true);
    await until(() => aborted.length === 1);
    expect(await other.queue.get(id)).toMatchObject({ state: 'canceled' });
  });

  it('adds each scheduled job once, however many processes keep the schedule', async () => {
    const kind = newKind();
    const maintainers = await Promise.all(
      [1, 2].map(() =>
        openQueue(database, { runSchedules: true, timing: { cronMs: 1_000, maintenanceDelayMs: 0 } }),
      ),
    );
    let runs = 0;
    for (const { queue } of maintainers) {
      await queue.define([kind]);
      await queue.work(kind, async () => void (runs += 1));
    }
    const [first, second] = maintainers;
    await first?.queue.schedule(kind, '0 0 29 2 *', { from: 'replaced' });
    // pg-boss adds what was due in the last minute: this minute's job now, or the next one's within half a minute.
    // Never near the end of a minute, after which its job is no longer added.
    const due = new Date(Date.now() + 30_000);
    const cron = `${due.getUTCMinutes()} ${due.getUTCHours()} * * *`;
    await first?.queue.schedule(kind, cron, { from: 'the schedule' });
    await until(() => runs > 0, 90_000);
    await systemClock.sleep(2_500);
    const jobs = (await second?.queue.list({ name: kind.name })) ?? [];
    expect(jobs.map((job) => job.payload)).toEqual([{ from: 'the schedule' }]);
    await second?.queue.unschedule(kind);
    expect(runs).toBe(1);
  });

  it('adds a job in a transaction also when another process created the queue while this one started', async () => {
    const kind = newKind();
    const [late, early] = [await openQueue(database), await openQueue(database)];
    await early.queue.define([kind]);
    await late.queue.define([kind]);
    const adding = database.transaction((transaction) => late.queue.enqueue(kind, {}, { transaction }));
    expect(await adding).toEqual(expect.any(String));
  });

  it('is never affected by an aborted transaction of another caller', async () => {
    const kind = newKind({ concurrency: 5 });
    const { queue, events } = await openQueue(database, { timing: { pollMs: 20, heartbeatMs: 20 } });
    await queue.define([kind]);
    await queue.work(kind, async (_, { progress }) => {
      progress({ done: 1 });
      await systemClock.sleep(5);
      return undefined;
    });
    const results = await Promise.allSettled(
      Array.from({ length: 60 }, (_, n) =>
        database.transaction(async (transaction) => {
          const id = await queue.enqueue(kind, { n }, { transaction });
          if (n % 3 === 0) await transaction.query(sql`select 1 / 0`);
          return id;
        }),
      ),
    );
    const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
    expect(failures.map((error: { code?: string }) => error.code)).toEqual(Array(20).fill('22012'));
    const done = await until(async () => {
      const jobs = await queue.list({ name: kind.name, states: ['completed'] });
      return jobs.length === 40 && jobs;
    });
    expect(done).toHaveLength(40);
    expect(await queue.list({ name: kind.name })).toHaveLength(40);
    expect(events.filter((event) => event.name === 'job:store-unavailable')).toEqual([]);
  });

  it('fails a job whose result Postgres cannot hold, and only that one', async () => {
    const kind = newKind({ concurrency: 3 });
    const { queue } = await openQueue(database);
    await queue.define([kind]);
    const texts = ['fine', 'a \u0000 in it', 'fine too'];
    await queue.work(kind, async (payload) => ({ result: texts[(payload as { n: number }).n] }));
    const ids = await Promise.all(texts.map((_, n) => queue.enqueue(kind, { n })));
    await until(async () => (await queue.list({ name: kind.name, states: ['completed'] })).length === 2);
    const id = ids[1] ?? '';
    const failed = await until(async () => {
      const view = await queue.get(id);
      return view?.state === 'failed' && view;
    });
    expect(failed.reason).toContain('cannot be stored');
  });

  it('does not let a record that the store rejects block the others', async () => {
    const kind = newKind({ concurrency: 3 });
    const { queue, events } = await openQueue(database);
    await queue.define([kind]);
    const table = `"${database.schema}_jobs".job_common`;
    const refuse = (name: string, rule: string) =>
      database.script(`alter table ${table} add constraint ${name} check (${rule})`);
    const isOther = `name <> '${kind.name}'`;
    await refuse('no_two', `${isOther} or output #>> '{result}' is distinct from '2'`);
    await refuse(
      'no_end',
      `${isOther} or data #>> '{payload,n}' <> '3' or state not in ('completed', 'failed')`,
    );
    await queue.work(kind, async (payload) => ({ result: (payload as { n: number }).n }));
    const ids = await Promise.all([1, 2, 3, 4, 5].map((n) => queue.enqueue(kind, { n })));
    const statesOf = async (...picked: readonly number[]) =>
      Promise.all(picked.map(async (index) => (await queue.get(ids[index] ?? ''))?.state));
    await until(async () => (await statesOf(0, 1, 3, 4)).join() === 'completed,failed,completed,completed');
    expect((await queue.get(ids[1] ?? ''))?.reason).toContain('cannot be stored');
    // Rejected even as failed: it waits until it is reaped for lack of a heartbeat, and its slot is free.
    expect(await statesOf(2)).toEqual(['running']);
    await database.script(`alter table ${table} drop constraint no_two, drop constraint no_end`);
    expect(events.filter(({ name }) => name === 'job:store-unavailable')).toEqual([]);
  });

  it('rejects a kind with invalid delays', async () => {
    const { queue } = await openQueue(database);
    for (const wrong of [Number.NaN, -1, Number.POSITIVE_INFINITY]) {
      await expect(queue.define([newKind({ retryDelayMs: wrong })])).rejects.toThrow('retryDelayMs is');
      await expect(queue.define([newKind({ retryDelayMaxMs: wrong })])).rejects.toThrow('retryDelayMaxMs is');
    }
  });

  // Only one process has the embedded store open: jobs marked as running when another starts belong to a dead one. Before
  // the tests whose queues stay open and reap after a short time without a heartbeat.
  if (name === 'the embedded store')
    it('runs jobs of a dead process at once, however recent its last heartbeat', async () => {
      const kind = newKind();
      const dead = killable(database);
      const doomed = await openJobQueue(dead.database);
      await doomed.queue.define([kind]);
      await doomed.queue.work(kind, () => new Promise(() => undefined));
      const id = (await doomed.queue.enqueue(kind, {})) ?? '';
      await until(() => doomed.events.some((event) => event.name === 'job:started'));
      dead.kill();
      // It reaps after 30 seconds without a heartbeat, far more than the timeout of `until`.
      const { queue } = await openQueue(database);
      await queue.define([kind]);
      await queue.work(kind, async () => undefined);
      const view = await until(async () => {
        const job = await queue.get(id);
        return job?.state === 'completed' && job;
      });
      expect(view.attempts).toBe(2);
    });

  if (name === 'the embedded store')
    it('claims no job before those of the process before are queued again', async () => {
      const kind = newKind();
      const recovery = Promise.withResolvers<void>();
      const slow = new Proxy(database, {
        get(target, property) {
          const value: unknown = Reflect.get(target, property, target);
          if (property !== 'query') return typeof value === 'function' ? value.bind(target) : value;
          return async (query: Sql | RawSql, options?: QueryOptions) => {
            if (query instanceof Sql && query.values.includes(lostReason)) await recovery.promise;
            return target.query(query, options);
          };
        },
      });
      const { queue } = await openQueue(slow);
      await queue.define([kind]);
      let hasStarted = false;
      await queue.work(kind, async () => void (hasStarted = true));
      await queue.enqueue(kind, {});
      await systemClock.sleep(300);
      expect(hasStarted).toBe(false);
      recovery.resolve();
      await until(() => hasStarted);
    });

  it('runs a job again when its process died, but not forever', async () => {
    const kind = newKind({ retries: 0 });
    const timing = { pollMs: 50, heartbeatMs: 100, lostAfterMs: 400 };
    const watcher = await openQueue(database, { timing });
    await watcher.queue.define([kind]);
    const id = (await watcher.queue.enqueue(kind, {})) ?? '';
    for (const attempts of [1, 2, 3, 4]) {
      const process = killable(database);
      const worker = await openJobQueue(process.database, { timing: { ...timing, heartbeatMs: 60_000 } });
      await worker.queue.define([kind]);
      await worker.queue.work(kind, () => new Promise(() => undefined));
      await until(async () => {
        const view = await watcher.queue.get(id);
        return view?.state === 'running' && view.attempts === attempts;
      });
      process.kill();
    }
    const view = await until(async () => {
      const job = await watcher.queue.get(id);
      return job?.state === 'failed' && job;
    });
    expect(view).toMatchObject({ attempts: 4, reason: 'The process that ran it stopped without finishing.' });
    const names = watcher.events.filter((event) => event.payload['jobId'] === id).map(({ name }) => name);
    expect(names).toContain('job:failed');
  });

  it('ignores the writes of a worker that lost the job', async () => {
    const kind = newKind({ concurrency: 1 });
    const timing = { pollMs: 50, heartbeatMs: 100, lostAfterMs: 400 };
    // The heartbeats are too rare, like those of a paused process.
    const slow = await openQueue(database, { timing: { ...timing, heartbeatMs: 60_000 } });
    const quick = await openQueue(database, { timing });
    const gate = Promise.withResolvers<void>();
    for (const { queue } of [slow, quick]) await queue.define([kind]);
    await slow.queue.work(kind, async () => ({ result: await gate.promise.then(() => 'slow') }));
    const id = (await slow.queue.enqueue(kind, {})) ?? '';
    await until(() => slow.events.length > 0);
    await quick.queue.work(kind, async () => ({ result: 'quick' }));
    const view = await until(async () => {
      const job = await quick.queue.get(id);
      return job?.state === 'completed' && job;
    });
    expect(view).toMatchObject({ result: 'quick' });
    // More than two if the second attempt was lost as well, on a busy machine.
    expect(view.attempts).toBeGreaterThanOrEqual(2);
    gate.resolve();
    await slow.queue.stop(5_000);
    expect(await quick.queue.get(id)).toEqual(view);
    // The first poll finds the lost job and emits the event.
    const names = slow.events.map(({ name }) => name).filter((name) => name !== 'job:retried');
    expect(names).toEqual(['job:started']);
  });

  it.each(['ends', 'reports progress'] as const)(
    'ignores the writes of a worker that lost the job to a running one, when it %s',
    async (act) => {
      const kind = newKind({ concurrency: 1 });
      const timing = { pollMs: 50, heartbeatMs: 100, lostAfterMs: 400 };
      const slow = await openQueue(database, { timing: { ...timing, heartbeatMs: 60_000 } });
      const quick = await openQueue(database, { timing });
      for (const { queue } of [slow, quick]) await queue.define([kind]);
      const [lost, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const stopped = Promise.withResolvers<void>();
      await slow.queue.work(kind, async (_, { progress, signal }) => {
        signal.addEventListener('abort', () => stopped.resolve());
        await lost.promise;
        if (act === 'ends') return { result: 'slow' };
        progress({ done: 99 });
        return new Promise(() => undefined);
      });
      const id = (await slow.queue.enqueue(kind, {})) ?? '';
      await until(() => slow.events.length > 0);
      await quick.queue.work(kind, async () => ({ result: await over.promise.then(() => 'quick') }));
      await until(() => quick.events.some(({ name }) => name === 'job:started'));
      lost.resolve();
      if (act === 'ends') await slow.queue.stop(5_000);
      else await stopped.promise;
      expect(await quick.queue.get(id)).toMatchObject({ state: 'running', attempts: 2, progress: null });
      expect(slow.events.filter(({ name }) => name === 'job:completed')).toEqual([]);
      over.resolve();
      const view = await until(async () => {
        const job = await quick.queue.get(id);
        return job?.state === 'completed' && job;
      });
      expect(view).toMatchObject({ attempts: 2, result: 'quick', progress: null });
    },
  );

  it('returns whole milliseconds', async () => {
    const kind = newKind();
    const { queue, events } = await openQueue(database);
    await queue.define([kind]);
    await queue.work(kind, async () => undefined);
    await queue.enqueue(kind, {});
    const done = await until(() => events.find(({ name }) => name === 'job:completed'));
    expect(done.payload['durationMs']).toSatisfy(Number.isInteger);
  });
});
