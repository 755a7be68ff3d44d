// Opens Postgres inside this process: PGlite in a worker thread, on files or in memory.
import type { Clock } from '../../../core/clock.ts';
import { silentLog, type Log } from '../../../core/log.ts';
import { makeFolder } from '../../data-folder/make-folder.ts';
import { SessionDatabase } from '../session-database.ts';
import { StateTracker } from '../state-tracker.ts';
import { Subscriptions } from '../subscriptions.ts';
import { EmbeddedStore } from './embedded-store.ts';

/** Files in a folder that nobody else has open (hold the data folder's lock), or nothing but memory. */
export type EmbeddedLocation = { readonly folder: string } | { readonly memory: true };

export type EmbeddedDatabaseOptions = EmbeddedLocation & {
  readonly schema: string;
  readonly clock: Clock;
  readonly log?: Log;
  /** A single command that takes longer gets the worker restarted. Default 60 s. */
  readonly stuckAfterMs?: number;
  /** Offer the extension age, if its package is installed. Default: no, it makes the store larger. */
  readonly withAge?: boolean;
};

/** Ready when it resolves: 0.5 s for files that exist, 3 s for new ones. Fails with STATE_UNUSABLE. */
export async function openEmbeddedDatabase(options: EmbeddedDatabaseOptions): Promise<SessionDatabase> {
  const { schema, clock, log = silentLog, stuckAfterMs = 60_000, withAge = false } = options;
  const folder = 'folder' in options ? options.folder : undefined;
  if (folder !== undefined) await makeFolder(folder);
  const state = new StateTracker();
  const subscriptions = new Subscriptions((error) => log.error('A listener failed.', { error }));
  const store = new EmbeddedStore({
    folder,
    schema,
    withAge,
    clock,
    log,
    state,
    subscriptions,
    stuckAfterMs,
  });
  const database = new SessionDatabase({ kind: 'embedded', schema, store, state, subscriptions, clock });
  try {
    await database.refreshCapabilities();
  } catch (error) {
    await database.close();
    throw error;
  }
  return database;
}
