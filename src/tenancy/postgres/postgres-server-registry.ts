// Reports of the servers that share slots, in Postgres, on its clock.
import type { Database } from '../../platform/postgres/ports.ts';
import { json, sql } from '../../platform/postgres/sql.ts';
import type { ServerRegistry, ServerReport } from '../admission/types.ts';

/** The table admission_servers. */
export function postgresServerRegistry(database: Database, leaseSeconds: number): ServerRegistry {
  return {
    report: async ({ serverId, number, heartbeats, slots, isDown, sharedWith }) => {
      const shared = sharedWith === null ? null : json(sharedWith);
      await database.query(sql`
        insert into admission_servers
          (server_id, number, heartbeats, slots, is_down, shared_with, reported_at)
        values (${serverId}, ${number}, ${heartbeats}, ${json(slots)}, ${isDown}, ${shared}, clock_timestamp())
        on conflict (server_id) do update
          set number = excluded.number, heartbeats = excluded.heartbeats, slots = excluded.slots,
              is_down = excluded.is_down, shared_with = excluded.shared_with, reported_at = excluded.reported_at
          where admission_servers.number < excluded.number`);
    },
    list: async () => {
      const { rows } = await database.query<ServerReport>(sql`
        select server_id as "serverId", number, heartbeats, slots, is_down as "isDown", shared_with as "sharedWith"
        from admission_servers
        where reported_at > clock_timestamp() - make_interval(secs => ${leaseSeconds})
        order by server_id`);
      return rows;
    },
    remove: async (serverId) => {
      await database.query(sql`
        delete from admission_servers
        where server_id = ${serverId} or reported_at < clock_timestamp() - interval '1 day'`);
    },
  };
}
