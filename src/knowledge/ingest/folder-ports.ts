// What reading folders needs: where they are noted, and the files in them.
import type { FolderResult, KnowledgeFolder } from '../desk-ports.ts';

export interface FolderStore {
  /** Of one space, or of all. */
  list(spaceId?: number): Promise<readonly KnowledgeFolder[]>;
  /** False when the space has this folder already. */
  add(folder: KnowledgeFolder): Promise<boolean>;
  remove(spaceId: number, folderId: string): Promise<boolean>;
  /** Notes that it is read now; false when another process was first. */
  claim(folder: KnowledgeFolder, at: Date): Promise<boolean>;
  note(folderId: string, result: FolderResult): Promise<void>;
}

export interface FoundFile {
  readonly path: string;
  readonly size: number;
  readonly modifiedMs: number;
}

/** Files of this machine. */
export interface FolderFiles {
  /** The folder's true, absolute path. Fails with INPUT_INVALID when it is none, or cannot be read. */
  resolve(path: string): Promise<string>;
  /** Files that could be documents, below the folder, hidden ones left out; links are not followed. */
  list(folder: string): AsyncIterable<FoundFile>;
  read(path: string): Promise<Uint8Array>;
}
