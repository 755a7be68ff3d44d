// Whether sessions of the database are ours: a pooler that lends connections by the transaction takes them away.
import { systemClock, systemIds } from '../core/index.ts';
import type { Database } from '../platform/postgres/index.ts';
import { sql } from '../platform/postgres/index.ts';

/** Whoever listens is told when the transaction has committed: milliseconds later. */
const echoMs = 2_000;

export const poolerRemedy =
  'Give DATABASE_URL an address without a connection pooler, or with one in session mode (PgBouncer: pool_mode = session).';

/**
 * Listens, tells itself something and waits for it. False behind a pooler in transaction mode: neither what is listened
 * to nor locks of a session last there.
 */
export async function hearsItself(database: Database): Promise<boolean> {
  const channel = `headworks_echo_${systemIds.uuid().replaceAll('-', '')}`;
  const { promise: heard, resolve } = Promise.withResolvers<boolean>();
  const unlisten = await database.listen(channel, () => resolve(true));
  let cancel = (): void => undefined;
  try {
    await database.query(sql`select pg_notify(${channel}, '')`);
    cancel = systemClock.after(echoMs, () => resolve(false));
    return await heard;
  } finally {
    cancel();
    await unlisten();
  }
}
