// The order in which a server closes.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { startServer } from '../../src/app/start.ts';
import { version } from '../../src/config/version.ts';
import { BatchingLedgerRecorder } from '../../src/ledger/index.ts';
import { openDataFolder } from '../../src/platform/data-folder/data-folder.ts';
import { SessionDatabase } from '../../src/platform/postgres/session-database.ts';
import { testConfig } from '../support/test-server.ts';

it('closes HTTP, then the ledger recorder, then the stores, and unlocks the data folder last', async () => {
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
  const spy = (label: string, prototype: { close(): Promise<void> }) => {
    const close = Object.getOwnPropertyDescriptor(prototype, 'close')?.value as () => Promise<void>;
    const spied = vi.spyOn(prototype, 'close').mockImplementation(async function (this: typeof prototype) {
      const hasServerFile = existsSync(join(folder, 'server.json'));
      seen.push({ label, isListening: await isListening(), isLocked: await isLocked(), hasServerFile });
      await close.call(this);
    });
    onTestFinished(() => spied.mockRestore());
  };
  spy('recorder', BatchingLedgerRecorder.prototype);
  spy('database', SessionDatabase.prototype);
  expect(await isListening()).toBe(true);
  await server.stop();
  const closed = { isListening: false, isLocked: true, hasServerFile: false };
  expect(seen).toEqual([
    { label: 'recorder', ...closed },
    { label: 'database', ...closed },
  ]);
  expect(await isLocked()).toBe(false);
});
