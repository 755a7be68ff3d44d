// What reading folders needs: where they are noted, and the files in them.
import type { FolderResult, KnowledgeFolder, MissingFile } from '../desk-ports.ts';

export type NewFolder = Pick<
  KnowledgeFolder,
  'folderId' | 'spaceId' | 'path' | 'cron' | 'removesMissing' | 'createdAt'
>;

export interface FolderStore {
  /** Of one space, or of all. */
  list(spaceId?: number): Promise<readonly KnowledgeFolder[]>;
  get(folderId: string): Promise<KnowledgeFolder | null>;
  /** False when the space has this folder already. */
  add(folder: NewFolder): Promise<boolean>;
  /** Another schedule, another setting; what is left out stays. Null when the space has no folder of this path. */
  change(
    spaceId: number,
    path: string,
    change: { readonly cron: string | null; readonly removesMissing?: boolean },
  ): Promise<KnowledgeFolder | null>;
  remove(folderId: string): Promise<boolean>;
  /** Notes that it is read now; false when another process was first. */
  claim(folder: Pick<KnowledgeFolder, 'folderId' | 'lastRunAt'>, at: Date): Promise<boolean>;
  note(folderId: string, result: FolderResult): Promise<void>;
  /** Documents that were taken in from files below this path, in the order of their paths. */
  taken(spaceId: number, below: string): Promise<readonly MissingFile[]>;
}

export interface FoundFile {
  readonly path: string;
  readonly size: number;
  readonly modifiedMs: number;
}

/** A folder below the one that is walked through into which nobody can look. */
export interface ClosedFolder {
  readonly path: string;
  /** One sentence. */
  readonly problem: string;
}

/** Files of this machine. */
export interface FolderFiles {
  /** The folder's true, absolute path. Fails with INPUT_INVALID when it is none, or cannot be read. */
  resolve(path: string): Promise<string>;
  /**
   * Files that could be documents, below the folder, hidden ones left out; links are not followed. Fails when the folder
   * itself cannot be read; one below it is told, and the others follow.
   */
  list(folder: string): AsyncIterable<FoundFile | ClosedFolder>;
  /** Whatever it is called; null when nothing of this name is there. Fails when nobody can tell. */
  find(path: string): Promise<FoundFile | null>;
  read(path: string): Promise<Uint8Array>;
}
