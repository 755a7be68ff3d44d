// Folders of this machine that are scanned: watched, or on a schedule. Only changed files are read.
import { createHash } from 'node:crypto';
import type { Clock, IdSource, Log } from '../../core/index.ts';
import { CoreError, HeadworksError, isUuid, kindOf, messageOf, parseCron } from '../../core/index.ts';
import type { LedgerRecorder } from '../../ledger/index.ts';
import type { Artifacts } from '../artifacts/artifacts.ts';
import type { IngestResult } from '../artifacts/types.ts';
import { ingestDegradations, isFatalForJob } from '../degradations.ts';
import type { Space, Spaces } from '../spaces/spaces.ts';
import type {
  ClosedFolder,
  FolderFiles,
  FolderRequest,
  FolderResult,
  FolderStore,
  FoundFile,
  KnowledgeFolder,
  MissingFile,
} from './folder-store.ts';

export interface FoldersDeps {
  readonly store: Pick<FolderStore, keyof FolderStore>;
  readonly spaces: Pick<Spaces, 'get'>;
  readonly artifacts: Pick<Artifacts, 'maxDocumentBytes' | 'ingest' | 'delete'>;
  readonly files: FolderFiles;
  readonly ledger: LedgerRecorder;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly log: Log;
  /** A file or folder that failed works again: its ledger row can be closed. */
  readonly onRecovered: () => void;
}

interface ScanOptions {
  /** Requested by a user: failed files are retried, and documents of missing files may be deleted in bulk. */
  readonly isManual: boolean;
  readonly deleteMissing: boolean;
}

/** A file or subfolder at its last scan, and why it was not ingested. */
interface SeenFile {
  readonly fingerprint: string;
  readonly problem: string | null;
}

type SeenFiles = Map<string, SeenFile>;

interface ScanState {
  readonly now: SeenFiles;
  readonly counts: Record<IngestResult['outcome'] | 'failed', number>;
  /** Every subfolder could be read. */
  isComplete: boolean;
}

const zeroCounts = { added: 0, revised: 0, unchanged: 0, failed: 0 };
const maxProblems = 5;
const maxSubjectLength = 300;
const fingerprintOf = (file: FoundFile | ClosedFolder): string =>
  'problem' in file ? file.problem : `${file.size} ${file.modifiedMs}`;

const emptyResult: FolderResult = {
  ...zeroCounts,
  removed: 0,
  missingCount: 0,
  missing: [],
  problems: [],
};

export class Folders {
  readonly #deps: FoldersDeps;
  /** Files by folder and path, in memory: after a restart each file is read once more. */
  readonly #seen = new Map<string, SeenFiles>();
  /** Folders that could not be read at their last scan. */
  readonly #unreadable = new Set<string>();

  constructor(deps: FoldersDeps) {
    this.#deps = deps;
  }

  /** The folders of one space, or of all. */
  async list(spaceId?: number): Promise<readonly KnowledgeFolder[]> {
    const { store } = this.#deps;
    return Promise.all((await store.list(spaceId)).map((folder) => withoutDeletedDocuments(store, folder)));
  }

  /** If the space already has this folder, its schedule is updated. Fails with INPUT_INVALID. */
  async create(
    { spaceId }: Pick<Space, 'spaceId'>,
    { path: given, schedule, deleteMissing }: FolderRequest,
  ): Promise<KnowledgeFolder & { readonly outcome: 'created' | 'updated' }> {
    const { store, files, ids, clock } = this.#deps;
    if (schedule !== null) parseCron(schedule);
    const path = await files.resolve(given);
    const isNew = await store.add({
      folderId: ids.uuid(),
      spaceId,
      path,
      schedule,
      deleteMissing: deleteMissing ?? false,
      createdAt: new Date(clock.now()),
    });
    const folder = await store.update(spaceId, path, { schedule, deleteMissing });
    if (!folder)
      throw new CoreError('CONFLICT', `The folder ${path} was deleted at the same time. Try again.`);
    return { ...folder, outcome: isNew ? 'created' : 'updated' };
  }

