// Schedules, runs and heartbeats on virtual time.
import { MemoryRunStore, MemorySourceStore } from '../support/extraction/memory-stores.ts';
import { expect, it } from 'vitest';
import type { EmittedEvent, EventListener } from '../../src/core/index.ts';
import { EventBus, seededIds, seededRandom } from '../../src/core/index.ts';
import { VirtualClock } from '../support/core/virtual-clock.ts';
import type { ExtractionEvents, ExtractionRun } from '../../src/extraction/index.ts';
import type { ExtractSource } from '../../src/extraction/runs/run-job.ts';
import type { RunReport } from '../../src/extraction/runs/run-service.ts';
import { noFigures, RunService, runEvents } from '../../src/extraction/index.ts';
import { extractionRunHandler } from '../../src/extraction/runs/run-job.ts';
import { extractionRunJob } from '../../src/extraction/runs/run-job.ts';
import { jobEventSpecs } from '../../src/platform/jobs/events.ts';
import { createMemoryJobQueue } from '../support/jobs/memory-job-queue.ts';
import { createRateLimiter } from '../support/resilience/memory-rate-limiter.ts';
import { exampleSource } from '../support/extraction/run-stores.contract.ts';

const minute = 60_000;
const hour = 60 * minute;

class CountingRunStore extends MemoryRunStore {
  puts = 0;

  override put(run: ExtractionRun): Promise<boolean> {
    this.puts += 1;
    return super.put(run);
  }
}

/** `extract` is what a run does; two servers check the schedules. */
async function world(extract: (clock: VirtualClock) => ExtractSource) {
  const clock = new VirtualClock(Date.parse('2026-03-01T12:00:00Z'));
  const random = seededRandom(3);
  const ids = seededIds(random, () => clock.now());
  const sources = new MemorySourceStore();
  const runs = new CountingRunStore();
  const bus = new EventBus({ ...runEvents, ...jobEventSpecs });
  const emitted: EmittedEvent[] = [];
  bus.listen((event) => emitted.push(event));
  const jobs = createMemoryJobQueue({ clock, random, ids, events: bus });
  const redact = (text: string) => text.replaceAll('hush', '[redacted]');
  const common = { sources, runs, clock, ids, events: bus, redact };
  const service = () =>
    new RunService({
      ...common,
      jobs: {
        // A job is visible only after the transaction that adds it has ended.
        enqueue: (definition, payload, options) =>
          jobs.enqueue(definition, payload, { ...options, startAfterMs: 1 }),
        cancel: (id) => jobs.cancel(id),
        get: (id) => jobs.get(id),
      },
      inTransaction: (work) => work(undefined),
    });
  const services = [service(), service()];
  const [first] = services as [RunService, RunService];
  await jobs.define([extractionRunJob]);
  await jobs.work(extractionRunJob, extractionRunHandler({ ...common, extract: extract(clock) }));
  /** Passes time while the servers start due runs. */
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 15_000) {
      await clock.advance(15_000);
      await Promise.all(services.map((each) => each.startDue()));
    }
  };
  const times = async () =>
    (await runs.list({ limit: 100 }))
      .map(({ startedAt }) => startedAt?.toISOString().slice(11, 16))
      .toReversed();
  return { clock, sources, runs, jobs, service: first, pass, times, emitted };
}

const rateLimiter = createRateLimiter({ limits: { perSecond: 1 }, clock: new VirtualClock() }).snapshot();

const result = (state: 'completed' | 'interrupted') =>
  ({
    session: 's',
    state,
    types: [],
    calls: 1,
    rateLimitedCalls: 0,
    rateLimiter,
    itemsPerSecond: null,
  }) as const;

const emit = (onEvent: EventListener, name: keyof ExtractionEvents, payload: object) => {
  onEvent({
    name,
    spec: { level: 'debug', message: name },
    payload: payload as Record<string, unknown>,
  });
};

