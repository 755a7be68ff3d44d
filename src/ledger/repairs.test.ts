import { expect, it, describe } from 'vitest';
import type { JobQueue, JobProgress } from '../core/index.ts';
import { EventBus, Redactor, seededIds, seededRandom } from '../core/index.ts';
import type { RepairReport } from './repairs.ts';
import {
  ledgerRepairHandler,
  requestRepairs,
  resolveEntry,
  ledgerRepairJob,
  repairCron,
  RepairRegistry,
  RepairRunner,
} from './repairs.ts';
import { VirtualClock } from '../../test/support/core/virtual-clock.ts';
import { ledgerEvents } from './events.ts';
import { seen } from '../../test/support/ledger/ledger-store.contract.ts';
import { MemoryLedgerStore } from '../../test/support/ledger/memory-ledger-store.ts';
import type { Repair } from './store.ts';

it('calls beforeRequested before a requested repair run, not before a scheduled one', async () => {
  let calls = 0;
  const context = { id: '1', attempt: 1, signal: new AbortController().signal, progress: () => undefined };
  const run = async () => ({ tried: 0, withoutRepair: [] }) as unknown as RepairReport;
  const handler = ledgerRepairHandler({ run }, () => (calls += 1));
  await handler({ due: true }, context);
  expect(calls).toBe(0);
  await handler({}, context);
  await handler({ kind: 'knowledge.chunk-not-embedded' }, context);
  expect(calls).toBe(2);
});

it('requests a repair per kind and ignores a queue that fails', () => {
  const requested: unknown[] = [];
  const enqueue = async (_job: unknown, payload: unknown): Promise<string> => {
    requested.push(payload);
    throw new Error('The queue is unavailable.');
  };
  requestRepairs({ enqueue } as Pick<JobQueue, 'enqueue'>, ['a', 'b']);
  expect(requested).toEqual([{ kind: 'a' }, { kind: 'b' }]);
});

const minute = 60_000;

function setUp(repair: Repair, overrides: { repairBatch?: number; repairConcurrency?: number } = {}) {
  const clock = new VirtualClock();
  const random = seededRandom(3);
  const store = new MemoryLedgerStore(seededIds(random, () => clock.now()));
  const registry = new RepairRegistry();
  registry.register({ kind: 'demo.kind', describe: 'Does it again.', repair });
  const redactor = new Redactor();
  const events = new EventBus(ledgerEvents);
  const emitted: { name: string; payload: Record<string, unknown> }[] = [];
  events.listen(({ name, payload }) => emitted.push({ name, payload }));
  const options = {
    repairBatch: 2,
    repairConcurrency: 2,
    repairTimeoutMs: minute,
    repairBackoffMs: minute,
    repairBackoffMaxMs: 10 * minute,
    ...overrides,
  };
  const parts = { store, registry, clock, random, redactor, events, options };
  const add = async (...subjects: string[]) => {
    const lastSeenAt = new Date(clock.now());
    await store.record(subjects.map((subject) => seen({ subject, lastSeenAt })));
  };
  return { ...parts, parts, runner: new RepairRunner(parts), emitted, add };
}

const repaired: Repair = async () => ({ outcome: 'repaired' });