  /** Ingested documents stay. Fails with NOT_FOUND. */
  async delete(folderId: string): Promise<void> {
    if (!isUuid(folderId) || !(await this.#deps.store.delete(folderId))) throw notFound(folderId);
    // Ledger rows of its files are obsolete.
    this.#deps.onRecovered();
  }

  /**
   * Scans it now, including files that failed before. `deleteMissing` applies to this scan only, however many files
   * are gone, as long as the folder is not empty. Fails with NOT_FOUND, or CONFLICT while another process scans it.
   */
  async scan(
    folderId: string,
    { deleteMissing }: { readonly deleteMissing: boolean },
    signal: AbortSignal,
  ): Promise<FolderResult> {
    const { store, clock } = this.#deps;
    const folder = isUuid(folderId) ? await store.get(folderId) : null;
    if (!folder) throw notFound(folderId);
    if (!(await store.claim(folder, new Date(clock.now()))))
      throw new CoreError('CONFLICT', `The folder ${folder.path} is being scanned right now. Try again.`);
    const isRemoving = deleteMissing || folder.deleteMissing;
    const result = await this.#scan(folder, { isManual: true, deleteMissing: isRemoving }, signal);
    return result ?? folder.lastResult ?? emptyResult;
  }

  /** Scans the folders that are due. Fails when the database does; folders and files that fail are recorded. */
  async scanDue(signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#deps;
    const now = new Date(clock.now());
    for (const folder of await store.list()) {
      signal.throwIfAborted();
      if (!isDue(folder, now) || !(await store.claim(folder, now))) continue;
      await this.#scan(folder, { isManual: false, deleteMissing: folder.deleteMissing }, signal);
    }
  }

  /**
   * Retries a failed file, or a folder that could not be read. `gone`: the folder is no longer scanned, or the file no
   * longer exists. Fails as reading and ingest do.
   */
  async retry(
    folderId: string,
    path: string,
    signal: AbortSignal,
  ): Promise<'gone' | 'readable' | IngestResult> {
    const { store, spaces } = this.#deps;
    const folder = isUuid(folderId) ? await store.get(folderId) : null;
    const space = folder && (await spaces.get(folder.spaceId));
    if (!folder || !space) return 'gone';
    // Fails where the folder cannot be read, as on another machine: then the file is out of reach, not gone.
    await this.#checkReadable(folder.path);
    const isFolder = await this.#checkReadable(path).then(
      () => true,
      () => false,
    );
    if (isFolder) return 'readable';
    const file = await this.#deps.files.find(path);
    if (!file) return 'gone';
    const result = await this.#ingest(space, file, signal);
    this.#seen.get(folderId)?.set(path, { fingerprint: fingerprintOf(file), problem: null });
    return result;
  }

  async #checkReadable(path: string): Promise<void> {
    for await (const _ of this.#deps.files.list(path)) return;
  }

  /** Saves the result. Null when nothing changed. Fails when the database does, or the signal aborts. */
  async #scan(
    folder: KnowledgeFolder,
    options: ScanOptions,
    signal: AbortSignal,
  ): Promise<FolderResult | null> {
    const space = await this.#deps.spaces.get(folder.spaceId);
    if (!space) return null;
    const before = this.#seen.get(folder.folderId);
    const state: ScanState = { now: new Map(), counts: { ...zeroCounts }, isComplete: true };
    try {
      await this.#scanFiles(space, folder, { state, before, isManual: options.isManual }, signal);
    } catch (error) {
      if (isFatalForJob(error, signal)) throw error;
      return this.#recordUnreadable(folder, error);
    }
    const { now, counts, isComplete } = state;
    const vanished = [...(before ?? [])].filter(([path]) => !now.has(path));
    // Files of a subfolder that cannot be read now are not gone.
    if (!isComplete) for (const [path, seen] of vanished) now.set(path, seen);
    this.#seen.set(folder.folderId, now);
    const hasVanished = isComplete && vanished.length > 0;
    const hasRecovered = this.#unreadable.delete(folder.folderId) || isAnyRecovered(before, now);
    if (hasRecovered) this.#deps.onRecovered();
    const missing = await findMissing(this.#deps, {
      ...options,
      space,
      folder,
      found: new Set(now.keys()),
      isComplete,
      mayHaveChanged: !before || hasVanished,
    });
    const failing = [...now].flatMap(([path, { problem }]) =>
      problem === null ? [] : [problem.includes(path) ? problem : `${path}: ${problem}`],
    );
    const hasChanged =
      hasVanished || missing.hasChanged || hasRecovered || Object.values(counts).some((count) => count > 0);
    if (!hasChanged && !options.isManual && folder.lastResult !== null) return null;
    const result = {
      ...counts,
      failed: failing.length,
      removed: missing.removed,
      missingCount: missing.count,
      missing: missing.files,
      problems: [...missing.problems, ...failing].slice(0, maxProblems),
    };
    await this.#deps.store.saveResult(folder.folderId, result);
    return result;
  }

  async #scanFiles(
    space: Space,
    folder: KnowledgeFolder,
    task: { readonly state: ScanState; readonly before: SeenFiles | undefined; readonly isManual: boolean },
    signal: AbortSignal,
  ): Promise<void> {
    const { now, counts } = task.state;
    for await (const file of this.#deps.files.list(folder.path)) {
      signal.throwIfAborted();
      if ('problem' in file) task.state.isComplete = false;
      const known = task.before?.get(file.path);
      if (known?.fingerprint === fingerprintOf(file) && !(task.isManual && known.problem !== null)) {
        now.set(file.path, known);
        continue;
      }
      const { outcome, ...seen } = await this.#ingestOrRecord(space, folder, file, signal);
      now.set(file.path, seen);
      counts[outcome] += 1;
    }
  }

  async #ingestOrRecord(
    space: Space,
    folder: KnowledgeFolder,
    file: FoundFile | ClosedFolder,
    signal: AbortSignal,
  ): Promise<SeenFile & { readonly outcome: IngestResult['outcome'] | 'failed' }> {
    const fingerprint = fingerprintOf(file);
    try {
      if ('problem' in file) throw new CoreError('INPUT_INVALID', file.problem);
      return { fingerprint, problem: null, outcome: (await this.#ingest(space, file, signal)).outcome };
    } catch (error) {
      if (isFatalForJob(error, signal)) throw error;
      const problem =
        error instanceof HeadworksError ? error.message : `It cannot be read (${kindOf(error)}).`;
      this.#record(folder, file.path, error, `The file ${file.path} was not ingested: ${problem}`);
      return { fingerprint, problem, outcome: 'failed' };
    }
  }

  async #ingest(space: Space, { path, size }: FoundFile, signal: AbortSignal): Promise<IngestResult> {
    const { artifacts, files } = this.#deps;
    if (size > artifacts.maxDocumentBytes)
      throw new CoreError('INPUT_INVALID', `It has ${size} bytes, more than the limit.`);
    const content = { name: path, mediaType: '', bytes: await files.read(path) };
    return artifacts.ingest(space, { content, sourceSystem: 'files', sourceId: path }, signal);
  }

  /** What is known of its files stays. */
  async #recordUnreadable(folder: KnowledgeFolder, error: unknown): Promise<FolderResult | null> {
    const problem = `The folder cannot be read: ${messageOf(error)}`;
    const isFirst = !this.#unreadable.has(folder.folderId);
    this.#unreadable.add(folder.folderId);
    if (!isFirst) return null;
    this.#record(folder, folder.path, error, `The folder ${folder.path} cannot be read.`);
    const { missingCount = 0, missing = [] } = folder.lastResult ?? {};
    const result = { ...emptyResult, failed: 1, missingCount, missing, problems: [problem] };
    await this.#deps.store.saveResult(folder.folderId, result);
    return result;
  }

  #record({ folderId, spaceId }: KnowledgeFolder, path: string, error: unknown, message: string): void {
    const cause = kindOf(error);
    this.#deps.log.warn('file not ingested', { folderId, path, cause });
    void this.#deps.ledger.record({
      kind: ingestDegradations.fileNotIngested,
      subject: ledgerSubject(folderId, path),
      cause,
      message,
      details: { folder_id: folderId, space_id: spaceId, path },
    });
  }
}

