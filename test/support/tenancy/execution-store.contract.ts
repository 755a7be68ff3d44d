// Contract of execution stores.
import { describe, expect, it, vi } from 'vitest';
import type { Execution, ExecutionInput, ExecutionStore } from '../../../src/tenancy/index.ts';

export interface ExecutionStoreSubject {
  readonly store: ExecutionStore;
  /** Two organizations with a deployment each. */
  readonly homes: readonly [Home, Home];
  /** Adds a job with the transaction; returns how many were committed. */
  readonly enqueue: (transaction: unknown) => Promise<string>;
  readonly keptJobs: () => Promise<number>;
}

export interface Home {
  readonly organizationId: string;
  readonly deploymentId: string;
}

const idOf = (number: number): string => `0195a1b2-c3d4-7e5f-8a9b-${String(number).padStart(12, '0')}`;
const at = (ms: number): Date => new Date(Date.parse('2026-03-01T12:00:00Z') + ms);
const noInput: ExecutionInput = { parameters: {}, files: [] };

export function exampleExecution(
  number: number,
  home: Home,
  change: Partial<Execution> = {},
): Omit<Execution, 'jobId'> {
  return {
    ...home,
    executionId: idOf(number),
    status: 'queued',
    idempotencyKey: null,
    requestHash: 'hash',
    acceptedAt: at(number),
    startedAt: null,
    finishedAt: null,
    result: null,
    failure: null,
    warnings: [],
    ...change,
  };
}

