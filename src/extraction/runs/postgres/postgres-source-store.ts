// Registered sources in Postgres.
import { CoreError, isUuid } from '../../../core/index.ts';
import type { Queryable, Transaction } from '../../../platform/postgres/ports.ts';
import { hasSqlState } from '../../../platform/postgres/sql-error.ts';
import { json, sql } from '../../../platform/postgres/sql.ts';
import type { ExtractionSource, SourceStore } from '../ports.ts';

const columns = sql`
  id, name, settings, options, schedule, vault, is_active as "isActive", is_from_file as "isFromFile",
  last_scheduled_at as "lastScheduledAt", created_at as "createdAt", modified_at as "modifiedAt"`;

const uniqueViolation = '23505';

export class PostgresSourceStore implements SourceStore {
  readonly #database: Queryable;

  constructor(database: Queryable) {
    this.#database = database;
  }

  async list(): Promise<readonly ExtractionSource[]> {
    const { rows } = await this.#database.query<ExtractionSource>(
      sql`select ${columns} from extraction_sources order by name collate "C"`,
    );
    return rows;
  }

  async get(id: string): Promise<ExtractionSource | null> {
    if (!isUuid(id)) return null;
    const { rows } = await this.#database.query<ExtractionSource>(
      sql`select ${columns} from extraction_sources where id = ${id}::uuid`,
    );
    return rows[0] ?? null;
  }

  async add(source: ExtractionSource): Promise<void> {
    const { id, name, settings, options, schedule, vault, isActive, isFromFile } = source;
    const { lastScheduledAt, createdAt, modifiedAt } = source;
    try {
      await this.#database.query(sql`
        insert into extraction_sources (id, name, kind, settings, options, schedule, vault, is_active, is_from_file,
          last_scheduled_at, created_at, modified_at)
        values (${id}, ${name}, ${settings.kind}, ${json(settings)}, ${json(options)}, ${schedule}, ${vault},
          ${isActive}, ${isFromFile}, ${lastScheduledAt}, ${createdAt}, ${modifiedAt})`);
    } catch (error) {
      if (!hasSqlState(error, uniqueViolation)) throw error;
      throw new CoreError('CONFLICT', `There is a source named ${name} already.`, { cause: error });
    }
  }

  async update(source: ExtractionSource): Promise<boolean> {
    const { affected } = await this.#database.query(sql`
      update extraction_sources set settings = ${json(source.settings)}, options = ${json(source.options)},
        schedule = ${source.schedule}, vault = ${source.vault}, is_active = ${source.isActive},
        is_from_file = ${source.isFromFile}, last_scheduled_at = ${source.lastScheduledAt},
        modified_at = ${source.modifiedAt}
      where id = ${source.id}::uuid`);
    return affected === 1;
  }

  async remove(id: string): Promise<boolean> {
    if (!isUuid(id)) return false;
    const { affected } = await this.#database.query(
      sql`delete from extraction_sources where id = ${id}::uuid`,
    );
    return affected === 1;
  }

  async claim(seen: ExtractionSource, at: Date, transaction: unknown): Promise<boolean> {
    // A Date has milliseconds; what others wrote into the table may have more.
    const { affected } = await (transaction as Transaction).query(sql`
      update extraction_sources set last_scheduled_at = ${at}
      where id = ${seen.id}::uuid and schedule = ${seen.schedule} and is_active
        and date_trunc('milliseconds', last_scheduled_at) = ${seen.lastScheduledAt}::timestamptz`);
    return affected === 1;
  }
}
