// The order in which a server closes.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { startServer } from '../../src/app/start.ts';
import { version } from '../../src/config/version.ts';
import { BatchingLedgerRecorder } from '../../src/ledger/index.ts';
import { openDataFolder } from '../../src/platform/data-folder/data-folder.ts';
import { JobMaintenance } from '../../src/platform/jobs/maintenance.ts';
import { SessionDatabase } from '../../src/platform/postgres/session-database.ts';
import { testConfig } from '../support/test-server.ts';

it('closes HTTP, then jobs, the ledger recorder and the stores, and unlocks the data folder last', async () => {
  const config = await testConfig();
  const { folder } = config.data;
  const server = await startServer(config, { role: 'serve' });
  const isListening = () =>
    fetch(`${server.url}/healthz`).then(
      () => true,
      () => false,
    );
  const isLocked = () =>
    openDataFolder(folder, { version, command: 'test' }).then(
      async (opened) => (await opened.release(), false),
      () => true,
    );
  const seen: Record<string, unknown>[] = [];
  const spy = <Name extends string>(
    label: string,
    prototype: Record<Name, () => Promise<void>>,
    method: Name,
  ) => {
    const original = prototype[method];
    prototype[method] = async function (this: unknown) {
      const hasServerFile = existsSync(join(folder, 'server.json'));
      seen.push({ label, isListening: await isListening(), isLocked: await isLocked(), hasServerFile });
      await original.call(this);
    };
    onTestFinished(() => void (prototype[method] = original));
  };
  spy('jobs', JobMaintenance.prototype, 'stop');
  spy('recorder', BatchingLedgerRecorder.prototype, 'close');
  spy('database', SessionDatabase.prototype, 'close');
  expect(await isListening()).toBe(true);
  await server.stop();
  const closed = { isListening: false, isLocked: true, hasServerFile: false };
  expect(seen).toEqual([
    { label: 'jobs', ...closed },
    { label: 'recorder', ...closed },
    { label: 'database', ...closed },
  ]);
  expect(await isLocked()).toBe(false);
});
