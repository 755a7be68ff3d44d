// The contract of Database on a real Postgres server.
import { VirtualClock } from '../support/core/virtual-clock.ts';
import { describeDatabaseContract } from '../support/postgres/database.contract.ts';
import { identifier, sql } from '../../src/platform/postgres/index.ts';
import { openServerDatabase } from '../../src/platform/postgres/server/server-store.ts';
import { databaseUrl, uniqueName } from '../support/services.ts';

describeDatabaseContract('Postgres server', async () => {
  const clock = new VirtualClock();
  const schema = uniqueName('contract');
  const open = () => openServerDatabase({ url: databaseUrl(), schema, clock, poolSize: 4 });
  const database = await open();
  await database.query(sql`create schema ${identifier(schema)}`);
  const cleanUp = async () => {
    const again = await open();
    await again.query(sql`drop schema ${identifier(schema)} cascade`);
    await again.close();
  };
  return { database, clock, sessions: 4, cleanUp };
});
