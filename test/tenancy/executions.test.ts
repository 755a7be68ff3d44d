// Executions on virtual time: start, run, cancel, wait, and the end of orphans.
import { describe, expect, it } from 'vitest';
import { CoreError } from '../../src/core/index.ts';
import { VirtualClock } from '../support/core/virtual-clock.ts';
import type { WorkflowTask } from '../../src/tenancy/index.ts';
import { DeploymentError } from '../../src/tenancy/index.ts';
import {
  CountedSlots,
  accepted,
  acme,
  exampleDeployment,
  executionWorld,
  inputOf,
  startRequest,
  other,
} from '../support/tenancy/execution-world.ts';

const never = new AbortController().signal;

/** Runs until its signal aborts. */
const untilAborted = ({ signal }: WorkflowTask) =>
  new Promise<never>((_, reject) =>
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true }),
  );

describe('ExecutionStarter', () => {
  it('returns one error for unknown deployments and those of other organizations, and acquires no slot', async () => {
    const world = await executionWorld({
      clock: new VirtualClock(),
      deployments: [
        exampleDeployment(),
        exampleDeployment({ id: other, organizationId: other, name: 'theirs' }),
      ],
    });
    const refusals = await Promise.all(
      [
        { organization: 'unknown' },
        { deployment: 'nothing' },
        { organization: other, deployment: 'theirs' },
        { callerOrganizationId: other },
        { organization: '' },
        { organization: 'x'.repeat(10_000) },
      ].map((change) => world.starter.begin({ ...startRequest, ...change }).catch((error: unknown) => error)),
    );
    expect(new Set(refusals.map((error) => (error as Error).message)).size).toBe(1);
    expect(refusals).toSatisfy((errors: CoreError[]) => errors.every(({ code }) => code === 'NOT_FOUND'));
    expect(world.slots.held.size).toBe(0);
  });

  it('rejects a disabled deployment and an invalid wait before a slot is acquired', async () => {
    const world = await executionWorld({
      clock: new VirtualClock(),
      deployments: [exampleDeployment({ isActive: false }), exampleDeployment({ name: 'fine' })],
    });
    const begin = (change: object) => world.starter.begin({ ...startRequest, ...change });
    await expect(begin({})).rejects.toMatchObject({ code: 'DEPLOYMENT_INACTIVE' });
    for (const waitMs of [60_001, -1, Number.NaN])
      await expect(begin({ deployment: 'fine', waitMs })).rejects.toMatchObject({ code: 'INPUT_INVALID' });
    expect(world.slots.releases).toEqual([]);
    expect(world.slots.held.size).toBe(0);
  });

  it('releases the slot exactly once on every path before the commit', async () => {
    const store = (await executionWorld({ clock: new VirtualClock() })).store;
    let problem: Error | undefined;
    const dispatch = store.dispatch.bind(store);
    store.dispatch = (...input) => (problem ? Promise.reject(problem) : dispatch(...input));
    const world = await executionWorld({
      clock: new VirtualClock(),
      store,
      checkInput: async (_options, { parameters }) =>
        parameters['bad'] === undefined ? [] : [{ field: 'bad', message: 'must not be there' }],
    });
    const { starter, slots } = world;

    const left = await starter.begin(startRequest);
    await left.cancel();
    await left.cancel();
    const bad = await starter.begin(startRequest);
    await expect(bad.commit(inputOf({ bad: 1 }))).rejects.toMatchObject({
      code: 'DEPLOYMENT_INPUT_INVALID',
      details: { problems: [{ field: 'bad', message: 'must not be there' }] },
    });
    await bad.cancel();
    const deep = await starter.begin(startRequest);
    const nested = JSON.parse(`${'['.repeat(5_000)}${']'.repeat(5_000)}`) as unknown;
    await expect(deep.commit(inputOf({ nested }))).rejects.toMatchObject({
      code: 'DEPLOYMENT_INPUT_INVALID',
    });
    problem = new CoreError('STATE_UNAVAILABLE', 'away');
    const unstored = await starter.begin(startRequest);
    await expect(unstored.commit(inputOf())).rejects.toBe(problem);
    await unstored.cancel();
    expect(slots.releases).toEqual([left, bad, deep, unstored].map(({ executionId }) => executionId));
    expect(slots.held.size).toBe(0);

    problem = undefined;
    const entry = await starter.begin(startRequest);
    await entry.commit(inputOf());
    await entry.cancel();
    await expect(entry.commit(inputOf())).rejects.toMatchObject({ code: 'INTERNAL' });
    expect([...slots.held]).toEqual([entry.executionId]);
    expect(slots.renewedHere.size).toBe(0);
    expect(slots.releases).toHaveLength(4);
  });

  it('renews the slot until the execution is stored', async () => {
    const clock = new VirtualClock();
    const world = await executionWorld({ clock });
    const dispatch = world.store.dispatch.bind(world.store);
    const renewedDuring: string[][] = [];
    world.store.dispatch = async (...execution) => {
      renewedDuring.push([...world.slots.renewedHere]);
      return dispatch(...execution);
    };
    const entry = await world.starter.begin(startRequest);
    await entry.commit(inputOf());
    expect(renewedDuring).toEqual([[entry.executionId]]);
    expect([...world.slots.renewedHere]).toEqual([]);
    expect([...world.slots.held]).toEqual([entry.executionId]);
  });

  it('returns the execution of a known idempotency key without a slot, and rejects another request with it', async () => {
    const world = await executionWorld({ clock: new VirtualClock(), slots: new CountedSlots(1) });
    const first = await accepted(world, { idempotencyKey: 'k' }, { a: 1 });
    expect(await accepted(world, { idempotencyKey: 'k' }, { a: 1 })).toEqual(first);
    await expect(accepted(world, { idempotencyKey: 'k' }, { a: 2 })).rejects.toMatchObject({
      code: 'DEPLOYMENT_IDEMPOTENCY_CONFLICT',
    });
    await expect(accepted(world, { idempotencyKey: 'new' })).rejects.toMatchObject({
      code: 'ADMISSION_ORG_LIMIT',
    });
    expect([...world.slots.held]).toEqual([first.executionId]);
  });

  it('returns one execution for two concurrent requests with the same key, and releases one slot', async () => {
    const world = await executionWorld({ clock: new VirtualClock() });
    const entries = await Promise.all(
      [1, 2].map(() => world.starter.begin({ ...startRequest, idempotencyKey: 'k' })),
    );
    const executions = await Promise.all(entries.map((entry) => entry.commit(inputOf({ a: 1 }))));
    expect(executions[0]).toEqual(executions[1]);
    expect([...world.slots.held]).toEqual([executions[0]?.executionId]);
    expect(world.slots.releases).toHaveLength(1);
  });
});

