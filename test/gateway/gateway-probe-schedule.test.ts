// The probe schedule, on both kinds of Postgres and between processes.
import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../src/core/index.ts';
import { PostgresProbeSchedule } from '../../src/gateway/postgres/usage-stores.ts';
import { openServerDatabase } from '../../src/platform/postgres/server/server-store.ts';
import { migratedDatabase, migratedDatabases } from '../support/migrated-databases.ts';
import { databaseUrl, uniqueName } from '../support/services.ts';

const start = Date.parse('2026-03-01T12:00:00Z');
const hourMs = 3_600_000;

describe.each(migratedDatabases)('the probe schedule on a store (%s)', (_name, open) => {
  it('is due an interval after the first claim, and after each claim', async () => {
    const { database, dispose } = await open();
    onTestFinished(dispose);
    const rounds = new PostgresProbeSchedule(database);
    const claims: boolean[] = [];
    for (const at of [0, hourMs - 1, hourMs, hourMs, 2 * hourMs - 1, 2 * hourMs, 9 * hourMs, 9 * hourMs + 1])
      claims.push(await rounds.claim(start + at, hourMs));
    expect(claims).toEqual([false, false, true, false, false, true, true, false]);
  });
});

it('is claimed by one of several simultaneous processes', async () => {
  const schema = uniqueName('rounds');
  const connect = () => openServerDatabase({ url: databaseUrl(), schema, clock: systemClock, poolSize: 4 });
  const { database: first, dispose } = await migratedDatabase(await connect());
  onTestFinished(dispose);
  const second = await connect();
  onTestFinished(() => second.close());
  const processes = [first, second].map((database) => new PostgresProbeSchedule(database));
  const claimed = async (at: number) => {
    const claims = processes.flatMap((rounds) =>
      Array.from({ length: 10 }, () => rounds.claim(start + at, hourMs)),
    );
    return (await Promise.all(claims)).filter((isClaimed) => isClaimed).length;
  };
  const counts: number[] = [];
  for (const round of [0, 1, 2, 3]) counts.push(await claimed(round * hourMs));
  expect(counts).toEqual([0, 1, 1, 1]);
});
