// Detects a connection pooler in transaction mode, behind which LISTEN and session locks do not work.
import { systemClock, systemIds } from '../../core/index.ts';
import type { Database } from './ports.ts';
import { sql } from './sql.ts';

/** A notification arrives milliseconds after the commit. */
const timeoutMs = 2_000;

export const poolerRemedy =
  'Point DATABASE_URL to the server itself, or to a connection pooler in session mode (PgBouncer: pool_mode = session).';

/** Sends a notification to itself. False behind a pooler in transaction mode. */
export async function checkNotifyRoundTrip(database: Database): Promise<boolean> {
  const channel = `headworks_notify_check_${systemIds.uuid().replaceAll('-', '')}`;
  const { promise: received, resolve } = Promise.withResolvers<boolean>();
  const unlisten = await database.listen(channel, () => resolve(true));
  let cancel = (): void => undefined;
  try {
    await database.query(sql`select pg_notify(${channel}, '')`);
    cancel = systemClock.after(timeoutMs, () => resolve(false));
    return await received;
  } finally {
    cancel();
    await unlisten();
  }
}
