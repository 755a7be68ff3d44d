// Keeps a second server away from a database on which one server, without Redis, counts slots in its own memory.
import type { Clock, Emitter } from '../../core/index.ts';
import type { Database } from '../../platform/postgres/index.ts';
import { checkNotifyRoundTrip, poolerRemedy } from '../../platform/postgres/change-feed.ts';
import { serverLockName } from '../../platform/postgres/server/session-lock.ts';
import { AdmissionError } from '../errors.ts';
import type { AdmissionEvents } from '../events.ts';

export interface ServerGuardDeps {
  readonly database: Database;
  /** Null for the embedded database. */
  readonly databaseUrl: string | null;
  readonly hasRedis: boolean;
  /** False for workers and commands: without Redis they leave counting to the server. */
  readonly isServer: boolean;
  readonly clock: Clock;
  readonly events: Emitter<AdmissionEvents>;
}

/** Why slots must not be counted by this process; null when they may. */
export type GuardCheck = () => AdmissionError | null;

/**
 * On a shared database a server without Redis holds a session lock exclusively; servers with Redis share it. It ends with
 * its holder. Fails with ADMISSION_NEEDS_REDIS when another server holds it.
 */
export async function openServerGuard(
  { database, databaseUrl, hasRedis, isServer, clock, events }: ServerGuardDeps,
  closing: AsyncDisposableStack,
): Promise<GuardCheck> {
  if (databaseUrl === null || !database.capabilities.isShared) return () => null;
  if (!isServer) return () => (hasRedis ? null : needsRedis('This process is not a permanent server.'));
  const { acquireSessionLock } = await import('../../platform/postgres/server/session-lock.ts');
  const lock = await acquireSessionLock({
    url: databaseUrl,
    name: serverLockName(database.schema),
    mode: hasRedis ? 'shared' : 'exclusive',
    clock,
    onChange: (state) => events.emit('admission:server-lock-changed', { state }),
  });
  const other = hasRedis ? 'Another server without Redis' : 'Another server';
  if (!lock) throw needsRedis(`${other} uses the same database.`);
  closing.defer(() => lock.close());
  if (!hasRedis && !(await checkNotifyRoundTrip(database))) throw lockIneffective();
  return () => (lock.state === 'taken' ? needsRedis(`${other} took over this database.`) : null);
}

const lockIneffective = (): AdmissionError =>
  new AdmissionError(
    'ADMISSION_NEEDS_REDIS',
    'There seems to be a connection pooler in transaction mode between this server and its database: notifications do ' +
      'not arrive, and the lock that keeps a second server away has no effect. ' +
      `${poolerRemedy} Or set REDIS_URL.`,
  );

const needsRedis = (reason: string): AdmissionError =>
  new AdmissionError(
    'ADMISSION_NEEDS_REDIS',
    `${reason} Without Redis a server counts requests in its own memory, so that two would admit more than the limit. ` +
      'Set REDIS_URL to the same Redis for all servers, or stop the other one.',
  );