describe('RepairRunner', () => {
  it('tries every open row once and closes what is repaired or gone', async () => {
    const { runner, store, add, emitted } = setUp(async ({ subject }) => ({
      outcome: subject === 'c' ? 'gone' : 'repaired',
    }));
    await add('a', 'b', 'c', 'd', 'e');
    const progress: JobProgress[] = [];
    const report = await runner.run({}, { onProgress: (step) => progress.push(step) });
    expect(report).toEqual({ tried: 5, repaired: 4, gone: 1, stillBroken: 0, withoutRepair: [] });
    expect(progress).toEqual([1, 2, 3, 4, 5].map((done) => ({ done, total: 5 })));
    expect(await store.list({})).toEqual([]);
    const rows = await store.list({ state: 'resolved' });
    expect(rows.map(({ subject, resolution }) => `${subject} ${resolution}`).sort()).toEqual([
      'a repair',
      'b repair',
      'c gone',
      'd repair',
      'e repair',
    ]);
    expect(emitted.map(({ name }) => name)).toEqual(Array.from({ length: 5 }, () => 'ledger:resolved'));
  });

  it('counts a repair that throws as failed', async () => {
    const { runner, store, add } = setUp(({ subject }) => {
      if (subject === 'now') throw new TypeError('a bug');
      return Promise.reject(new Error('still away'));
    });
    await add('now', 'later');
    expect(await runner.run()).toMatchObject({ tried: 2, stillBroken: 2 });
    const rows = await store.list({});
    expect(new Set(rows.map(({ lastRepairError }) => lastRepairError))).toEqual(
      new Set(['a bug', 'still away']),
    );
  });

  it('increases the delay between two background repairs of a row, up to the maximum', async () => {
    const tries: number[] = [];
    const { runner, clock, add, emitted } = setUp(async () => {
      tries.push(clock.now());
      return { outcome: 'still-broken', reason: 'still away' };
    });
    await add('a');
    for (let passed = 0; passed < 120; passed += 1) {
      await runner.run({ due: true });
      await clock.advance(minute / 2);
    }
    const waits = tries.slice(1).map((time, index) => time - (tries[index] ?? 0));
    expect(waits[0]).toBeLessThanOrEqual(1.5 * minute);
    expect(waits.at(-1)).toBeGreaterThanOrEqual(5 * minute);
    expect(Math.max(...waits)).toBeLessThanOrEqual(10.5 * minute);
    expect(emitted.at(-1)).toMatchObject({
      name: 'ledger:repair-failed',
      payload: { cause: 'STILL_BROKEN', attempts: tries.length },
    });
  });

  it('tries a requested row at once, whatever its backoff', async () => {
    let works = false;
    const { runner, store, add } = setUp(async () =>
      works ? { outcome: 'repaired' } : { outcome: 'still-broken', reason: 'no' },
    );
    await add('a');
    await runner.run({ due: true });
    works = true;
    expect(await runner.run({ due: true })).toMatchObject({ tried: 0 });
    const [entry] = await store.list({});
    expect(await runner.run({ id: entry?.id })).toMatchObject({ tried: 1, repaired: 1 });
  });

  it('works through more due rows than one page, each once', async () => {
    const tried: string[] = [];
    const { runner, add } = setUp(async ({ subject }) => {
      tried.push(subject);
      return subject === 'c' ? { outcome: 'still-broken', reason: 'no' } : { outcome: 'repaired' };
    });
    await add('a', 'b', 'c', 'd', 'e');
    expect(await runner.run({ due: true })).toMatchObject({ tried: 5, repaired: 4, stillBroken: 1 });
    expect(tried.sort()).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  it('leaves a row open that fails again while it is being repaired (N5)', async () => {
    const { runner, store, add, emitted } = setUp(async ({ subject }) => {
      await add(subject);
      return { outcome: 'repaired' };
    });
    await add('a');
    expect(await runner.run({ due: true })).toMatchObject({ tried: 1, repaired: 0, stillBroken: 1 });
    expect(await store.list({})).toMatchObject([{ count: 2, repairAttempts: 1 }]);
    expect(emitted.at(-1)?.payload).toMatchObject({ cause: 'LEDGER_ENTRY_SEEN_AGAIN' });
  });

  it('accepts that another process closed the row meanwhile', async () => {
    const { runner, store, add, clock } = setUp(async ({ id, count }) => {
      await store.markResolved(id, 'by hand', new Date(clock.now()), count);
      return { outcome: 'repaired' };
    });
    await add('a');
    expect(await runner.run()).toMatchObject({ repaired: 1, stillBroken: 0 });
    expect(await store.list({ state: 'resolved' })).toMatchObject([{ resolution: 'by hand' }]);
  });

  it('stops waiting for a repair that takes too long, even one that ignores its signal', async () => {
    let wasAborted = false;
    const { runner, clock, store, add } = setUp(
      (_, signal) =>
        new Promise(() => {
          signal.addEventListener('abort', () => (wasAborted = true));
        }),
    );
    await add('a');
    const run = runner.run();
    await clock.advance(minute);
    expect(await run).toMatchObject({ stillBroken: 1 });
    expect(wasAborted).toBe(true);
    expect(await store.list({})).toMatchObject([
      { lastRepairError: expect.stringContaining('60000 ms') as string },
    ]);
    expect(clock.pending).toBe(0);
  });

  it('stops when it is aborted, without counting a failed repair', async () => {
    const controller = new AbortController();
    const started: string[] = [];
    const { runner, store, add, clock } = setUp(({ subject }) => {
      started.push(subject);
      controller.abort(new Error('draining'));
      return new Promise(() => undefined);
    });
    await add('a', 'b', 'c', 'd', 'e');
    await expect(runner.run({}, { signal: controller.signal })).rejects.toThrow('draining');
    expect(started).toHaveLength(1);
    expect(await store.list({})).toHaveLength(5);
    expect((await store.list({})).every(({ repairAttempts }) => repairAttempts === 0)).toBe(true);
    expect(clock.pending).toBe(0);
  });

  it('runs no more repairs at once than allowed, and as many', async () => {
    let running = 0;
    let max = 0;
    const { runner, add, clock } = setUp(
      async () => {
        running += 1;
        max = Math.max(max, running);
        await clock.sleep(10);
        running -= 1;
        return { outcome: 'repaired' };
      },
      { repairBatch: 20, repairConcurrency: 3 },
    );
    await add(...'abcdefghij'.split(''));
    await clock.run(runner.run());
    expect(max).toBe(3);
  });

  it('reports kinds without a repair', async () => {
    const { runner, store, add } = setUp(repaired);
    await add('a');
    await store.record([seen({ kind: 'odd.kind', subject: 'x' }), seen({ kind: 'odd.kind', subject: 'y' })]);
    for (const request of [{ due: true }, {}, { kind: 'odd.kind' }])
      expect((await runner.run(request)).withoutRepair).toEqual([{ kind: 'odd.kind', open: 2 }]);
    expect(await store.list({ kind: 'odd.kind' })).toHaveLength(2);
  });

  it('narrows down to a kind', async () => {
    const { runner, registry, store, add } = setUp(repaired);
    registry.register({ kind: 'other.kind', describe: '', repair: repaired });
    await add('a');
    await store.record([seen({ kind: 'other.kind' })]);
    expect(await runner.run({ kind: 'other.kind' })).toMatchObject({ tried: 1 });
    expect(await store.list({})).toMatchObject([{ kind: 'demo.kind' }]);
  });

  it('explains why a request cannot be fulfilled', async () => {
    const { runner, store, add } = setUp(repaired);
    await add('a');
    await store.record([seen({ kind: 'odd.kind' })]);
    const [odd] = await store.list({ kind: 'odd.kind' });
    const [mine] = await store.list({ kind: 'demo.kind' });
    await runner.run({ id: mine?.id });
    const failing = [
      [{ id: 'nonsense' }, 'LEDGER_ENTRY_UNKNOWN'],
      [{ id: mine?.id }, 'LEDGER_ENTRY_RESOLVED'],
      [{ id: odd?.id }, 'LEDGER_REPAIR_UNKNOWN'],
      [{ kind: 'no.such' }, 'LEDGER_KIND_UNKNOWN'],
    ] as const;
    for (const [request, code] of failing) await expect(runner.run(request)).rejects.toMatchObject({ code });
  });

  it('keeps secrets out of the error it stores', async () => {
    const { runner, store, add, redactor } = setUp(() =>
      Promise.reject(new Error('wrong password hunter22')),
    );
    redactor.add('hunter22');
    await add('a');
    await runner.run();
    expect((await store.list({}))[0]?.lastRepairError).toBe('wrong password [redacted]');
  });
});

describe('RepairRegistry', () => {
  it('accepts one repair per kind and lists them by name', () => {
    const registry = new RepairRegistry();
    registry.register({ kind: 'b.b', describe: 'B', repair: repaired });
    registry.register({ kind: 'a.a', describe: 'A', repair: repaired });
    expect(registry.list().map(({ kind }) => kind)).toEqual(['a.a', 'b.b']);
    expect(() => registry.register({ kind: 'a.a', describe: '', repair: repaired })).toThrow(
      expect.objectContaining({ code: 'LEDGER_REPAIR_TAKEN' }) as Error,
    );
  });
});

describe('the job ledger.repair', () => {
  const context = { id: '1', attempt: 1, signal: new AbortController().signal, progress: () => undefined };

  it('checks its payload', () => {
    expect(ledgerRepairJob.parse(null)).toEqual({});
    expect(ledgerRepairJob.parse({ kind: 'demo.kind', due: true })).toEqual({ kind: 'demo.kind', due: true });
    for (const bad of [{ kind: 3 }, { id: 'nonsense' }, { other: 1 }, 'text'])
      expect(() => ledgerRepairJob.parse(bad)).toThrow();
  });

  it('returns the report, or is skipped when there was nothing to do', async () => {
    const { runner, add } = setUp(repaired);
    const handler = ledgerRepairHandler(runner);
    expect(await handler({}, context)).toEqual({ skipped: expect.any(String) as string });
    await add('a');
    expect(await handler({}, context)).toMatchObject({ result: { tried: 1, repaired: 1 } });
  });

  it('turns minutes into a schedule', () => {
    expect(repairCron(5)).toBe('*/5 * * * *');
    expect(repairCron(0)).toBeNull();
  });
});

describe('resolveEntry', () => {
  it('closes a row with a person’s sentence, once', async () => {
    const { parts, store, add, redactor } = setUp(repaired);
    redactor.add('hunter22');
    await add('a');
    const [entry] = await store.list({});
    const closed = await resolveEntry(parts, entry?.id ?? '', 'Set the password to hunter22.');
    expect(closed).toEqual(await store.get(entry?.id ?? ''));
    expect(closed.resolution).toBe('Set the password to [redacted].');
    await expect(resolveEntry(parts, closed.id, 'again')).rejects.toMatchObject({
      code: 'LEDGER_ENTRY_RESOLVED',
    });
    await expect(resolveEntry(parts, 'nonsense', 'x')).rejects.toMatchObject({
      code: 'LEDGER_ENTRY_UNKNOWN',
    });
  });
});
