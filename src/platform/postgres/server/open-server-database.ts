// Opens a Postgres server that others may use too.
import type { Clock } from '../../../core/clock.ts';
import { silentLog, type Log } from '../../../core/log.ts';
import { SessionDatabase } from '../session-database.ts';
import { StateTracker } from '../state-tracker.ts';
import { Subscriptions } from '../subscriptions.ts';
import { ServerStore } from './server-store.ts';

export interface ServerDatabaseOptions {
  /** postgres://user:password@host:5432/database, with `sslmode` as pg knows it. */
  readonly url: string;
  readonly schema: string;
  readonly clock: Clock;
  /** Connections at once, besides one for notifications and cancelling. Default 10. */
  readonly poolSize?: number;
  /** The server stops a statement that takes longer; 0 means never. Default 30 s. */
  readonly statementTimeoutMs?: number;
  /** Default 5 s. */
  readonly connectTimeoutMs?: number;
  readonly log?: Log;
}

/** Fails with STATE_UNAVAILABLE (not reachable now) or STATE_UNUSABLE (password, rights, version). */
export async function openServerDatabase(options: ServerDatabaseOptions): Promise<SessionDatabase> {
  const { url, schema, clock, log = silentLog } = options;
  const { poolSize = 10, statementTimeoutMs = 30_000, connectTimeoutMs = 5000 } = options;
  const state = new StateTracker();
  const subscriptions = new Subscriptions((error) => log.error('A listener failed.', { error }));
  const settings = { url, schema, poolSize, statementTimeoutMs, connectTimeoutMs };
  const store = new ServerStore({ ...settings, clock, log, state, subscriptions });
  const database = new SessionDatabase({ kind: 'server', schema, store, state, subscriptions, clock });
  try {
    await store.connect();
    await database.refreshCapabilities();
  } catch (error) {
    await database.close();
    throw error;
  }
  return database;
}
