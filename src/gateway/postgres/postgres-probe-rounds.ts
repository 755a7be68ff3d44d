// When models were last probed, so that many processes probe once.
import type { Database } from '../../platform/postgres/ports.ts';
import { sql } from '../../platform/postgres/sql.ts';
import type { ProbeSchedule } from '../health/health-worker.ts';

export class PostgresProbeSchedule implements ProbeSchedule {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async claim(now: number, intervalMs: number): Promise<boolean> {
    const at = new Date(now);
    const due = new Date(now - intervalMs);
    const { rows } = await this.#database.query<{ is_claimed: boolean }>(sql`
      insert into gateway_probe_rounds (started_at) values (${at})
      on conflict (is_only) do update set started_at = excluded.started_at
        where gateway_probe_rounds.started_at <= ${due}
      returning (xmax <> 0) as is_claimed`);
    return rows[0]?.is_claimed ?? false;
  }
}
