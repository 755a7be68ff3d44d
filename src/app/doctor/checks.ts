// Makes checks: each by itself, none for long, and with a remedy also for one that fails itself.
import type { Clock } from '../../core/index.ts';
import { abortable, HeadworksError, messageOf, systemClock } from '../../core/index.ts';
import type { Config } from '../../config/index.ts';
import type { DoctorCheck } from '../../http/index.ts';
import { version } from '../version.ts';
import type { Finding } from './findings.ts';
import { problem } from './findings.ts';
import * as machine from './machine-checks.ts';

export type Check = readonly [name: string, make: () => Finding | Promise<Finding>];

/** Whoever runs doctor waits for the slowest: a store that hangs must not cost more than this. */
const longestMs = 5_000;

/** All at the same time, in the order given; one that fails or takes too long is a finding, not a crash. */
export async function makeAll(
  checks: readonly Check[],
  clock: Pick<Clock, 'after'> = systemClock,
): Promise<readonly DoctorCheck[]> {
  const late = new AbortController();
  const cancel = clock.after(longestMs, () => late.abort(new Late()));
  try {
    return await Promise.all(checks.map((check) => made(check, late.signal)));
  } finally {
    cancel();
  }
}

class Late extends Error {
  override readonly name = 'Late';
  override readonly message = `no answer within ${longestMs / 1_000} s`;
}

async function made([name, make]: Check, late: AbortSignal): Promise<DoctorCheck> {
  try {
    return { name, ...(await abortable((async () => make())(), late)) };
  } catch (error) {
    return { name, ...problem(`The check itself failed: ${messageOf(error)}`, remedyFor(error)) };
  }
}

function remedyFor(error: unknown): string {
  if (error instanceof Late) return 'See the checks of the state store and of redis: one of them hangs.';
  if ((error as NodeJS.ErrnoException).code === 'EACCES')
    return 'Run it as the user that the server runs as, or as root.';
  const code = error instanceof HeadworksError ? error.code : '';
  if (code.startsWith('REDIS_')) return 'See the check of redis.';
  if (code.startsWith('STATE_')) return 'See the check of the state store.';
  return 'Do what the message says; the log of the server may tell more.';
}

/** What is known without any store. */
export function machineChecks(config: Config): readonly Check[] {
  const { folder } = config.data;
  const { node, sqlite } = process.versions;
  const platform = `${process.platform} ${process.arch}`;
  return [
    ['version', () => machine.versions({ headworks: version, node, sqlite, platform })],
    ['address', () => machine.address(config.server)],
    ['data folder', () => machine.dataFolder(folder)],
    ['folder rights', () => machine.folderRights(folder)],
    ['admin token', () => machine.adminToken(config)],
    ['open files', async () => machine.openFiles(await machine.readLimits())],
    ['settings', () => machine.settings(config)],
  ];
}
