import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../test/support/core/virtual-clock.ts';
import { CoreError, EventBus, Redactor, seededIds, seededRandom } from '../core/index.ts';
import { BatchingLedgerRecorder, overflowKind } from './recorder.ts';
import { ledgerEvents } from './events.ts';
import { MemoryLedgerStore } from '../../test/support/ledger/memory-ledger-store.ts';
import type { Degradation, SeenDegradation } from './store.ts';

const failure = (subject: string, overrides: Partial<Degradation> = {}): Degradation => ({
  kind: 'demo.kind',
  subject,
  cause: 'TIMEOUT',
  message: 'It took too long.',
  ...overrides,
});

/** A store that can be down, or reject certain rows. */
class FlakyStore extends MemoryLedgerStore {
  readonly calls: (readonly SeenDegradation[])[] = [];
  isAway = false;
  refuses: (row: SeenDegradation) => boolean = () => false;
  gate: Promise<void> = Promise.resolve();

  override async record(rows: readonly SeenDegradation[]): Promise<void> {
    this.calls.push(rows);
    await this.gate;
    if (this.isAway) throw new CoreError('STATE_UNAVAILABLE', 'The store is away.', { isRetryable: true });
    if (rows.some((row) => this.refuses(row))) throw new Error('invalid byte sequence');
    await super.record(rows);
  }
}

function setUp(options: { flushBatch?: number; maxPending?: number } = {}) {
  const clock = new VirtualClock();
  const random = seededRandom(7);
  const store = new FlakyStore(seededIds(random, () => clock.now()));
  const redactor = new Redactor();
  const events = new EventBus(ledgerEvents);
  const emitted: { name: string; payload: Record<string, unknown> }[] = [];
  events.listen(({ name, payload }) => emitted.push({ name, payload }));
  const recorder = new BatchingLedgerRecorder({
    store,
    clock,
    random,
    redactor,
    events,
    options: { flushIntervalMs: 20, flushBatch: 500, maxPending: 10_000, ...options },
  });
  const named = (name: string) =>
    emitted.filter((event) => event.name === name).map((event) => event.payload);
  return { clock, store, redactor, recorder, named };
}

const unhandled: unknown[] = [];
const onUnhandled = (reason: unknown) => unhandled.push(reason);
beforeEach(() => {
  unhandled.length = 0;
  process.on('unhandledRejection', onUnhandled);
});
afterEach(async () => {
  await new Promise((resolve) => setImmediate(resolve));
  process.off('unhandledRejection', onUnhandled);
  expect(unhandled).toEqual([]);
});

