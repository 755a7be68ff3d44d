// Folders and their last result in Postgres.
import type { Database } from '../../platform/postgres/ports.ts';
import type { Sql } from '../../platform/postgres/sql.ts';
import { json, sql } from '../../platform/postgres/sql.ts';

/** A folder of this machine that is scanned again and again. */
export interface KnowledgeFolder {
  readonly folderId: string;
  readonly spaceId: number;
  readonly spaceName: string;
  readonly organizationId: string | null;
  readonly path: string;
  /** Five fields, UTC; null: the folder is watched. */
  readonly schedule: string | null;
  /** Delete documents whose files are gone. */
  readonly deleteMissing: boolean;
  readonly createdAt: Date;
  readonly lastRunAt: Date | null;
  readonly lastResult: FolderResult | null;
}

type NewFolder = Pick<
  KnowledgeFolder,
  'folderId' | 'spaceId' | 'path' | 'schedule' | 'deleteMissing' | 'createdAt'
>;

/** A document whose file is no longer in its folder. */
export interface MissingFile {
  readonly path: string;
  readonly artifactUid: string;
}

/** The result of a scan; files that did not change are not counted. */
export interface FolderResult {
  readonly added: number;
  readonly revised: number;
  readonly unchanged: number;
  readonly failed: number;
  /** Documents that were deleted because their files are gone. */
  readonly removed: number;
  /** Documents that stay although their files are gone: the count, and the first hundred. */
  readonly missingCount: number;
  readonly missing: readonly MissingFile[];
  /** Messages of the first few failures. */
  readonly problems: readonly string[];
}

export interface FolderRequest {
  readonly path: string;
  readonly schedule: string | null;
  /** Default: false for a new folder, unchanged for a known one. */
  readonly deleteMissing?: boolean;
}

export interface FoundFile {
  readonly path: string;
  readonly size: number;
  readonly modifiedMs: number;
}

/** A subfolder that cannot be read. */
export interface ClosedFolder {
  readonly path: string;
  /** One sentence. */
  readonly problem: string;
}

/** Access to files of this machine. One implementation: `folderFiles`; tests bring files of their own. */
export interface FolderFiles {
  /** The folder's real, absolute path. Fails with INPUT_INVALID when it is not a folder or cannot be read. */
  resolve(path: string): Promise<string>;
  /**
   * Files below the folder that could be documents; hidden files are skipped and links not followed. Fails when the
   * folder itself cannot be read; a subfolder that cannot be read is yielded as closed.
   */
  list(folder: string): AsyncIterable<FoundFile | ClosedFolder>;
  /** Any file name; null when there is no such file. Fails when that cannot be determined. */
  find(path: string): Promise<FoundFile | null>;
  read(path: string): Promise<Uint8Array>;
}

const columns = sql`
  f.folder_id as "folderId", f.space_id as "spaceId", s.name as "spaceName", s.organization_id as "organizationId",
  f.path, f.schedule, f.delete_missing as "deleteMissing", f.created_at as "createdAt", f.last_run_at as "lastRunAt",
  f.last_result as "lastResult"`;

export class FolderStore {
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

  /** False when the space already has this folder. */
  async add(folder: NewFolder): Promise<boolean> {
    const { affected } = await this.#database.query(sql`
      insert into knowledge_folder (folder_id, space_id, path, schedule, delete_missing, created_at)
      values (${folder.folderId}, ${folder.spaceId}, ${folder.path}, ${folder.schedule}, ${folder.deleteMissing},
        ${folder.createdAt})
      on conflict do nothing`);
    return affected === 1;
  }

  /** Null when the space has no folder at this path. */
  async update(
    spaceId: number,
    path: string,
    { schedule, deleteMissing }: { readonly schedule: string | null; readonly deleteMissing?: boolean },
  ): Promise<KnowledgeFolder | null> {
    await this.#database.query(sql`
      update knowledge_folder
      set schedule = ${schedule}, delete_missing = coalesce(${deleteMissing ?? null}::boolean, delete_missing)
      where space_id = ${spaceId} and path = ${path}`);
    const [found] = await this.#folders(sql`f.space_id = ${spaceId} and f.path = ${path}`);
    return found ?? null;
  }

  async delete(folderId: string): Promise<boolean> {
    const { affected } = await this.#database.query(
      sql`delete from knowledge_folder where folder_id = ${folderId}::uuid`,
    );
    return affected === 1;
  }

  /** Starts a scan; false when another process was first. */
  async claim(
    { folderId, lastRunAt }: Pick<KnowledgeFolder, 'folderId' | 'lastRunAt'>,
    at: Date,
  ): Promise<boolean> {
    const { affected } = await this.#database.query(sql`
      update knowledge_folder set last_run_at = ${at}
      where folder_id = ${folderId}::uuid and last_run_at is not distinct from ${lastRunAt}::timestamptz`);
    return affected === 1;
  }

  async saveResult(folderId: string, result: FolderResult): Promise<void> {
    await this.#database.query(
      sql`update knowledge_folder set last_result = ${json(result)} where folder_id = ${folderId}::uuid`,
    );
  }

  /** Documents ingested from files below this path, by path. */
  async ingested(spaceId: number, below: string): Promise<readonly MissingFile[]> {
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
    return rows;
  }
}