/** `make` returns an empty store. */
export function describeExecutionStoreContract(
  name: string,
  make: () => Promise<ExecutionStoreSubject>,
): void {
  describe(`executions in ${name}`, () => {
    it('returns what was dispatched, files byte for byte and parameters in order', async () => {
      const { store, homes, enqueue } = await make();
      const given = exampleExecution(1, homes[0], { idempotencyKey: 'k' });
      const input: ExecutionInput = {
        parameters: { z: 1, a: { 'NUL \0': ['half \ud800', 'ü', null, 1.5] } },
        files: [
          {
            name: 'ä/b".pdf',
            mediaType: 'application/pdf',
            bytes: Uint8Array.from({ length: 70_000 }, (_, i) => i),
          },
          { name: '', mediaType: 'text/plain', bytes: new Uint8Array() },
        ],
      };
      const { execution, isNew } = await store.dispatch(given, input, enqueue);
      expect({ isNew, execution }).toEqual({ isNew: true, execution: { ...given, jobId: execution.jobId } });
      expect(await store.get(given.executionId)).toEqual(execution);
      const kept = await store.input(given.executionId);
      expect(JSON.stringify(kept?.parameters)).toBe(JSON.stringify(input.parameters));
      expect(kept?.files.map(({ name: file, mediaType }) => [file, mediaType])).toEqual([
        ['ä/b".pdf', 'application/pdf'],
        ['', 'text/plain'],
      ]);
      expect(kept?.files.map(({ bytes }) => Buffer.from(bytes))).toEqual(
        input.files.map(({ bytes }) => Buffer.from(bytes)),
      );
      expect(await store.get('nonsense')).toBeNull();
      expect(await store.get(idOf(9))).toBeNull();
      expect(await store.input(idOf(9))).toBeNull();
    });

    it('keeps neither execution nor job when one of them cannot be added', async () => {
      const { store, homes, enqueue, keptJobs } = await make();
      await expect(
        store.dispatch(exampleExecution(1, homes[0]), noInput, async (transaction) => {
          await enqueue(transaction);
          throw new Error('no job today');
        }),
      ).rejects.toThrow('no job today');
      await expect(
        store.dispatch(exampleExecution(1, { ...homes[0], deploymentId: idOf(99) }), noInput, enqueue),
      ).rejects.toMatchObject({ code: 'NOT_FOUND' });
      expect(await store.get(idOf(1))).toBeNull();
      expect(await keptJobs()).toBe(0);
    });

    it('adds nothing for a caller that has disconnected', async () => {
      const { store, homes, enqueue, keptJobs } = await make();
      const signal = AbortSignal.abort(new Error('left'));
      const given = exampleExecution(1, homes[0]);
      await expect(store.dispatch(given, noInput, enqueue, { signal, withinMs: 1_000 })).rejects.toThrow(
        'left',
      );
      expect(await store.get(given.executionId)).toBeNull();
      expect(await keptJobs()).toBe(0);
    });

    it('accepts an idempotency key once per deployment, under concurrency', async () => {
      const { store, homes, enqueue, keptJobs } = await make();
      const dispatched = await Promise.all(
        [1, 2, 3, 4, 5].map((number) =>
          store.dispatch(
            exampleExecution(number, homes[0], { idempotencyKey: 'same' }),
            { parameters: { number }, files: [] },
            enqueue,
          ),
        ),
      );
      expect(dispatched.filter(({ isNew }) => isNew)).toHaveLength(1);
      expect(new Set(dispatched.map(({ execution }) => execution.executionId)).size).toBe(1);
      expect(await keptJobs()).toBe(1);
      const elsewhere = exampleExecution(6, homes[1], { idempotencyKey: 'same' });
      expect(await store.dispatch(elsewhere, noInput, enqueue)).toMatchObject({ isNew: true });
      const first = await store.byIdempotencyKey(homes[0].deploymentId, 'same');
      expect(first?.executionId).toBe(dispatched[0]?.execution.executionId);
      expect(await store.byIdempotencyKey(homes[1].deploymentId, 'other')).toBeNull();
    });

    it('ends an execution once, and notifies all listeners', async () => {
      const { store, homes, enqueue } = await make();
      const { execution } = await store.dispatch(exampleExecution(1, homes[0]), noInput, enqueue);
      const received: string[] = [];
      const stop = await store.onEnded((id) => void received.push(id));
      expect(await store.begin(execution.executionId, at(10))).toBe(true);
      expect(await store.begin(execution.executionId, at(20))).toBe(true);
      const alongside = vi.fn<(ended: Execution) => Promise<void>>(async () => undefined);
      const outcome = { status: 'completed', result: { b: [1], a: 'NUL \0' }, warnings: ['cut'] } as const;
      const ends = await Promise.all([
        store.end(execution.executionId, outcome, at(30), alongside),
        store.end(execution.executionId, outcome, at(30), alongside),
      ]);
      const [ended] = ends.filter((each) => each !== null);
      expect(ends).toContain(null);
      expect(ended).toEqual({
        ...execution,
        status: 'completed',
        startedAt: at(10),
        finishedAt: at(30),
        result: outcome.result,
        warnings: outcome.warnings,
      });
      expect(await store.get(execution.executionId)).toEqual(ended);
      expect(alongside).toHaveBeenCalledTimes(1);
      expect(await store.end(execution.executionId, { status: 'canceled' }, at(40))).toBeNull();
      expect(await store.begin(execution.executionId, at(50))).toBe(false);
      await vi.waitFor(() => expect(received).toEqual([execution.executionId]), { timeout: 60_000 });
      await stop();
      expect(await store.end(idOf(9), { status: 'canceled' }, at(0))).toBeNull();
      expect(await store.end('nonsense', { status: 'canceled' }, at(0))).toBeNull();
    });

    it('does not end an execution when the rest of its transaction fails', async () => {
      const { store, homes, enqueue } = await make();
      const { execution } = await store.dispatch(exampleExecution(1, homes[0]), noInput, enqueue);
      const failing = store.end(execution.executionId, { status: 'canceled' }, at(1), async () => {
        throw new Error('no webhook');
      });
      await expect(failing).rejects.toThrow('no webhook');
      expect(await store.get(execution.executionId)).toMatchObject({ status: 'queued', finishedAt: null });
    });

    it('lists unfinished executions, and which of given ones have ended', async () => {
      const { store, homes, enqueue } = await make();
      for (const number of [1, 2, 3])
        await store.dispatch(exampleExecution(number, homes[0]), noInput, enqueue);
      const failure = { code: 'INTERNAL', message: 'it broke' };
      expect(await store.end(idOf(2), { status: 'failed', failure }, at(5))).toMatchObject({
        status: 'failed',
        failure,
        result: null,
        startedAt: null,
      });
      const unfinished = await store.unfinished();
      expect(unfinished.map(({ executionId }) => executionId)).toEqual([idOf(1), idOf(3)]);
      expect(unfinished[0]).toMatchObject({ organizationId: homes[0].organizationId, acceptedAt: at(1) });
      expect(await store.ended([idOf(1), idOf(2), idOf(77), 'nonsense'])).toEqual([idOf(2)]);
      expect(await store.ended([])).toEqual([]);
    });

    it('lists the newest first, by organization, deployment and status, page by page', async () => {
      const { store, homes, enqueue } = await make();
      for (const number of [1, 2, 3])
        await store.dispatch(exampleExecution(number, homes[0]), noInput, enqueue);
      await store.dispatch(exampleExecution(4, homes[1]), noInput, enqueue);
      await store.end(idOf(2), { status: 'completed', result: 'big', warnings: [] }, at(9));
      const ids = async (filter: Parameters<ExecutionStore['list']>[0]) =>
        (await store.list(filter)).map(({ executionId }) => executionId);
      const { organizationId } = homes[0];
      expect(await ids({ limit: 10 })).toEqual([idOf(4), idOf(3), idOf(2), idOf(1)]);
      expect(await ids({ limit: 2, organizationId })).toEqual([idOf(3), idOf(2)]);
      expect(await ids({ limit: 2, organizationId, before: idOf(2) })).toEqual([idOf(1)]);
      expect(await ids({ limit: 9, deploymentId: homes[1].deploymentId })).toEqual([idOf(4)]);
      expect(await ids({ limit: 9, statuses: ['completed', 'failed'] })).toEqual([idOf(2)]);
      const [listed] = await store.list({ limit: 1, statuses: ['completed'] });
      expect(listed).toMatchObject({ status: 'completed', result: null });
    });

    it('purges files and executions that ended long ago, and nothing unfinished', async () => {
      const { store, homes, enqueue } = await make();
      const files = [{ name: 'a', mediaType: 'text/plain', bytes: new Uint8Array(3) }];
      for (const number of [1, 2, 3, 4])
        await store.dispatch(exampleExecution(number, homes[0]), { parameters: {}, files }, enqueue);
      for (const number of [1, 2, 3]) await store.end(idOf(number), { status: 'canceled' }, at(number * 100));
      expect(await store.purgeFiles(at(250), 1)).toBe(1);
      expect(await store.purgeFiles(at(250), 10)).toBe(1);
      expect(await store.purgeFiles(at(250), 10)).toBe(0);
      expect((await store.input(idOf(1)))?.files).toEqual([]);
      expect((await store.input(idOf(3)))?.files).toHaveLength(1);
      expect((await store.input(idOf(4)))?.files).toHaveLength(1);
      expect(await store.purge(at(10_000), 2)).toBe(2);
      expect(await store.purge(at(10_000), 2)).toBe(1);
      expect((await store.list({ limit: 9 })).map(({ executionId }) => executionId)).toEqual([idOf(4)]);
    });
  });
}