it('starts each occurrence once over all servers, and skips those that the previous run reaches into', async () => {
  let takes = minute;
  const { sources, pass, times, emitted } = await world((clock) => async () => {
    await clock.sleep(takes);
    return result('completed');
  });
  await sources.add(exampleSource({ schedule: '0 * * * *' }));
  await pass(3 * hour + 5 * minute);
  expect(await times()).toEqual(['13:00', '14:00', '15:00']);
  takes = 90 * minute;
  await pass(3 * hour);
  expect(await times()).toEqual(['13:00', '14:00', '15:00', '16:00', '18:00']);
  expect(emitted.filter(({ name }) => name === 'extraction:schedule-skipped')).toHaveLength(1);
});

it('writes a running run about once a second, and heartbeats while nothing arrives', async () => {
  const figures = {
    types: [{ type: 'looks', items: 5, total: 9, state: 'running' }],
    calls: 2,
    rateLimitedCalls: 1,
  };
  const { clock, sources, runs, service, jobs, emitted } = await world(
    (time) =>
      async (_source, { onEvent }) => {
        emit(onEvent, 'extraction:started', { session: 's' });
        for (let tick = 0; tick < 40; tick += 1) {
          await time.sleep(250);
          emit(onEvent, 'extraction:progress', { session: 's', ...figures, rateLimiter, itemsPerSecond: 4 });
        }
        await time.sleep(10 * minute);
        return result('completed');
      },
  );
  await sources.add(exampleSource());
  const { id, jobId } = await service.start(exampleSource().id);
  await clock.advance(10_000);
  expect(await service.get(id)).toMatchObject({ state: 'running', session: 's', ...figures });
  expect(await jobs.get(jobId)).toMatchObject({ progress: { done: 5, total: 9 } });
  expect(runs.puts).toBeGreaterThan(9);
  expect(runs.puts).toBeLessThan(16);
  expect(emitted.filter(({ name }) => name === 'extraction:run-progress').length).toBeLessThan(12);
  await clock.advance(9 * minute);
  expect(await service.get(id)).toMatchObject({ state: 'running' });
  await clock.advance(2 * minute);
  expect(await service.get(id)).toMatchObject({ state: 'completed' });
});

it('resumes a run that took too long instead of starting it again', async () => {
  const freshness: unknown[] = [];
  const { clock, sources, service } = await world(
    (time) =>
      async (_source, { fresh, retryFailed, onEvent, signal }) => {
        freshness.push([fresh, retryFailed]);
        emit(onEvent, 'extraction:started', { session: 's' });
        const figures = { types: [], calls: 7, rateLimitedCalls: 3, rateLimiter, itemsPerSecond: 4 };
        emit(onEvent, 'extraction:progress', { session: 's', ...figures });
        await time.sleep(30 * hour - (freshness.length - 1) * 23 * hour, signal);
        return result('completed');
      },
  );
  await sources.add(exampleSource());
  const { id } = await service.start(exampleSource().id, { retryFailed: true });
  await clock.advance(31 * hour);
  expect(freshness).toEqual([
    ['when-finished', true],
    [false, false],
  ]);
  // Calls of both attempts together.
  expect(await service.get(id)).toMatchObject({ state: 'completed', calls: 7 + 1, rateLimitedCalls: 3 });
});

it('stores why a run failed, without secrets, and the source can run again', async () => {
  const { clock, sources, service, jobs } = await world(
    () => () => Promise.reject(new Error('no entry for hush')),
  );
  await sources.add(exampleSource());
  const { id, jobId } = await service.start(exampleSource().id);
  await clock.advance(minute);
  expect(await service.get(id)).toMatchObject({ state: 'failed', message: 'no entry for [redacted]' });
  expect(await jobs.get(jobId)).toMatchObject({
    state: 'skipped',
    reason: 'The run failed: no entry for [redacted]',
  });
  await expect(service.start(exampleSource().id)).resolves.toMatchObject({ state: 'queued' });
});

