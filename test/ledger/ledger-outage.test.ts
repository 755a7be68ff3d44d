// The recorder with a Postgres that is killed and restarted.
import { expect, it, onTestFinished } from 'vitest';
import { EventBus, Redactor, systemClock, systemIds, systemRandom } from '../../src/core/index.ts';
import { BatchingLedgerRecorder, ledgerEvents } from '../../src/ledger/index.ts';
import { PostgresLedgerStore } from '../../src/ledger/store.ts';
import { migratedDatabase } from '../support/migrated-databases.ts';
import { startPrivatePostgres } from '../support/private-servers.ts';
import { openServerDatabase } from '../../src/platform/postgres/server/server-store.ts';

it('loses no row when the store is killed while rows arrive, and catches up by itself', async () => {
  const server = await startPrivatePostgres();
  const { database } = await migratedDatabase(
    await openServerDatabase({ url: server.url, schema: 'headworks', clock: systemClock }),
  );
  onTestFinished(() => database.close());
  const store = new PostgresLedgerStore(database, systemIds);
  const events = new EventBus(ledgerEvents);
  const failures: unknown[] = [];
  events.listen(({ name, payload }) => {
    if (name === 'ledger:store-failed') failures.push(payload['cause']);
  });
  const recorder = new BatchingLedgerRecorder({
    store,
    clock: systemClock,
    random: systemRandom,
    redactor: new Redactor(),
    events,
    options: { flushIntervalMs: 1, flushBatch: 7, maxPending: 1_000 },
  });

  const recorded: Promise<void>[] = [];
  const write = async (from: number, to: number) => {
    for (let row = from; row < to; row += 1) {
      recorded.push(recorder.record({ kind: 'demo.kind', subject: `row ${row}`, cause: 'X', message: 'x' }));
      await systemClock.sleep(1);
    }
  };
  await write(0, 20);
  await Promise.all([write(20, 80), server.kill()]);
  await write(80, 100);
  expect(recorder.pending).toBeGreaterThan(0);
  await server.restart();
  await Promise.all(recorded);

  const rows = await store.list({ limit: 1_000 });
  expect(new Set(rows.map(({ subject }) => subject)).size).toBe(100);
  expect(rows).toHaveLength(100);
  expect(new Set(failures)).toEqual(new Set(['STATE_UNAVAILABLE']));
  await recorder.close();
});
