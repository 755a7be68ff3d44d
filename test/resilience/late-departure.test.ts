// Two processes on one journal whose calls leave late, as on a busy machine: the limit holds for what leaves (L1).
import { join } from 'node:path';
import * as fc from 'fast-check';
import { expect, it, onTestFinished } from 'vitest';
import { openSqlite } from '../../src/platform/sqlite/open-sqlite.ts';
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
