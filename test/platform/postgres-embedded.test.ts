// The contract of Database on PGlite, in memory and on files.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { VirtualClock } from '../support/core/virtual-clock.ts';
import { describeDatabaseContract } from '../support/postgres/database.contract.ts';
import {
  openEmbeddedDatabase,
  type EmbeddedLocation,
} from '../../src/platform/postgres/embedded/embedded-store.ts';
import { copyEmbeddedStore } from '../support/embedded-template.ts';

async function open(location: EmbeddedLocation, cleanUp: () => Promise<void>) {
  const clock = new VirtualClock();
  const database = await openEmbeddedDatabase({ ...location, schema: 'contract', clock });
  await database.script('create schema contract');
  return { database, clock, sessions: 1, cleanUp };
}

describeDatabaseContract('embedded, in memory', () => open({ memory: true }, () => Promise.resolve()));

describeDatabaseContract('embedded, on files', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'headworks-test-'));
  await copyEmbeddedStore(join(folder, 'state'));
  return open({ folder: join(folder, 'state') }, () => rm(folder, { recursive: true, force: true }));
});