describe('an execution', () => {
  it('completes, releases its slot, and notifies waiting requests', async () => {
    const clock = new VirtualClock();
    const world = await executionWorld({
      clock,
      run: async ({ input, organizationId }) => ({ output: input.parameters, to: organizationId }),
    });
    const execution = await accepted(world, {}, { hello: 'there' });
    const waiting = world.executions.whenEnded(execution.executionId, 300_000, never);
    await clock.advance(12_000);
    await world.work();
    expect(await waiting).toMatchObject({
      status: 'completed',
      result: { output: { hello: 'there' }, to: acme },
    });
    await clock.advance(0);
    expect(world.slots.held.size).toBe(0);
    expect(world.slots.renewedHere.size).toBe(0);
    expect(clock.pending).toBe(0);
    const ends = world.emitted.filter(({ name }) => name === 'deployments:execution-ended');
    expect(ends.map(({ payload }) => payload)).toMatchObject([{ state: 'completed', durationMs: 12_000 }]);
  });

  it('ends in order: row and webhook job together, waiting requests, the event, the slot', async () => {
    const clock = new VirtualClock();
    const deployments = [exampleDeployment({ webhookUrl: 'https://receiver.example/hook' })];
    const world = await executionWorld({ clock, deployments });
    const steps: string[] = [];
    const { executionId } = await accepted(world);
    const waiting = world.executions.whenEnded(executionId, 60_000, never);
    await clock.advance(0);
    const end = world.store.end.bind(world.store);
    world.store.end = async (id, outcome, at, alongside) => {
      const ended = await end(id, outcome, at, async (execution, transaction) => {
        await alongside?.(execution, transaction);
        steps.push(
          `webhook jobs: ${(await world.jobs.list({ name: 'deployments.webhook', limit: 9 })).length}`,
        );
      });
      steps.push('row');
      return ended;
    };
    const ended = world.executions.ended.bind(world.executions);
    world.executions.ended = (id) => {
      // The store of the test notifies already within its transaction.
      if (steps.includes('row')) steps.push('waiting requests');
      ended(id);
    };
    const release = world.slots.release.bind(world.slots);
    world.slots.release = (slot) => {
      steps.push(`slot after ${world.emitted.at(-1)?.name}`);
      return release(slot);
    };
    await world.executions.finish(executionId, { status: 'completed', result: 1, warnings: [] });
    expect((await waiting).status).toBe('completed');
    const afterEvent = 'slot after deployments:execution-ended';
    expect(steps).toEqual(['webhook jobs: 1', 'row', 'waiting requests', afterEvent]);
  });

  it('releases its slot again when it was canceled elsewhere: this process had renewed it since', async () => {
    const clock = new VirtualClock();
    const world = await executionWorld({ clock, run: untilAborted });
    await world.work();
    const { executionId } = await accepted(world);
    await clock.advance(0);
    await world.executions.cancel(executionId);
    // A renewal in flight restores the slot.
    world.slots.held.add(executionId);
    await clock.advance(5_000);
    expect(world.slots.releases.filter((id) => id === executionId)).toHaveLength(2);
    expect(world.slots.held.size).toBe(0);
  });

  it('is retried only after retryable failures, and ends as an error when no attempt is left', async () => {
    const clock = new VirtualClock();
    let tries = 0;
    const world = await executionWorld({
      clock,
      run: async ({ input }) => {
        tries += 1;
        if (input.parameters['again'] === true)
          throw new CoreError('DEADLINE_EXCEEDED', 'models are slow', { isRetryable: true });
        if (input.parameters['bug'] === true) throw new TypeError('secret internals');
        throw new DeploymentError('DEPLOYMENT_RESPONSE_INVALID', 'no JSON came');
      },
    });
    await world.work();
    const ended = async (parameters: Record<string, unknown>) => {
      tries = 0;
      const { executionId } = await accepted(world, {}, parameters);
      const { status, failure } = await clock.run(world.executions.whenEnded(executionId, 200_000, never));
      return { status, failure, tries };
    };
    expect(await ended({})).toEqual({
      status: 'failed',
      failure: { code: 'DEPLOYMENT_RESPONSE_INVALID', message: 'no JSON came' },
      tries: 1,
    });
    expect(await ended({ again: true })).toMatchObject({
      status: 'failed',
      failure: { code: 'DEADLINE_EXCEEDED', message: 'models are slow' },
      tries: 3,
    });
    const bug = await ended({ bug: true });
    expect(bug).toMatchObject({ status: 'failed', failure: { code: 'INTERNAL' }, tries: 1 });
    expect(JSON.stringify(bug)).not.toContain('internals');
    expect(world.slots.held.size).toBe(0);
  });

  it('is canceled at once from any process, and a later outcome is ignored', async () => {
    const clock = new VirtualClock();
    let begun = 0;
    const world = await executionWorld({
      clock,
      run: async (task) => {
        begun += 1;
        return untilAborted(task).catch(() => 'finished after all');
      },
    });
    const queued = await accepted(world);
    expect(await world.executions.cancel(queued.executionId)).toMatchObject({
      status: 'canceled',
      startedAt: null,
    });
    await world.work();
    const running = await accepted(world);
    await clock.advance(0);
    expect(await world.executions.get(running.executionId)).toMatchObject({ status: 'running' });
    const canceled = await world.executions.cancel(running.executionId);
    await clock.advance(5_000);
    expect(canceled).toMatchObject({ status: 'canceled', result: null });
    expect(await world.executions.get(running.executionId)).toEqual(canceled);
    expect(await world.executions.cancel(running.executionId)).toEqual(canceled);
    expect(begun).toBe(1);
    expect(world.slots.held.size).toBe(0);
    expect(world.slots.renewedHere.size).toBe(0);
    await expect(world.executions.cancel('0195a1b2-0000-7000-8000-0000000000ff')).rejects.toMatchObject({
      code: 'NOT_FOUND',
    });
  });

  it('is canceled when its job is canceled, running or queued', async () => {
    const clock = new VirtualClock();
    const world = await executionWorld({ clock, run: untilAborted, options: { concurrency: 1 } });
    await world.work();
    const [running, waiting] = [await accepted(world), await accepted(world)];
    await clock.advance(0);
    for (const { jobId } of [running, waiting]) await world.jobs.cancel(jobId);
    await clock.advance(0);
    expect(await world.executions.get(running.executionId)).toMatchObject({ status: 'canceled' });
    expect(await world.executions.failOrphans()).toBe(1);
    expect(await world.executions.get(waiting.executionId)).toMatchObject({ status: 'canceled' });
    expect(world.slots.held.size).toBe(0);
    expect(await world.executions.failOrphans()).toBe(0);
  });

  it('ends as an error after its timeout, and after the longest slot time whatever its job does', async () => {
    const clock = new VirtualClock();
    const world = await executionWorld({
      clock,
      run: untilAborted,
      options: { executionTimeoutSeconds: 60, concurrency: 1 },
    });
    await world.work();
    const slow = await accepted(world);
    await clock.advance(60_001);
    expect(await world.executions.get(slow.executionId)).toMatchObject({
      status: 'failed',
      failure: { code: 'DEADLINE_EXCEEDED' },
    });
    await world.jobs.stop(0);
    const abandoned = await accepted(world);
    expect(await world.executions.failOrphans()).toBe(0);
    await world.executions.endOverdue(abandoned.executionId);
    expect(await world.executions.get(abandoned.executionId)).toMatchObject({
      status: 'failed',
      failure: { code: 'DEADLINE_EXCEEDED' },
    });
    expect(world.slots.held.size).toBe(0);
  });

  it.each([
    ['result', (end: PromiseWithResolvers<never>) => end.resolve({ result: 'late', warnings: [] } as never)],
    ['failure', (end: PromiseWithResolvers<never>) => end.reject(new Error('late'))],
  ])(
    'ends at its timeout without waiting for a workflow that ignores its signal; a late %s is ignored',
    async (_, endLate) => {
      const clock = new VirtualClock();
      const late = Promise.withResolvers<never>();
      const options = { executionTimeoutSeconds: 60, concurrency: 1 };
      const world = await executionWorld({ clock, run: () => late.promise, options });
      await world.work();
      const { executionId } = await accepted(world);
      await clock.advance(60_001);
      const ended = await world.executions.get(executionId);
      expect(ended).toMatchObject({ status: 'failed', failure: { code: 'DEADLINE_EXCEEDED' } });
      expect(world.slots.held.size).toBe(0);
      endLate(late);
      await clock.advance(1_000);
      expect(await world.executions.get(executionId)).toEqual(ended);
      // The next execution runs: nothing waits for the abandoned one.
      const next = await accepted(world);
      await clock.advance(1);
      expect((await world.executions.get(next.executionId)).startedAt).not.toBeNull();
    },
  );

  it('ends as an error when its job failed without it or is gone', async () => {
    const world = await executionWorld({ clock: new VirtualClock() });
    const { executionId } = await accepted(world);
    const views = world.jobs.get.bind(world.jobs);
    world.jobs.list = async () => [];
    expect(await world.executions.failOrphans()).toBe(0);
    world.jobs.get = async (id) => {
      const view = await views(id);
      return view && { ...view, state: 'failed', reason: 'The process that ran it went away.' };
    };
    expect(await world.executions.failOrphans()).toBe(1);
    expect(await world.executions.get(executionId)).toMatchObject({
      status: 'failed',
      failure: { code: 'INTERNAL', message: expect.stringContaining('went away') as string },
    });
    const second = await accepted(world);
    world.jobs.get = async () => null;
    expect(await world.executions.failOrphans()).toBe(1);
    expect(await world.executions.get(second.executionId)).toMatchObject({ status: 'failed' });
  });

  it('keeps its outcome while the state store is down, and calls no model twice', async () => {
    const clock = new VirtualClock();
    let runs = 0;
    const world = await executionWorld({ clock, run: async () => ++runs });
    const end = world.store.end.bind(world.store);
    let isAway = true;
    world.store.end = (...input) =>
      isAway ? Promise.reject(new CoreError('STATE_UNAVAILABLE', 'away')) : end(...input);
    await world.work();
    const { executionId } = await accepted(world);
    await clock.advance(20_000);
    expect(await world.executions.get(executionId)).toMatchObject({ status: 'running' });
    isAway = false;
    await clock.advance(2_000);
    expect(await world.executions.get(executionId)).toMatchObject({ status: 'completed', result: 1 });
    expect(runs).toBe(1);
  });

  it('continues elsewhere when the process drains: it stays running and keeps its slot', async () => {
    const clock = new VirtualClock();
    const world = await executionWorld({ clock, run: untilAborted });
    await world.work();
    const { executionId } = await accepted(world);
    await clock.advance(0);
    await clock.run(world.jobs.stop(100));
    expect(await world.executions.get(executionId)).toMatchObject({ status: 'running', finishedAt: null });
    expect([...world.slots.held]).toEqual([executionId]);
    expect(world.slots.renewedHere.size).toBe(0);
  });
});

