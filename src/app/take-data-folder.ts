// Takes the data folder; `headworks serve` asks a command that holds it to make room.
import type { Config } from '../config/index.ts';
import { version } from '../config/version.ts';
import { HeadworksError, systemClock } from '../core/index.ts';
import type { DataFolder } from '../platform/data-folder/index.ts';
import { openDataFolder } from '../platform/data-folder/index.ts';
import { createUndiciTransport } from '../platform/http-client/index.ts';
import { readAdminToken } from './admin-token.ts';
import { readServerFile } from './server-file.ts';
import type { ServerRole } from './server-role.ts';
import { ServerSession } from './server-session.ts';

/** A command that makes room first finishes the requests and jobs that run in it. */
const handoverMs = 30_000;
const lookAgainMs = 50;

interface Claim {
  readonly role: ServerRole;
  readonly purpose?: string;
  readonly announce?: (sentence: string) => void;
}

/** Fails with DATA_FOLDER_BUSY when somebody holds it who does not make room. */
export async function takeDataFolder(
  config: Config,
  { role, purpose = `headworks ${role}`, announce }: Claim,
): Promise<DataFolder> {
  const open = () => openDataFolder(config.data.folder, { version, command: purpose });
  try {
    return await open();
  } catch (error) {
    if (role === 'command' || !isBusy(error) || !(await askToMakeRoom(config))) throw error;
    announce?.('A command holds the data folder; it hands over as soon as its running work is done.');
  }
  const giveUpAt = systemClock.monotonic() + handoverMs;
  for (;;) {
    try {
      return await open();
    } catch (error) {
      if (!isBusy(error) || systemClock.monotonic() > giveUpAt) throw error;
      await systemClock.sleep(lookAgainMs);
    }
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof HeadworksError && error.code === 'DATA_FOLDER_BUSY';
}

/** True when the holder is a command that will go, or is going already. */
async function askToMakeRoom({ data, server }: Config): Promise<boolean> {
  const file = await readServerFile(data.folder);
  const token = await readAdminToken(data.folder, server.adminToken);
  if (file?.role !== 'command' || token === null) return false;
  const transport = createUndiciTransport({});
  try {
    const session = new ServerSession(file.url, token, transport);
    if ((await session.identity()).instance !== file.instance) return false;
    await session.call('POST', '/api/v1/handover');
    return true;
  } catch (error) {
    return !(error instanceof HeadworksError) || error.code === 'SHUTTING_DOWN';
  } finally {
    await transport.close();
  }
}