const notFound = (folderId: string): CoreError =>
  new CoreError(
    'NOT_FOUND',
    `There is no folder ${JSON.stringify(folderId.slice(0, 60))}. "headworks folders list" shows the existing ones.`,
  );

function isDue({ schedule, lastRunAt, createdAt }: KnowledgeFolder, now: Date): boolean {
  if (schedule === null) return true;
  return parseCron(schedule).next((lastRunAt ?? createdAt).getTime()) <= now.getTime();
}

/** A file that failed was ingested, or no longer exists. */
const isAnyRecovered = (before: SeenFiles | undefined, now: SeenFiles): boolean =>
  [...(before ?? [])].some(
    ([path, { problem }]) => problem !== null && (now.get(path)?.problem ?? null) === null,
  );

/** One row per file of a folder, however often it fails. */
function ledgerSubject(folderId: string, path: string): string {
  const subject = `${folderId}:${path}`;
  if (subject.length <= maxSubjectLength) return subject;
  const hash = createHash('sha256').update(path).digest('hex').slice(0, 16);
  return `${subject.slice(0, maxSubjectLength).toWellFormed()}…${hash}`;
}

interface MissingTask extends ScanOptions {
  readonly space: Space;
  readonly folder: KnowledgeFolder;
  readonly found: ReadonlySet<string>;
  readonly isComplete: boolean;
  /** Files vanished since the last scan, or this is the first one. */
  readonly mayHaveChanged: boolean;
}