describe('BatchingLedgerRecorder', () => {
  it('writes rows of one interval in one call, and counts duplicates', async () => {
    const { clock, store, recorder, named } = setUp();
    const all = ['a', 'b', 'a', 'a'].map((subject) => recorder.record(failure(subject)));
    await clock.advance(19);
    expect(store.calls).toHaveLength(0);
    await clock.advance(1);
    await Promise.all(all);
    expect(store.calls).toHaveLength(1);
    expect((await store.list({})).map(({ subject, count }) => `${subject}${count}`).sort()).toEqual([
      'a3',
      'b1',
    ]);
    expect(named('ledger:recorded')).toEqual([
      { kind: 'demo.kind', subject: 'a', cause: 'TIMEOUT', count: 3 },
      { kind: 'demo.kind', subject: 'b', cause: 'TIMEOUT', count: 1 },
    ]);
  });

  it('resolves only when the row is durable', async () => {
    const { clock, store, recorder } = setUp();
    const gate = Promise.withResolvers<void>();
    store.gate = gate.promise;
    let isDurable = false;
    const recorded = recorder.record(failure('a')).then(() => (isDurable = true));
    await clock.advance(100);
    expect(isDurable).toBe(false);
    gate.resolve();
    await recorded;
    expect(await store.list({})).toHaveLength(1);
  });

  it('splits rows that exceed a batch', async () => {
    const { clock, store, recorder } = setUp({ flushBatch: 4 });
    const all = Array.from({ length: 10 }, (_, index) => recorder.record(failure(`s${index}`)));
    await clock.advance(20);
    await Promise.all(all);
    expect(store.calls.map((rows) => rows.length)).toEqual([4, 4, 2]);
  });

  it('writes a row that arrives while another is being written', async () => {
    const { clock, store, recorder } = setUp();
    const gate = Promise.withResolvers<void>();
    store.gate = gate.promise;
    const first = recorder.record(failure('a'));
    await clock.advance(20);
    const second = recorder.record(failure('a'));
    gate.resolve();
    await clock.advance(20);
    await Promise.all([first, second]);
    expect(await store.list({})).toMatchObject([{ count: 2 }]);
  });

  it('adds up a failed write and later sightings of the same row', async () => {
    const { clock, store, recorder } = setUp();
    const gate = Promise.withResolvers<void>();
    store.gate = gate.promise;
    const first = recorder.record(failure('a', { cause: 'FIRST' }));
    await clock.advance(20);
    const second = recorder.record(failure('a', { cause: 'SECOND' }));
    store.isAway = true;
    gate.resolve();
    await clock.advance(0);
    store.isAway = false;
    await clock.advance(10_000);
    await Promise.all([first, second]);
    expect(await store.list({})).toMatchObject([{ count: 2, cause: 'SECOND' }]);
  });

  it('writes a row that arrives at the moment a write ends', async () => {
    const { clock, store, recorder } = setUp();
    const chain: Promise<void>[] = [];
    // Promise callbacks run between the end of the write and its clean-up: the first gaps are tried one by one.
    const again = async (gap: number): Promise<void> => {
      const recorded = recorder.record(failure(`s${gap}`));
      chain.push(recorded);
      await recorded;
      for (let turn = 0; turn < gap; turn += 1) await Promise.resolve();
      if (gap < 5) await again(gap + 1);
    };
    void again(0);
    await clock.advance(1_000);
    expect(chain).toHaveLength(6);
    await Promise.all(chain);
    expect(await store.list({})).toHaveLength(6);
  });

  it('keeps rows while the store is unavailable, retries with a growing delay, and loses nothing', async () => {
    const { clock, store, recorder, named } = setUp();
    store.isAway = true;
    const started = clock.now();
    const all = [recorder.record(failure('a')), recorder.record(failure('b'))];
    await clock.advance(60_000);
    all.push(recorder.record(failure('a', { cause: 'NEWER' })));
    await clock.advance(60_000);
    const waits = named('ledger:store-failed').map(({ retryInMs }) => retryInMs as number);
    expect(waits.length).toBeGreaterThan(8);
    expect(waits.length).toBeLessThan(40);
    expect(Math.max(...waits)).toBeLessThanOrEqual(10_000);
    expect(waits.at(-1)).toBeGreaterThan((waits[0] ?? 0) * 4);
    store.isAway = false;
    await clock.advance(10_000);
    await Promise.all(all);
    const rows = await store.list({});
    expect(rows.map(({ subject, count, cause }) => `${subject} ${count} ${cause}`).sort()).toEqual([
      'a 2 NEWER',
      'b 1 TIMEOUT',
    ]);
    expect(rows.map(({ firstSeenAt }) => firstSeenAt.getTime())).toEqual([started, started]);
    expect(recorder.pending).toBe(0);
  });

  it('writes the others when one row cannot be stored, and keeps trying that one', async () => {
    const { clock, store, recorder } = setUp();
    store.refuses = (row) => row.subject === 's13';
    const all = Array.from({ length: 40 }, (_, index) => recorder.record(failure(`s${index}`)));
    await clock.advance(60_000);
    expect(await store.list({ limit: 100 })).toHaveLength(39);
    expect(recorder.pending).toBe(1);
    store.refuses = () => false;
    await clock.advance(60_000);
    await Promise.all(all);
    expect(await store.list({ limit: 100 })).toHaveLength(40);
  });

  it('counts rows beyond the maximum by kind, in the ledger, in an event and for the caller', async () => {
    const { clock, store, recorder, named } = setUp({ maxPending: 3 });
    store.isAway = true;
    const kept = ['a', 'b', 'c', 'a'].map((subject) => recorder.record(failure(subject)));
    const over = ['d', 'e'].map((subject) => recorder.record(failure(subject)));
    await clock.advance(1_000);
    over.push(recorder.record(failure('f')));
    for (const rejected of over) await expect(rejected).rejects.toMatchObject({ code: 'LEDGER_OVERFLOW' });
    expect(named('ledger:overflowed')).toHaveLength(3);
    store.isAway = false;
    await clock.advance(10_000);
    await Promise.all(kept);
    expect(await store.list({ kind: 'demo.kind' })).toHaveLength(3);
    expect(await store.list({ kind: overflowKind })).toMatchObject([{ subject: 'demo.kind', count: 3 }]);
  });

  it('reports no unhandled rejection when the promise is ignored', async () => {
    const { clock, store, recorder } = setUp({ maxPending: 1 });
    store.isAway = true;
    void recorder.record(failure('a'));
    void recorder.record(failure('overflow'));
    await clock.advance(5_000);
    await recorder.close();
    void recorder.record(failure('after'));
    // afterEach looks for unhandled rejections.
    expect(recorder.pending).toBe(0);
  });

  it('writes pending rows when it is closed', async () => {
    const { store, recorder } = setUp();
    const recorded = recorder.record(failure('a'));
    await recorder.close();
    await recorded;
    expect(await store.list({})).toHaveLength(1);
  });

  it('emits an event for every row that the store did not accept before the end', async () => {
    const { store, recorder, named, clock } = setUp();
    store.isAway = true;
    const recorded = recorder.record(failure('a'));
    await recorder.close();
    await recorder.close();
    await expect(recorded).rejects.toMatchObject({ code: 'LEDGER_CLOSED' });
    await expect(recorder.record(failure('b'))).rejects.toMatchObject({ code: 'LEDGER_CLOSED' });
    expect(named('ledger:lost').map(({ subject }) => subject)).toEqual(['a', 'b']);
    expect(store.calls).toHaveLength(1);
    expect(clock.pending).toBe(0);
  });

  it('writes all rows except the rejected one when it is closed', async () => {
    const { store, recorder, named } = setUp();
    store.refuses = (row) => row.subject === 's5';
    const all = Array.from({ length: 20 }, (_, index) => recorder.record(failure(`s${index}`)));
    await recorder.close();
    expect(await store.list({ limit: 100 })).toHaveLength(19);
    expect(named('ledger:lost')).toMatchObject([{ subject: 's5' }]);
    const results = await Promise.allSettled(all);
    expect(results.filter(({ status }) => status === 'rejected')).toHaveLength(1);
  });

  it('stores neither secrets nor what Postgres rejects, and truncates long texts', async () => {
    const { clock, store, redactor, recorder } = setUp();
    redactor.add('hunter22');
    const circle: Record<string, unknown> = { 'a\0b': 'x\0y \ud800', password: 'never seen' };
    circle['self'] = circle;
    void recorder.record(
      failure(`hunter22 ${'s'.repeat(5_000)}`, {
        message: 'It said \0 hunter22 \ud800.',
        details: { circle, when: new Date(0), big: 10n },
      }),
    );
    void recorder.record(failure('huge', { details: { text: 'x'.repeat(50_000) } }));
    await clock.advance(20);
    const rows = await store.list({});
    const text = JSON.stringify(rows);
    expect(text).not.toMatch(/hunter22|never seen|\\u0000|\\ud800/);
    expect(Math.max(...rows.map(({ subject }) => subject.length))).toBeLessThanOrEqual(500);
    expect(rows.find(({ subject }) => subject === 'huge')?.details).toEqual({
      omitted: expect.stringContaining('characters') as string,
    });
  });
});
