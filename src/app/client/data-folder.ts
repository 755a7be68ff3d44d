// Locks the data folder; `headworks serve` requests a handover from a command that holds it.
import { callApi } from '../../api/client.ts';
import type { Config } from '../../config/index.ts';
import { version } from '../../config/version.ts';
import { CoreError, HeadworksError, HttpFailure, systemClock } from '../../core/index.ts';
import type { DataFolder } from '../../platform/data-folder/data-folder.ts';
import { openDataFolder } from '../../platform/data-folder/data-folder.ts';
import { stateFolder } from '../../platform/data-folder/files.ts';
import { createUndiciTransport } from '../../platform/http-client/undici-transport.ts';
import { hasEmbeddedStore } from '../../platform/postgres/embedded/embedded-store.ts';
import type { ServerRole } from './local-server.ts';
import { localSession, readServerFile } from './local-server.ts';
import { ServerSession } from './session.ts';

/** A command finishes its running requests and jobs before it hands over. */
const handoverMs = 30_000;
const retryMs = 50;

interface FolderRequest {
  readonly role: ServerRole;
  readonly purpose?: string;
  readonly announce?: (sentence: string) => void;
}

/** Fails with DATA_FOLDER_BUSY when the holder does not hand over. */
export async function acquireDataFolder(
  config: Config,
  { role, purpose = `headworks ${role}`, announce }: FolderRequest,
): Promise<DataFolder> {
  const open = () => openDataFolder(config.data.folder, { version, command: purpose });
  try {
    return await open();
  } catch (error) {
    if (role === 'command' || !isBusy(error) || !(await requestHandover(config))) throw error;
    announce?.('A command holds the data folder; it hands over when its running work is done.');
  }
  const deadline = systemClock.monotonic() + handoverMs;
  for (;;) {
    try {
      return await open();
    } catch (error) {
      if (!isBusy(error) || systemClock.monotonic() > deadline) throw error;
      await systemClock.sleep(retryMs);
    }
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof HeadworksError && error.code === 'DATA_FOLDER_BUSY';
}

/** True when the holder is a command that will stop or is stopping. */
async function requestHandover(config: Config): Promise<boolean> {
  if ((await readServerFile(config.data.folder))?.role !== 'command') return false;
  const transport = createUndiciTransport({});
  try {
    const session = await localSession(config, transport);
    if (session) await callApi(session, 'POST /api/v1/handover');
    return session !== null;
  } catch (error) {
    return !(error instanceof HeadworksError) || error.code === 'SHUTTING_DOWN';
  } finally {
    await transport.close();
  }
}

/**
 * A backup uses the server of the data folder or becomes one; without a server and a store it would create an empty
 * store and back that up. Fails with INPUT_INVALID then, and has created nothing.
 */
export async function requireStoreOrServer(config: Config, signal: AbortSignal): Promise<void> {
  const { folder } = config.data;
  if (config.client.serverUrl !== null || config.state.databaseUrl !== null) return;
  if (hasEmbeddedStore(stateFolder(folder)) || (await isServed(folder, signal))) return;
  throw new CoreError(
    'INPUT_INVALID',
    `There is nothing to back up in ${folder}: no store, and no running server. Name the data folder of the server with --data-dir.`,
  );
}

/** A running server may use a Postgres server that only its own environment names. A slow response counts as running. */
async function isServed(folder: string, signal: AbortSignal): Promise<boolean> {
  const file = await readServerFile(folder);
  if (!file) return false;
  const transport = createUndiciTransport({});
  try {
    const { instance } = await new ServerSession(file.url, '', transport).identity(signal);
    return instance === file.instance;
  } catch (error) {
    return error instanceof HttpFailure && error.kind === 'timeout';
  } finally {
    await transport.close();
  }
}