interface MissingFiles {
  readonly count: number;
  readonly files: readonly MissingFile[];
  readonly removed: number;
  readonly hasChanged: boolean;
  readonly problems: readonly string[];
}

const maxListedMissing = 100;
/** More missing files than this, if they are also more than half of all, look like a disk that is not mounted. */
const maxRemovedInBackground = 10;

async function findMissing(
  deps: Pick<FoldersDeps, 'store' | 'artifacts' | 'files'>,
  task: MissingTask,
): Promise<MissingFiles> {
  const { folder, found } = task;
  const { missing: before = [], missingCount = 0 } = folder.lastResult ?? {};
  const isBack = before.some(({ path }) => found.has(path));
  const isChecked = task.isComplete && (task.mayHaveChanged || isBack || task.isManual);
  if (!isChecked) return { count: missingCount, files: before, removed: 0, hasChanged: false, problems: [] };
  const ingested = await deps.store.ingested(task.space.spaceId, pathPrefix(folder.path));
  const gone = await withoutFiles(deps.files, ingested, found);
  const problem = whyNotRemoved(task, gone.length, ingested.length);
  const isRemoving = task.deleteMissing && problem === null;
  if (isRemoving)
    for (const { artifactUid } of gone) await deleteIfExists(deps.artifacts, task.space, artifactUid);
  const files = isRemoving ? [] : gone;
  return {
    count: files.length,
    files: files.slice(0, maxListedMissing),
    removed: isRemoving ? gone.length : 0,
    hasChanged: files.length !== missingCount || isRemoving,
    problems: task.deleteMissing && problem !== null ? [problem] : [],
  };
}

/** The last result, without documents that were deleted since. */
async function withoutDeletedDocuments(
  store: Pick<FolderStore, 'ingested'>,
  folder: KnowledgeFolder,
): Promise<KnowledgeFolder> {
  const { lastResult } = folder;
  if (!lastResult?.missingCount) return folder;
  const ingested = await store.ingested(folder.spaceId, pathPrefix(folder.path));
  const known = new Set(ingested.map(({ artifactUid }) => artifactUid));
  const missing = lastResult.missing.filter(({ artifactUid }) => known.has(artifactUid));
  const missingCount = lastResult.missingCount - (lastResult.missing.length - missing.length);
  return { ...folder, lastResult: { ...lastResult, missing, missingCount } };
}

/** Files that a scan skips, such as hidden ones, may have been ingested by name: each is looked up. */
async function withoutFiles(
  files: Pick<FolderFiles, 'find'>,
  ingested: readonly MissingFile[],
  found: ReadonlySet<string>,
): Promise<readonly MissingFile[]> {
  const gone: MissingFile[] = [];
  for (const file of ingested) {
    if (found.has(file.path)) continue;
    // A file that cannot be looked up is not gone.
    const existing = await files.find(file.path).catch(() => true);
    if (existing === null) gone.push(file);
  }
  return gone;
}

/** An empty folder never deletes documents: an unmounted disk leaves an empty folder. */
function whyNotRemoved({ found, isManual, folder }: MissingTask, gone: number, all: number): string | null {
  if (gone === 0) return null;
  if (found.size === 0)
    return `The folder ${folder.path} is empty, as if its disk were not mounted: no document was deleted.`;
  if (isManual || gone <= maxRemovedInBackground || gone <= all / 2) return null;
  return `${gone} of ${all} files are gone at once: no document was deleted. If that is right: headworks folders scan ${folder.folderId} --delete-missing`;
}

async function deleteIfExists(
  artifacts: Pick<Artifacts, 'delete'>,
  space: Space,
  artifactUid: string,
): Promise<void> {
  try {
    await artifacts.delete(space, artifactUid);
  } catch (error) {
    if (!(error instanceof CoreError) || error.code !== 'NOT_FOUND') throw error;
  }
}

/** Prefix of every path below the folder, with the separator of its machine. */
function pathPrefix(path: string): string {
  const separator = path.includes('/') ? '/' : '\\';
  return path.endsWith(separator) ? path : path + separator;
}
