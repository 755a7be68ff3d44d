// One walk after the other through folders: what changed is taken in, what fails is noted, what went is told or removed.
import { createHash } from 'node:crypto';
import type { Log } from '../../core/index.ts';
import { CoreError, HeadworksError, kindOf, messageOf } from '../../core/index.ts';
import type { LedgerRecorder } from '../../ledger/index.ts';
import type { ArtifactDesk, FolderResult, KnowledgeFolder } from '../desk-ports.ts';
import type { IngestResult, Space } from '../ports.ts';
import { ingestDegradations, isFatalForJob } from '../ingest/failure-kinds.ts';
import type { ClosedFolder, FolderFiles, FolderStore, FoundFile } from './folder-ports.ts';
import { missingFiles } from './missing-files.ts';

export interface FolderWalkParts {
  readonly store: FolderStore;
  readonly artifacts: ArtifactDesk;
  readonly files: FolderFiles;
  readonly ledger: LedgerRecorder;
  readonly log: Log;
  /** Something that failed does not fail any more: rows of the ledger can be closed. */
  readonly onHealed: () => void;
}

export interface WalkOptions {
  /** Somebody asks for it: files that failed are tried again, and documents of files that went may go. */
  readonly isAsked: boolean;
  readonly removesMissing: boolean;
}

/** A file, or a folder below, as it was looked at last, and why it was not taken in. */
interface Seen {
  readonly state: string;
  readonly problem: string | null;
}

type Files = Map<string, Seen>;

/** What a walk came upon. */
interface Look {
  readonly now: Files;
  readonly counts: Record<IngestResult['outcome'] | 'failed', number>;
  /** Every folder below could be read. */
  isWhole: boolean;
}

const noCounts = { added: 0, revised: 0, unchanged: 0, failed: 0 };
const shownProblems = 5;
const stateOf = (file: FoundFile | ClosedFolder): string =>
  'problem' in file ? file.problem : `${file.size} ${file.modifiedMs}`;

export class FolderWalks {
  readonly #parts: FolderWalkParts;
  /** By folder and path; after a restart each file is read once more. */
  readonly #seen = new Map<string, Files>();
  /** Folders that could not be read when they were last looked at. */
  readonly #closed = new Set<string>();

  constructor(parts: FolderWalkParts) {
    this.#parts = parts;
  }

