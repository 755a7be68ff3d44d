// Folders of this machine, read again and again: watched, or on a schedule. Only files that changed are read.
import type { Clock, IdSource, Log } from '../../core/index.ts';
import { CoreError, HeadworksError, kindOf, messageOf, parseCron } from '../../core/index.ts';
import type { ArtifactDesk, FolderDesk, FolderResult, KnowledgeFolder } from '../desk-ports.ts';
import type { Space, SpaceStore } from '../ports.ts';
import { isOver } from './failure-kinds.ts';
import type { FolderFiles, FolderStore, FoundFile } from './folder-ports.ts';

export interface FoldersParts {
  readonly store: FolderStore;
  readonly spaces: Pick<SpaceStore, 'byId'>;
  readonly artifacts: ArtifactDesk;
  readonly files: FolderFiles;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly log: Log;
}

const shownProblems = 5;

type Outcome = 'added' | 'revised' | 'unchanged' | 'failed';

export class Folders implements FolderDesk {
  readonly #parts: FoldersParts;
  /** Size and time of files as they were read, by folder and path; after a restart each is read once more. */
  readonly #seen = new Map<string, string>();

  constructor(parts: FoldersParts) {
    this.#parts = parts;
  }

  list(spaceId: number): Promise<readonly KnowledgeFolder[]> {
    return this.#parts.store.list(spaceId);
  }

  async add({ spaceId }: Space, path: string, cron: string | null): Promise<KnowledgeFolder> {
    const { store, files, ids, clock } = this.#parts;
    if (cron !== null) parseCron(cron);
    const folder: KnowledgeFolder = {
      folderId: ids.uuid(),
      spaceId,
      path: await files.resolve(path),
      cron,
      createdAt: new Date(clock.now()),
      lastRunAt: null,
      lastResult: null,
    };
    if (!(await store.add(folder)))
      throw new CoreError('CONFLICT', `The folder ${folder.path} is read into this space already.`);
    return folder;
  }

  async remove({ spaceId }: Space, folderId: string): Promise<void> {
    if (!(await this.#parts.store.remove(spaceId, folderId)))
      throw new CoreError('NOT_FOUND', `This space has no folder ${folderId}.`);
  }

  /** Reads the folders that are due. Fails when the state store does; a folder or file that fails is noted. */
  async readDue(signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#parts;
    const now = new Date(clock.now());
    for (const folder of await store.list()) {
      signal.throwIfAborted();
      if (isDue(folder, now) && (await store.claim(folder, now))) await this.#read(folder, signal);
    }
  }

  async #read(folder: KnowledgeFolder, signal: AbortSignal): Promise<void> {
    const { spaces, files, store, log } = this.#parts;
    const space = await spaces.byId(folder.spaceId);
    if (!space) return;
    const counts: Record<Outcome, number> = { added: 0, revised: 0, unchanged: 0, failed: 0 };
    const problems: string[] = [];
    const note = (outcome: Outcome, problem?: string): void => {
      counts[outcome] += 1;
      if (problem !== undefined && problems.length < shownProblems) problems.push(problem);
    };
    try {
      for await (const file of files.list(folder.path)) await this.#take(space, folder, file, note, signal);
    } catch (error) {
      if (isOver(error, signal)) throw error;
      note('failed', `The folder cannot be read: ${messageOf(error)}`);
    }
    const result: FolderResult = { ...counts, problems };
    if (counts.failed > 0)
      log.warn('files of a folder could not be taken in', {
        folderId: folder.folderId,
        failed: counts.failed,
      });
    const isNews = counts.added + counts.revised + counts.unchanged + counts.failed > 0;
    if (isNews || folder.lastResult === null) await store.note(folder.folderId, result);
  }

  async #take(
    space: Space,
    { folderId }: KnowledgeFolder,
    file: FoundFile,
    note: (outcome: Outcome, problem?: string) => void,
    signal: AbortSignal,
  ): Promise<void> {
    signal.throwIfAborted();
    const { artifacts, files } = this.#parts;
    const key = `${folderId} ${file.path}`;
    const state = `${file.size} ${file.modifiedMs}`;
    if (this.#seen.get(key) === state) return;
    try {
      if (file.size > artifacts.maxDocumentBytes)
        throw new CoreError('INPUT_INVALID', `It has ${file.size} bytes, more than may be taken in.`);
      const content = { name: file.path, mediaType: '', bytes: await files.read(file.path) };
      const { outcome } = await artifacts.ingest(
        space,
        { content, sourceSystem: 'files', sourceId: file.path },
        signal,
      );
      note(outcome);
    } catch (error) {
      if (isOver(error, signal)) throw error;
      note('failed', `${file.path}: ${error instanceof HeadworksError ? error.message : kindOf(error)}`);
    }
    this.#seen.set(key, state);
  }
}

function isDue({ cron, lastRunAt, createdAt }: KnowledgeFolder, now: Date): boolean {
  if (cron === null) return true;
  return parseCron(cron).next((lastRunAt ?? createdAt).getTime()) <= now.getTime();
}
