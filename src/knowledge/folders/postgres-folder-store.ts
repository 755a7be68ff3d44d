// Folders that are read again and again, in Postgres.
import type { Database } from '../../platform/postgres/ports.ts';
import type { Sql } from '../../platform/postgres/sql.ts';
import { json, sql } from '../../platform/postgres/sql.ts';
import type { FolderResult, KnowledgeFolder, MissingFile } from '../desk-ports.ts';
import type { FolderStore, NewFolder } from './folder-ports.ts';

const columns = sql`
  f.folder_id as "folderId", f.space_id as "spaceId", s.name as "spaceName", s.organization_id as "organizationId",
  f.path, f.cron, f.removes_missing as "removesMissing", f.created_at as "createdAt", f.last_run_at as "lastRunAt",
  f.last_result as "lastResult"`;

export class PostgresFolderStore implements FolderStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  list(spaceId?: number): Promise<readonly KnowledgeFolder[]> {
    return this.#folders(spaceId === undefined ? sql`true` : sql`f.space_id = ${spaceId}`);
  }

  async get(folderId: string): Promise<KnowledgeFolder | null> {
    const [found] = await this.#folders(sql`f.folder_id = ${folderId}::uuid`);
    return found ?? null;
  }

  async add(folder: NewFolder): Promise<boolean> {
    const { affected } = await this.#database.query(sql`
      insert into knowledge_folder (folder_id, space_id, path, cron, removes_missing, created_at)
      values (${folder.folderId}, ${folder.spaceId}, ${folder.path}, ${folder.cron}, ${folder.removesMissing},
        ${folder.createdAt})
      on conflict do nothing`);
    return affected === 1;
  }

  async change(...[spaceId, path, { cron, removesMissing }]: Parameters<FolderStore['change']>) {
    await this.#database.query(sql`
      update knowledge_folder
      set cron = ${cron}, removes_missing = coalesce(${removesMissing ?? null}::boolean, removes_missing)
      where space_id = ${spaceId} and path = ${path}`);
    const [found] = await this.#folders(sql`f.space_id = ${spaceId} and f.path = ${path}`);
    return found ?? null;
  }

  async remove(folderId: string): Promise<boolean> {
    const { affected } = await this.#database.query(
      sql`delete from knowledge_folder where folder_id = ${folderId}::uuid`,
    );
    return affected === 1;
  }

  async claim(...[{ folderId, lastRunAt }, at]: Parameters<FolderStore['claim']>): Promise<boolean> {
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

  async taken(spaceId: number, below: string): Promise<readonly MissingFile[]> {
    const { rows } = await this.#database.query<MissingFile>(sql`
      select source_id as path, artifact_uid as "artifactUid" from artifact
      where space_id = ${spaceId} and source_system = 'files' and starts_with(source_id, ${below})
      order by source_id`);
    return rows;
  }

  async #folders(condition: Sql): Promise<readonly KnowledgeFolder[]> {
    const { rows } = await this.#database.query<KnowledgeFolder>(sql`
      select ${columns} from knowledge_folder f join knowledge_space s using (space_id)
      where ${condition} order by f.path, f.folder_id`);
    return rows.map(({ lastResult, ...folder }) => ({
      ...folder,
      // Walks of earlier versions did not look for files that went.
      lastResult: lastResult && {
        removed: 0,
        missingCount: 0,
        missing: [],
        ...(lastResult as Partial<FolderResult>),
      },
    })) as readonly KnowledgeFolder[];
  }
}