it('stops a queued run, and ends one whose job was canceled elsewhere', async () => {
  const { clock, sources, service, jobs, pass } = await world((time) => async (_source, { signal }) => {
    await time.sleep(hour, signal);
    return result('completed');
  });
  const numbers = [1, 2, 3, 4];
  const idOf = (number: number) => `0195a1b2-c3d4-7e5f-8a9b-${String(number).padStart(12, '0')}`;
  for (const number of numbers)
    await sources.add(exampleSource({ id: idOf(number), name: `s${number}`, schedule: null }));
  const started = [];
  for (const number of numbers) {
    started.push(await service.start(idOf(number)));
    await clock.advance(5);
  }
  await clock.advance(1_000);
  const states = async () => (await service.list({ limit: 10 })).map(({ state }) => state).toReversed();
  expect(await states()).toEqual(['running', 'running', 'queued', 'queued']);
  await service.stop(started[0]?.id ?? '');
  expect(await service.stop(started[3]?.id ?? '')).toMatchObject({ state: 'interrupted' });
  await clock.advance(5_000);
  expect(await states()).toEqual(['interrupted', 'running', 'running', 'interrupted']);
  expect((await service.get(started[0]?.id ?? '')).message).toBe(
    'It was stopped; the next run continues from there.',
  );
  const waiting = await service.start(idOf(4));
  await jobs.cancel(waiting.jobId);
  await pass(minute);
  expect(await service.get(waiting.id)).toMatchObject({
    state: 'interrupted',
    message: 'Its job was stopped before it started.',
  });
});

it('counts a command without a report for a minute as interrupted, until it reports again', async () => {
  const { clock, service, emitted } = await world(() => () => Promise.reject(new Error('not used')));
  const report: RunReport = {
    ...noFigures,
    id: '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b',
    source: 'looker https://acme.example',
    vault: '/somewhere/acme.vault',
    session: 's',
    state: 'running',
    message: null,
  };
  await service.report(report);
  await clock.advance(59_000);
  expect(await service.get(report.id)).toMatchObject({ state: 'running', origin: 'cli' });
  await expect(service.stop(report.id)).rejects.toMatchObject({ code: 'CONFLICT' });
  await clock.advance(2_000);
  expect(await service.get(report.id)).toMatchObject({ state: 'interrupted' });
  await service.report({ ...report, calls: 3 });
  expect(await service.get(report.id)).toMatchObject({ state: 'running', calls: 3, finishedAt: null });
  await service.report({ ...report, state: 'failed', message: 'the error was hush' });
  expect(await service.get(report.id)).toMatchObject({
    state: 'failed',
    message: 'the error was [redacted]',
  });
  expect(emitted.map(({ name }) => name)).toEqual([
    'extraction:run-started',
    'extraction:run-progress',
    'extraction:run-progress',
    'extraction:run-finished',
  ]);
});

it('starts a run right after the previous one, whose job ends a moment later, but does not wait forever', async () => {
  const { clock, sources, service, jobs } = await world(() => () => Promise.resolve(result('completed')));
  const source = exampleSource();
  await sources.add(source);
  /** Holds the source's place in the queue, as the job of a run that has ended does until it is settled. */
  const lockVault = async () =>
    (await jobs.enqueue(
      extractionRunJob,
      { sourceId: source.id, runId: source.id, fresh: false, retryFailed: false },
      { key: source.id, startAfterMs: hour },
    )) ?? '';
  const held = await lockVault();
  const started = service.start(source.id);
  await clock.advance(1_000);
  await jobs.cancel(held);
  await clock.advance(1_000);
  expect(await started).toMatchObject({ state: 'queued' });
  await clock.advance(1_000);
  await lockVault();
  const refused = expect(service.start(source.id)).rejects.toMatchObject({ code: 'CONFLICT' });
  await clock.advance(10_000);
  await refused;
});
