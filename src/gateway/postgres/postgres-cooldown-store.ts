// Cooldowns in Postgres. A row only ever grows; clearing by hand is a mark on the model that makes older rows void.
import type { Database } from '../../platform/postgres/ports.ts';
import { sql } from '../../platform/postgres/sql.ts';
import type { CooldownSnapshot, CooldownStore, Cooldown } from '../ports.ts';
import { tell } from './changes-channel.ts';

interface ActiveRow {
  readonly modelId: number;
  readonly clearedAt: Date | null;
  /** Null: the model was cleared and nothing has come since. */
  readonly keyId: string | null;
  readonly until: Date;
  readonly cause: Cooldown['cause'];
  readonly source: string;
  readonly reason: string | null;
  readonly setAt: Date;
}

export class PostgresCooldownStore implements CooldownStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async extend({ modelId, keyId, until, cause, source, reason, setAt }: Cooldown): Promise<void> {
    // The lock makes it wait for a clear that is under way, and then see it.
    await this.#database.query(sql`
      with model as materialized (
        select id, coalesce(cooldowns_cleared_at, '-infinity') as cleared_at
        from gateway_models where id = ${modelId} for share),
      kept as (
        insert into gateway_cooldowns as known (model_id, key_id, until, cause, source, reason, set_at)
        select id, ${keyId}, ${new Date(until)}::timestamptz, ${cause}, ${source}, ${reason},
          ${new Date(setAt)}::timestamptz
        from model where cleared_at < ${new Date(setAt)}::timestamptz
        on conflict (model_id, key_id) do update set until = excluded.until, cause = excluded.cause,
          source = excluded.source, reason = excluded.reason, set_at = excluded.set_at
        where known.until < excluded.until or known.set_at <= (select cleared_at from model)
        returning key_id)
      select ${tell(this.#database, 'cooldowns')} from kept`);
  }

  async clear(modelId: number, at: number): Promise<number> {
    // Clocks of machines differ: what the store holds is cleared even if it claims to have been set later.
    const { rows } = await this.#database.query<{ clearedAt: Date }>(sql`
      with cleared as (
        update gateway_models set cooldowns_cleared_at = greatest(cooldowns_cleared_at, ${new Date(at)}::timestamptz,
          (select max(set_at) from gateway_cooldowns where model_id = ${modelId}))
        where id = ${modelId} returning cooldowns_cleared_at)
      select cooldowns_cleared_at as "clearedAt", ${tell(this.#database, 'cooldowns')} from cleared`);
    return rows[0]?.clearedAt.getTime() ?? at;
  }

  async active(now: number): Promise<CooldownSnapshot> {
    const { rows } = await this.#database.query<ActiveRow>(sql`
      select m.id as "modelId", m.cooldowns_cleared_at as "clearedAt",
        c.key_id as "keyId", c.until, c.cause, c.source, c.reason, c.set_at as "setAt"
      from gateway_models m
      left join gateway_cooldowns c on c.model_id = m.id and c.until > ${new Date(now)}::timestamptz
        and c.set_at > coalesce(m.cooldowns_cleared_at, '-infinity')
      where m.cooldowns_cleared_at is not null or c.model_id is not null
      order by m.id, c.key_id collate "C"`);
    return {
      cooldowns: rows.flatMap(cooldownOf),
      clearedAt: new Map(
        rows.flatMap(({ modelId, clearedAt }) => (clearedAt ? [[modelId, clearedAt.getTime()]] : [])),
      ),
    };
  }
}

function cooldownOf({ keyId, ...row }: ActiveRow): readonly Cooldown[] {
  if (keyId === null) return [];
  const { modelId, until, cause, source, reason, setAt } = row;
  return [{ modelId, keyId, until: until.getTime(), cause, source, reason, setAt: setAt.getTime() }];
}
