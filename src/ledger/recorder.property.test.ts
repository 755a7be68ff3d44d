import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { VirtualClock } from '../../test/support/core/virtual-clock.ts';
import { CoreError, Redactor, seededIds, seededRandom, silentEmitter } from '../core/index.ts';
import { BatchingLedgerRecorder } from './recorder.ts';
import { MemoryLedgerStore } from '../../test/support/ledger/memory-ledger-store.ts';
import type { SeenDegradation } from './store.ts';

type Mood = 'up' | 'away' | 'refusing' | 'slow';

class MoodyStore extends MemoryLedgerStore {
  readonly clock: VirtualClock;
  mood: Mood = 'up';

  constructor(clock: VirtualClock) {
    super(seededIds(seededRandom(1), () => clock.now()));
    this.clock = clock;
  }

  override async record(rows: readonly SeenDegradation[]): Promise<void> {
    // The state of the store may change while a write is running: it then fails late, with newer rows already waiting.
    if (this.mood === 'slow') await this.clock.sleep(300);
    if (this.mood === 'away') throw new CoreError('STATE_UNAVAILABLE', 'away', { isRetryable: true });
    if (this.mood === 'refusing' && rows.some(({ subject }) => subject === 's0')) throw new Error('refused');
    await super.record(rows);
  }
}

const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ record: fc.nat(3) }) },
  { weight: 2, arbitrary: fc.record({ advanceMs: fc.constantFrom(20, 100, 300, 5_000) }) },
  { weight: 2, arbitrary: fc.record({ mood: fc.constantFrom<Mood>('up', 'away', 'refusing', 'slow') }) },
);

it('stores every occurrence exactly once, however the store behaves in between', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 10, maxLength: 80, size: 'max' }),
      fc.boolean(),
      async (steps, endsByClosing) => {
        const clock = new VirtualClock();
        const store = new MoodyStore(clock);
        const recorder = new BatchingLedgerRecorder({
          store,
          clock,
          random: seededRandom(2),
          redactor: new Redactor(),
          events: silentEmitter,
          options: { flushIntervalMs: 20, flushBatch: 3, maxPending: 100 },
        });
        const expected = new Map<string, number>();
        const promises: Promise<void>[] = [];
        for (const each of steps) {
          if ('record' in each) {
            const subject = `s${each.record}`;
            expected.set(subject, (expected.get(subject) ?? 0) + 1);
            promises.push(recorder.record({ kind: 'demo.kind', subject, cause: 'X', message: 'x' }));
          } else if ('advanceMs' in each) await clock.advance(each.advanceMs);
          else store.mood = each.mood;
        }
        store.mood = 'up';
        if (endsByClosing) await clock.run(recorder.close());
        else await clock.advance(60_000);
        await Promise.all(promises);
        const counts = new Map((await store.list({})).map(({ subject, count }) => [subject, count]));
        expect(counts).toEqual(expected);
        expect([recorder.pending, clock.pending]).toEqual([0, 0]);
      },
    ),
    { numRuns: 300 },
  );
});
