// Two processes on one journal whose calls leave late, as on a busy machine: the limit holds for what leaves (L1).
import { join } from 'node:path';
import * as fc from 'fast-check';
import { expect, it, onTestFinished } from 'vitest';
import { openSqlite } from '../../src/platform/sqlite/open-sqlite.ts';
import type { Clock } from '../../src/core/index.ts';
import { AdaptiveRateLimiter, MemoryRateWindow } from '../../src/resilience/index.ts';
import { SqliteGrantJournal } from '../../src/resilience/rate-limiter/sqlite-journal.ts';
import { VirtualClock } from '../support/core/virtual-clock.ts';
import { maxIn } from '../support/resilience/rate-limiter.contract.ts';
import { temporaryFolder } from '../support/services.ts';

const perSecond = 5;

it('never lets more calls leave in a second than permitted, however late they leave (L1)', async () => {
  const folder = await temporaryFolder();
  let run = 0;
  const delays = fc.array(fc.constantFrom(0, 1, 3, 20, 200, 700, 950, 1_010, 1_400), {
    minLength: 4,
    maxLength: 8,
  });
  const counts = { left: 0, voided: 0 };
  await fc.assert(
    fc.asyncProperty(fc.tuple(delays, delays), async (ofProcesses) => {
      const clock = new VirtualClock();
      const file = join(folder, `${(run += 1)}.sqlite`);
      const departures: number[] = [];
      const processes = ofProcesses.map(async (delaysMs) => {
        const db = openSqlite(file);
        onTestFinished(() => {
          if (db.isOpen) db.close();
        });
        const journal = new SqliteGrantJournal(db, 'source');
        const limiter = new AdaptiveRateLimiter(
          new MemoryRateWindow({ limits: { perSecond }, clock, journal }),
          clock,
        );
        const caller = async (first: number) => {
          for (let call = first; call < first + 6; call++) {
            const permit = await limiter.acquire(undefined, { reportsSending: true });
            await clock.sleep(delaysMs[call % delaysMs.length] ?? 0);
            if (permit.sent()) departures.push(clock.monotonic());
            else counts.voided++;
            permit.succeeded();
          }
        };
        await Promise.all([0, 1, 2, 3].map(caller));
        db.close();
      });
      await clock.run(Promise.all(processes));
      counts.left += departures.length;
      expect(maxIn(departures, 1_000)).toBeLessThanOrEqual(perSecond);
    }),
    { numRuns: 25 },
  );
  // Most calls do not need a second permit.
  expect(counts.voided).toBeLessThan(counts.left / 2);
});

/** Time passes while a process is interrupted, in which nothing else of this test runs. */
class InterruptedClock implements Clock {
  readonly virtual = new VirtualClock();
  #interruptedMs = 0;

  interrupt(ms: number): void {
    this.#interruptedMs += ms;
  }

  now = () => this.virtual.now() + this.#interruptedMs;
  monotonic = () => this.virtual.monotonic() + this.#interruptedMs;
  sleep: Clock['sleep'] = (ms, signal) => this.virtual.sleep(ms, signal);
  after: Clock['after'] = (ms, run) => this.virtual.after(ms, run);
}

it.each([
  ['after its grant was decided', 25, 0],
  ['after its departure was decided', 0, 25],
])(
  'counts a call from when it left if its process was interrupted %s (L1)',
  async (_, afterGrant, afterSent) => {
    const clock = new InterruptedClock();
    const file = join(await temporaryFolder(), 'journal.sqlite');
    const departures: number[] = [];
    let grants = 0;
    const processes = [0, 1].map(async () => {
      const db = openSqlite(file);
      onTestFinished(() => db.close());
      const journal = new SqliteGrantJournal(db, 'source');
      const window = new MemoryRateWindow({ limits: { perSecond }, clock, journal });
      const limiter = new AdaptiveRateLimiter(
        {
          limits: window.limits,
          isLocal: true,
          sendLate: (grant) => window.sendLate(grant),
          exchange: (request) => {
            const reply = window.exchange(request);
            // Only sometimes: calls that are all equally late are as far apart as their grants.
            if (reply.granted > 0 && grants++ % 3 === 0) clock.interrupt(afterGrant);
            return reply;
          },
        },
        clock,
      );
      for (let call = 0; call < 20; call++) {
        const permit = await limiter.acquire(undefined, { reportsSending: true });
        if (permit.sent()) {
          if (call % 3 === 0) clock.interrupt(afterSent);
          departures.push(clock.monotonic());
        }
        await Promise.resolve();
        permit.succeeded();
      }
    });
    await clock.virtual.run(Promise.all(processes));
    expect(departures.length).toBeGreaterThan(30);
    expect(maxIn(departures, 1_000)).toBeLessThanOrEqual(perSecond);
  },
);
