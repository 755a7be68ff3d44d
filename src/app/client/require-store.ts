// Finds out whether there is something to back up, without creating anything.
import type { Config } from '../../config/index.ts';
import { CoreError, HttpFailure } from '../../core/index.ts';
import { stateFolder } from '../../platform/data-folder/layout.ts';
import { createUndiciTransport } from '../../platform/http-client/index.ts';
import { hasEmbeddedStore } from '../../platform/postgres/embedded/initialised-marker.ts';
import { readServerFile } from '../server-file.ts';
import { ServerSession } from '../server-session.ts';

/**
 * A backup uses the server of the data folder or becomes one; without a server and a store it would create an empty
 * store and back that up. Fails with INPUT_INVALID then, and has created nothing.
 */
export async function requireStoreOrServer(config: Config, signal: AbortSignal): Promise<void> {
  const { folder } = config.data;
  if (config.client.serverUrl !== null || config.state.databaseUrl !== null) return;
  if ((await hasEmbeddedStore(stateFolder(folder))) || (await isServed(folder, signal))) return;
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