describe('waiting for an end', () => {
  it('returns the current state after the timeout or when the caller disconnects', async () => {
    const clock = new VirtualClock();
    const world = await executionWorld({ clock });
    const { executionId } = await accepted(world);
    const leaving = new AbortController();
    const answers: string[] = [];
    void world.executions
      .whenEnded(executionId, 7_000, never)
      .then(({ status }) => answers.push(`in time ${status}`));
    void world.executions
      .whenEnded(executionId, 100_000, leaving.signal)
      .then(({ status }) => answers.push(`left ${status}`));
    await clock.advance(6_999);
    expect(answers).toEqual([]);
    await clock.advance(1);
    expect(answers).toEqual(['in time queued']);
    leaving.abort();
    await clock.advance(0);
    expect(answers).toEqual(['in time queued', 'left queued']);
    expect(clock.pending).toBe(0);
    await expect(world.executions.whenEnded('nonsense', 1_000, never)).rejects.toMatchObject({
      code: 'NOT_FOUND',
    });
    expect(clock.pending).toBe(0);
  });

  it('does not miss an end between the registration and the read', async () => {
    const clock = new VirtualClock();
    const world = await executionWorld({ clock });
    const { executionId } = await accepted(world);
    const get = world.store.get.bind(world.store);
    world.store.get = async (id) => {
      const read = await get(id);
      world.store.get = get;
      await world.executions.finish(id, { status: 'canceled' });
      return read;
    };
    const waiting = world.executions.whenEnded(executionId, 60_000, never);
    await clock.advance(0);
    expect((await waiting).status).toBe('canceled');
  });

  it('notices an end without a notification', async () => {
    const clock = new VirtualClock();
    const world = await executionWorld({ clock });
    const { executionId } = await accepted(world);
    const waiting = world.executions.whenEnded(executionId, 60_000, never);
    await world.close();
    await clock.advance(1_000);
    await world.store.end(executionId, { status: 'canceled' }, new Date(clock.now()));
    expect(await clock.run(waiting)).toMatchObject({ status: 'canceled' });
    expect(clock.monotonic()).toBeLessThanOrEqual(5_000);
  });
});

describe('ExecutionService', () => {
  it('returns an execution to its own deployment only', async () => {
    const world = await executionWorld({ clock: new VirtualClock() });
    const { executionId } = await accepted(world);
    const ours = exampleDeployment();
    expect(await world.executions.getOf(ours, executionId)).toMatchObject({ executionId });
    const theirs = exampleDeployment({ id: '0195a1b2-0000-7000-8000-00000000000b' });
    await expect(world.executions.getOf(theirs, executionId)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('releases slots of ended or unknown executions, never of unfinished ones', async () => {
    const world = await executionWorld({ clock: new VirtualClock() });
    const { executionId } = await accepted(world);
    await expect(world.executions.release(executionId)).rejects.toMatchObject({ code: 'CONFLICT' });
    await world.executions.cancel(executionId);
    expect(await world.executions.release(executionId)).toEqual({ isReleased: false });
    world.slots.held.add('0195a1b2-0000-7000-8000-0000000000ff');
    expect(await world.executions.release('0195a1b2-0000-7000-8000-0000000000ff')).toEqual({
      isReleased: true,
    });
  });
});