  /** Null when there is nothing new to tell. Fails when the state store does, or the signal aborts. */
  async walk(
    space: Space,
    folder: KnowledgeFolder,
    options: WalkOptions,
    signal: AbortSignal,
  ): Promise<FolderResult | null> {
    const before = this.#seen.get(folder.folderId);
    const look: Look = { now: new Map(), counts: { ...noCounts }, isWhole: true };
    try {
      await this.#lookThrough(space, folder, { look, before, isAsked: options.isAsked }, signal);
    } catch (error) {
      if (isFatalForJob(error, signal)) throw error;
      return this.#unreadable(folder, error);
    }
    const { now, counts, isWhole } = look;
    const vanished = [...(before ?? [])].filter(([path]) => !now.has(path));
    // What lies in a folder into which nobody can look now has not gone.
    if (!isWhole) for (const [path, seen] of vanished) now.set(path, seen);
    this.#seen.set(folder.folderId, now);
    const hasGone = isWhole && vanished.length > 0;
    const isHealed = this.#closed.delete(folder.folderId) || isAnyHealed(before, now);
    if (isHealed) this.#parts.onHealed();
    const missing = await missingFiles(this.#parts, {
      ...options,
      space,
      folder,
      found: new Set(now.keys()),
      isWhole,
      mayHaveChanged: !before || hasGone,
    });
    const failing = [...now].flatMap(([path, { problem }]) =>
      problem === null ? [] : [problem.includes(path) ? problem : `${path}: ${problem}`],
    );
    const isNews = hasGone || missing.isNews || isHealed || Object.values(counts).some((count) => count > 0);
    if (!isNews && !options.isAsked && folder.lastResult !== null) return null;
    return {
      ...counts,
      failed: failing.length,
      removed: missing.removed,
      missingCount: missing.count,
      missing: missing.files,
      problems: [...missing.problems, ...failing].slice(0, shownProblems),
    };
  }

  async #lookThrough(
    space: Space,
    folder: KnowledgeFolder,
    about: { readonly look: Look; readonly before: Files | undefined; readonly isAsked: boolean },
    signal: AbortSignal,
  ): Promise<void> {
    const { now, counts } = about.look;
    for await (const file of this.#parts.files.list(folder.path)) {
      signal.throwIfAborted();
      if ('problem' in file) about.look.isWhole = false;
      const known = about.before?.get(file.path);
      if (known?.state === stateOf(file) && !(about.isAsked && known.problem !== null)) {
        now.set(file.path, known);
        continue;
      }
      const { outcome, ...seen } = await this.#take(space, folder, file, signal);
      now.set(file.path, seen);
      counts[outcome] += 1;
    }
  }

  /** Tries a file again that failed. Null when it is gone; fails as reading and ingest do. */
  async retry(
    space: Space,
    folder: KnowledgeFolder,
    path: string,
    signal: AbortSignal,
  ): Promise<IngestResult | null> {
    const file = await this.#parts.files.find(path);
    if (!file) return null;
    const accepted = await this.#ingest(space, file, signal);
    this.#seen.get(folder.folderId)?.set(path, { state: stateOf(file), problem: null });
    return accepted;
  }

  async #take(
    space: Space,
    folder: KnowledgeFolder,
    file: FoundFile | ClosedFolder,
    signal: AbortSignal,
  ): Promise<Seen & { readonly outcome: IngestResult['outcome'] | 'failed' }> {
    const state = stateOf(file);
    try {
      if ('problem' in file) throw new CoreError('INPUT_INVALID', file.problem);
      return { state, problem: null, outcome: (await this.#ingest(space, file, signal)).outcome };
    } catch (error) {
      if (isFatalForJob(error, signal)) throw error;
      const problem =
        error instanceof HeadworksError ? error.message : `It cannot be read (${kindOf(error)}).`;
      this.#record(
        folder,
        file.path,
        error,
        `${file.path}, of a folder that is read again and again, was not taken in: ${problem}`,
      );
      return { state, problem, outcome: 'failed' };
    }
  }

  async #ingest(space: Space, { path, size }: FoundFile, signal: AbortSignal): Promise<IngestResult> {
    const { artifacts, files } = this.#parts;
    if (size > artifacts.maxDocumentBytes)
      throw new CoreError('INPUT_INVALID', `It has ${size} bytes, more than may be taken in.`);
    const content = { name: path, mediaType: '', bytes: await files.read(path) };
    return artifacts.ingest(space, { content, sourceSystem: 'files', sourceId: path }, signal);
  }

  /** Nothing is known of its files now: what was known stays. */
  #unreadable(folder: KnowledgeFolder, error: unknown): FolderResult | null {
    const problem = `The folder cannot be read: ${messageOf(error)}`;
    const isNews = !this.#closed.has(folder.folderId);
    this.#closed.add(folder.folderId);
    if (isNews) this.#record(folder, folder.path, error, `The folder ${folder.path} cannot be read.`);
    const { missingCount = 0, missing = [] } = folder.lastResult ?? {};
    return isNews ? { ...noCounts, failed: 1, removed: 0, missingCount, missing, problems: [problem] } : null;
  }

  #record({ folderId, spaceId }: KnowledgeFolder, path: string, error: unknown, message: string): void {
    const cause = kindOf(error);
    this.#parts.log.warn('a file of a folder was not taken in', { folderId, path, cause });
    void this.#parts.ledger.record({
      kind: ingestDegradations.fileNotIngested,
      subject: subjectOf(folderId, path),
      cause,
      message,
      details: { folder_id: folderId, space_id: spaceId, path },
    });
  }
}

/** What failed was taken in, or went. */
const isAnyHealed = (before: Files | undefined, now: Files): boolean =>
  [...(before ?? [])].some(
    ([path, { problem }]) => problem !== null && (now.get(path)?.problem ?? null) === null,
  );

const longestSubject = 300;

/** One row for each file of each folder, however often it fails. */
function subjectOf(folderId: string, path: string): string {
  const whole = `${folderId}:${path}`;
  if (whole.length <= longestSubject) return whole;
  const hash = createHash('sha256').update(path).digest('hex').slice(0, 16);
  return `${whole.slice(0, longestSubject).toWellFormed()}…${hash}`;
}
