// Removes an organization or a deployment, with all that hangs on it, unless one of its executions is under way.
import type { Database } from '../../platform/postgres/ports.ts';
import { identifier, sql } from '../../platform/postgres/sql.ts';
import { underWay } from '../refusals.ts';
import type { TenantTopic } from '../tenant-stores.ts';
import { tellTenants } from './tenant-channel.ts';

/** Ended executions and their files go, too: they may be many. */
const removalLeaseMs = 300_000;

/** False when there is none. Fails with CONFLICT while an execution is under way. */
export function removeIdle(
  database: Database,
  what: 'organization' | 'deployment',
  id: string,
  topics: readonly TenantTopic[],
): Promise<boolean> {
  const table = identifier(`${what}s`);
  return database.transaction(
    async (transaction) => {
      // With the row locked nobody can add an execution: whoever tries waits, and then finds nothing to add it to.
      const locked = await transaction.query(sql`select id from ${table} where id = ${id} for update`);
      if (locked.rows.length === 0) return false;
      // A statement of its own: it must see what was committed while the first one waited.
      const busy = await transaction.query(sql`
        select id from executions where ${identifier(`${what}_id`)} = ${id} and ended_at is null limit 1`);
      if (busy.rows.length > 0) throw underWay(what);
      await transaction.query(sql`delete from ${table} where id = ${id}`);
      await tellTenants(transaction, database.schema, ...topics);
      return true;
    },
    { leaseMs: removalLeaseMs },
  );
}
