// Worker processes that share a queue, are killed, and lose their server for a while.
import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../src/core/index.ts';
import type { Database } from '../../src/platform/postgres/ports.ts';
import { openServerDatabase } from '../../src/platform/postgres/server/server-store.ts';
import { startPrivatePostgres } from '../support/private-servers.ts';
import { databaseUrl, uniqueName } from '../support/services.ts';
import { dropJobSchema, openJobQueue, sleepyJob, until } from './jobs-support.ts';

const script = fileURLToPath(new URL('./jobs-worker.ts', import.meta.url));

interface WorkerProcess {
  readonly child: ChildProcess;
  /** Output of the process so far, line by line. */
  readonly lines: readonly string[];
}

async function startWorker(url: string, schema: string, takesMs: number): Promise<WorkerProcess> {
  const child = spawn(process.execPath, [script, url, schema, String(takesMs)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  await until(() => lines.includes('ready'));
  return { child, lines };
}

describe('job worker processes', () => {
  let database: Database | undefined;
  afterEach(async () => {
    if (database) await dropJobSchema(database);
    await database?.close();
    database = undefined;
  });
  const openStore = async (url: string) => {
    const schema = uniqueName('jobs');
    database = await openServerDatabase({ url, schema, clock: systemClock });
    return { schema, database };
  };

  it('may all be the first on a new store', async () => {
    const { database } = await openStore(databaseUrl());
    const opened = await Promise.all([1, 2, 3].map(() => openJobQueue(database)));
    for (const { queue } of opened) onTestFinished(() => queue.stop(0));
    await Promise.all(opened.map(({ queue }) => queue.define([sleepyJob])));
    const ids = await Promise.all(opened.map(({ queue }) => queue.enqueue(sleepyJob, {})));
    expect(new Set(ids).size).toBe(3);
  });

  it('are rejected with a reason by a store that a newer version has used', async () => {
    const { schema, database } = await openStore(databaseUrl());
    const { queue } = await openJobQueue(database);
    await queue.stop(0);
    await database.script(`update "${schema}_jobs".version set version = 9999`);
    await expect(openJobQueue(database)).rejects.toMatchObject({
      code: 'STATE_UNUSABLE',
      message: expect.stringContaining('newer Headworks'),
    });
  });

  it('never run the same job twice when they share a queue', async () => {
    const { schema, database } = await openStore(databaseUrl());
    const { queue } = await openJobQueue(database);
    onTestFinished(() => queue.stop(0));
    await queue.define([sleepyJob]);
    const workers = await Promise.all([1, 2].map(() => startWorker(databaseUrl(), schema, 2)));
    const ids = await Promise.all(Array.from({ length: 200 }, (_, n) => queue.enqueue(sleepyJob, { n })));
    await until(async () =>
      (await queue.counts()).some((row) => row.state === 'completed' && row.count === 200),
    );
    const starts = workers.map(({ lines }) => lines.filter((line) => line.startsWith('start')));
    expect(starts.flat().toSorted()).toEqual(ids.map((id) => `start ${id}`).toSorted());
    for (const started of starts) expect(started.length).toBeGreaterThan(0);
  });

  it('leave their job to another one when they are killed', async () => {
    const { schema, database } = await openStore(databaseUrl());
    const timing = { pollMs: 100, heartbeatMs: 200, lostAfterMs: 1_500 };
    const { queue, events } = await openJobQueue(database, { timing });
    onTestFinished(() => queue.stop(0));
    await queue.define([sleepyJob]);
    const doomed = await startWorker(databaseUrl(), schema, 60_000);
    const id = (await queue.enqueue(sleepyJob, {})) ?? '';
    await until(() => doomed.lines.includes(`start ${id}`));
    doomed.child.kill('SIGKILL');
    const attempts: number[] = [];
    await queue.work(sleepyJob, async (_, { attempt }) => void attempts.push(attempt));
    await until(async () => (await queue.get(id))?.state === 'completed');
    expect(attempts).toEqual([2]);
    expect(events.map(({ name }) => name)).toEqual(['job:retried', 'job:started', 'job:completed']);
  });

  it('reconnect by themselves after the server was down', async () => {
    const server = await startPrivatePostgres();
    const { database } = await openStore(server.url);
    const { queue, events } = await openJobQueue(database, { timing: { pollMs: 100, heartbeatMs: 200 } });
    onTestFinished(() => queue.stop(0));
    await queue.define([sleepyJob]);
    const gate = Promise.withResolvers<void>();
    let runs = 0;
    await queue.work(sleepyJob, async () => {
      runs += 1;
      await gate.promise;
      return { result: 'finished while the server was away' };
    });
    const id = (await queue.enqueue(sleepyJob, {})) ?? '';
    await until(() => runs === 1);
    await server.kill();
    gate.resolve();
    await until(() => events.some(({ name }) => name === 'job:store-unavailable'));
    await expect(queue.enqueue(sleepyJob, {})).rejects.toMatchObject({ code: 'STATE_UNAVAILABLE' });
    await server.restart();
    await until(async () => (await queue.get(id).catch(() => null))?.state === 'completed', 20_000);
    expect(await queue.get(id)).toMatchObject({ attempts: 1, result: 'finished while the server was away' });
    const next = (await queue.enqueue(sleepyJob, {})) ?? '';
    await until(async () => (await queue.get(next))?.state === 'completed');
    await until(() => events.some(({ name }) => name === 'job:store-available'));
    expect(runs).toBe(2);
  });
});
