// Embedded stores in their own files, as copies of a template: see embedded-template.ts.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock, type Clock } from '../../src/core/index.ts';
import { openEmbeddedDatabase } from '../../src/platform/postgres/embedded/embedded-store.ts';
import type { Database } from '../../src/platform/postgres/ports.ts';
import { copyEmbeddedStore } from './embedded-template.ts';
import { temporaryFolder } from './services.ts';

/** An empty store. Its files are deleted when it is closed. */
export async function embeddedDatabase({
  schema,
  clock = systemClock,
}: {
  readonly schema: string;
  readonly clock?: Clock;
}): Promise<Database> {
  const parent = await mkdtemp(join(tmpdir(), 'headworks-test-'));
  const folder = join(parent, 'state');
  await copyEmbeddedStore(folder);
  const database = await openEmbeddedDatabase({ folder, schema, clock });
  const close = database.close.bind(database);
  database.close = async () => {
    await close();
    await rm(parent, { recursive: true, force: true });
  };
  return database;
}

/** A temporary folder to work in, as by `temporaryFolder`, whose data folder has only an empty embedded store. */
export async function folderWithStore(): Promise<string> {
  const folder = await temporaryFolder();
  await copyEmbeddedStore(join(folder, '.headworks', 'state'));
  return folder;
}
