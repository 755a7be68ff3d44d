// Documents whose files went from their folder: told, and removed where that is wanted and no mount has vanished.
import { CoreError } from '../../core/index.ts';
import type { ArtifactDesk, KnowledgeFolder, MissingFile } from '../desk-ports.ts';
import type { Space } from '../ports.ts';
import type { FolderFiles, FolderStore } from './folder-ports.ts';

export interface MissingParts {
  readonly store: Pick<FolderStore, 'taken'>;
  readonly artifacts: Pick<ArtifactDesk, 'remove'>;
  readonly files: Pick<FolderFiles, 'find'>;
}

export interface MissingTask {
  readonly space: Space;
  readonly folder: KnowledgeFolder;
  /** Files that are there. */
  readonly found: ReadonlySet<string>;
  /** Every folder below could be read. */
  readonly isWhole: boolean;
  /** Files went since the last look, or this is the first one. */
  readonly mayHaveChanged: boolean;
  readonly isAsked: boolean;
  readonly removesMissing: boolean;
}

export interface Missing {
  readonly count: number;
  /** The first of them. */
  readonly files: readonly MissingFile[];
  readonly removed: number;
  readonly isNews: boolean;
  readonly problems: readonly string[];
}

const mostShown = 100;
/** More at once, if they are also more than half of all, look like a disk that is not mounted. */
const mostAtOnce = 10;

export async function missingFiles(parts: MissingParts, task: MissingTask): Promise<Missing> {
  const { folder, found } = task;
  const { missing: before = [], missingCount = 0 } = folder.lastResult ?? {};
  const isBack = before.some(({ path }) => found.has(path));
  const isLookedAt = task.isWhole && (task.mayHaveChanged || isBack || task.isAsked);
  if (!isLookedAt) return { count: missingCount, files: before, removed: 0, isNews: false, problems: [] };
  const taken = await parts.store.taken(task.space.spaceId, asPrefix(folder.path));
  const gone = await goneOf(parts, taken, found);
  const problem = whyNotRemoved(task, gone.length, taken.length);
  const isRemoving = task.removesMissing && problem === null;
  if (isRemoving) for (const { artifactUid } of gone) await removeQuietly(parts, task.space, artifactUid);
  const files = isRemoving ? [] : gone;
  return {
    count: files.length,
    files: files.slice(0, mostShown),
    removed: isRemoving ? gone.length : 0,
    isNews: files.length !== missingCount || isRemoving,
    problems: task.removesMissing && problem !== null ? [problem] : [],
  };
}

/** The folder without documents that somebody removed since: its last walk did not know of that. */
export async function withoutRemoved(
  store: Pick<FolderStore, 'taken'>,
  folder: KnowledgeFolder,
): Promise<KnowledgeFolder> {
  const { lastResult } = folder;
  if (!lastResult?.missingCount) return folder;
  const taken = await store.taken(folder.spaceId, asPrefix(folder.path));
  const known = new Set(taken.map(({ artifactUid }) => artifactUid));
  const missing = lastResult.missing.filter(({ artifactUid }) => known.has(artifactUid));
  const missingCount = lastResult.missingCount - (lastResult.missing.length - missing.length);
  return { ...folder, lastResult: { ...lastResult, missing, missingCount } };
}

/** Files that a walk does not look at, hidden ones for instance, may have been taken in by name. */
async function goneOf(
  { files }: MissingParts,
  taken: readonly MissingFile[],
  found: ReadonlySet<string>,
): Promise<readonly MissingFile[]> {
  const gone: MissingFile[] = [];
  for (const file of taken) {
    if (found.has(file.path)) continue;
    // Nobody can tell: then it is not gone.
    const there = await files.find(file.path).catch(() => true);
    if (there === null) gone.push(file);
  }
  return gone;
}

/** An empty folder is never the reason to remove anything: where a disk was mounted, an empty folder is left. */
function whyNotRemoved({ found, isAsked, folder }: MissingTask, gone: number, all: number): string | null {
  if (gone === 0) return null;
  if (found.size === 0)
    return `The folder ${folder.path} is empty, as if its disk were not mounted: no document was removed.`;
  if (isAsked || gone <= mostAtOnce || gone <= all / 2) return null;
  return `${gone} of ${all} files went at once: no document was removed. If that is right: headworks folders scan ${folder.folderId} --remove-missing`;
}

async function removeQuietly({ artifacts }: MissingParts, space: Space, artifactUid: string): Promise<void> {
  try {
    await artifacts.remove(space, artifactUid);
  } catch (error) {
    if (!(error instanceof CoreError) || error.code !== 'NOT_FOUND') throw error;
  }
}

/** Of everything below the folder, as its machine writes paths. */
function asPrefix(path: string): string {
  const separator = path.includes('/') ? '/' : '\\';
  return path.endsWith(separator) ? path : path + separator;
}
