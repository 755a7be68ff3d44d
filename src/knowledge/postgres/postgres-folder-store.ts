// Folders that are read again and again, in Postgres.
import type { Database } from '../../platform/postgres/ports.ts';
import { json, sql } from '../../platform/postgres/sql.ts';
import type { FolderResult, KnowledgeFolder } from '../desk-ports.ts';
import type { FolderStore } from '../ingest/folder-ports.ts';

const columns = sql`
  folder_id as "folderId", space_id as "spaceId", path, cron, created_at as "createdAt", last_run_at as "lastRunAt",
  last_result as "lastResult"`;

export class PostgresFolderStore implements FolderStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async list(spaceId?: number): Promise<readonly KnowledgeFolder[]> {
    const { rows } = await this.#database.query<KnowledgeFolder>(sql`
      select ${columns} from knowledge_folder
      where ${spaceId ?? null}::integer is null or space_id = ${spaceId ?? null}::integer
      order by path, folder_id`);
    return rows;
  }

  async add(folder: KnowledgeFolder): Promise<boolean> {
    const { affected } = await this.#database.query(sql`
      insert into knowledge_folder (folder_id, space_id, path, cron, created_at)
      values (${folder.folderId}, ${folder.spaceId}, ${folder.path}, ${folder.cron}, ${folder.createdAt})
      on conflict do nothing`);
    return affected === 1;
  }

  async remove(spaceId: number, folderId: string): Promise<boolean> {
    const { affected } = await this.#database.query(
      sql`delete from knowledge_folder where folder_id = ${folderId}::uuid and space_id = ${spaceId}`,
    );
    return affected === 1;
  }

  async claim({ folderId, lastRunAt }: KnowledgeFolder, at: Date): Promise<boolean> {
    const { affected } = await this.#database.query(sql`
      update knowledge_folder set last_run_at = ${at}
      where folder_id = ${folderId}::uuid and last_run_at is not distinct from ${lastRunAt}::timestamptz`);
    return affected === 1;
  }

  async note(folderId: string, result: FolderResult): Promise<void> {
    await this.#database.query(
      sql`update knowledge_folder set last_result = ${json(result)} where folder_id = ${folderId}::uuid`,
    );
  }
}
