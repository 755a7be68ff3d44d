// Folders of this machine, read again and again: watched, or on a schedule. Only files that changed are read.
import type { Clock, IdSource } from '../../core/index.ts';
import { CoreError, isUuid, parseCron } from '../../core/index.ts';
import type { FolderDesk, FolderResult, FolderRequest, KnowledgeFolder } from '../desk-ports.ts';
import type { IngestResult, Space, SpaceStore } from '../ports.ts';
import type { FolderWalkParts } from './folder-walk.ts';
import { FolderWalks } from './folder-walk.ts';
import { withoutRemoved } from './missing-files.ts';

export interface FoldersParts extends FolderWalkParts {
  readonly spaces: Pick<SpaceStore, 'byId'>;
  readonly clock: Clock;
  readonly ids: IdSource;
}

export class Folders implements FolderDesk {
  readonly #parts: FoldersParts;
  readonly #walks: FolderWalks;

  constructor(parts: FoldersParts) {
    this.#parts = parts;
    this.#walks = new FolderWalks(parts);
  }

  async list(spaceId?: number): Promise<readonly KnowledgeFolder[]> {
    const { store } = this.#parts;
    return Promise.all((await store.list(spaceId)).map((folder) => withoutRemoved(store, folder)));
  }

  async add(
    { spaceId }: Space,
    { path: given, cron, removesMissing }: FolderRequest,
  ): Promise<KnowledgeFolder & { readonly outcome: 'added' | 'changed' }> {
    const { store, files, ids, clock } = this.#parts;
    if (cron !== null) parseCron(cron);
    const path = await files.resolve(given);
    const isNew = await store.add({
      folderId: ids.uuid(),
      spaceId,
      path,
      cron,
      removesMissing: removesMissing ?? false,
      createdAt: new Date(clock.now()),
    });
    const change = { cron, ...(removesMissing === undefined ? {} : { removesMissing }) };
    const folder = await store.change(spaceId, path, change);
    if (!folder) throw new CoreError('CONFLICT', `The folder ${path} was removed at this moment. Try again.`);
    return { ...folder, outcome: isNew ? 'added' : 'changed' };
  }

  async remove(folderId: string): Promise<void> {
    if (!isUuid(folderId) || !(await this.#parts.store.remove(folderId))) throw unknown(folderId);
    // Its files are nobody's business any more.
    this.#parts.onHealed();
  }

  async scan(
    folderId: string,
    { removesMissing }: { readonly removesMissing: boolean },
    signal: AbortSignal,
  ): Promise<FolderResult> {
    const { store, clock } = this.#parts;
    const folder = isUuid(folderId) ? await store.get(folderId) : null;
    if (!folder) throw unknown(folderId);
    if (!(await store.claim(folder, new Date(clock.now()))))
      throw new CoreError('CONFLICT', `The folder ${folder.path} is being read at this moment. Try again.`);
    const isRemoving = removesMissing || folder.removesMissing;
    const result = await this.#read(folder, { isAsked: true, removesMissing: isRemoving }, signal);
    return result ?? folder.lastResult ?? nothing;
  }

  /** Reads the folders that are due. Fails when the state store does; a folder or file that fails is noted. */
  async readDue(signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#parts;
    const now = new Date(clock.now());
    for (const folder of await store.list()) {
      signal.throwIfAborted();
      if (!isDue(folder, now) || !(await store.claim(folder, now))) continue;
      await this.#read(folder, { isAsked: false, removesMissing: folder.removesMissing }, signal);
    }
  }

  /** Tries a file that failed again, or whether a folder can be read now. Fails as reading and ingest do. */
  async retry(folderId: string, path: string, signal: AbortSignal): Promise<FolderRetry> {
    const { store, spaces } = this.#parts;
    const folder = isUuid(folderId) ? await store.get(folderId) : null;
    const space = folder && (await spaces.byId(folder.spaceId));
    if (!folder || !space) return 'gone';
    // Fails where the folder cannot be read, as on another machine: then a file is not gone, only out of reach.
    await this.#list(folder.path);
    const isFolder = await this.#list(path).then(
      () => true,
      () => false,
    );
    return isFolder ? 'taken' : ((await this.#walks.retry(space, folder, path, signal)) ?? 'gone');
  }

  /** Fails when it is no folder, or nobody can look into it. */
  async #list(path: string): Promise<void> {
    for await (const _ of this.#parts.files.list(path)) return;
  }

  async #read(
    folder: KnowledgeFolder,
    options: { readonly isAsked: boolean; readonly removesMissing: boolean },
    signal: AbortSignal,
  ): Promise<FolderResult | null> {
    const { spaces, store } = this.#parts;
    const space = await spaces.byId(folder.spaceId);
    if (!space) return null;
    const result = await this.#walks.walk(space, folder, options, signal);
    if (result) await store.note(folder.folderId, result);
    return result;
  }
}

/** What became of it; `gone`: the folder is read no longer, or the file is not there any more. */
export type FolderRetry = 'gone' | 'taken' | IngestResult;

const nothing: FolderResult = {
  added: 0,
  revised: 0,
  unchanged: 0,
  failed: 0,
  removed: 0,
  missingCount: 0,
  missing: [],
  problems: [],
};

const unknown = (folderId: string): CoreError =>
  new CoreError(
    'NOT_FOUND',
    `There is no folder ${JSON.stringify(folderId.slice(0, 60))}. "headworks folders list" shows what there is.`,
  );

function isDue({ cron, lastRunAt, createdAt }: KnowledgeFolder, now: Date): boolean {
  if (cron === null) return true;
  return parseCron(cron).next((lastRunAt ?? createdAt).getTime()) <= now.getTime();
}
