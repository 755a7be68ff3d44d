// A process that acquires permits and reports each to its parent, until it is killed.
import { systemClock } from '../../src/core/system.ts';
import { openSqlite } from '../../src/platform/sqlite/open-sqlite.ts';
import { createRateLimiter } from '../support/resilience/memory-rate-limiter.ts';
import { SqliteGrantJournal } from '../../src/resilience/rate-limiter/sqlite-journal.ts';

const journal = new SqliteGrantJournal(openSqlite(process.argv[2] ?? ''), 'limiter');
const limiter = createRateLimiter({ limits: { perMinute: 100_000 }, clock: systemClock, journal });
for (;;) {
  const permit = await limiter.acquire();
  permit.succeeded();
  await new Promise((resolve) => process.send?.('granted', resolve));
}
