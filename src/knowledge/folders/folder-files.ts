// Files of this machine for folders that are scanned.
import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { extname, join, resolve } from 'node:path';
import { CoreError, kindOf } from '../../core/index.ts';
import type { ClosedFolder, FolderFiles, FoundFile } from './folder-store.ts';

/** Extensions of documents. Other files (pictures, archives, programs) are skipped silently. */
const extensions: ReadonlySet<string> = new Set(
  '.txt .text .md .markdown .log .csv .tsv .json .jsonl .ndjson .xml .html .htm .xhtml .pdf .docx .eml'.split(
    ' ',
  ),
);
/** Depth limit of a scan. */
const maxDepth = 64;

const isDocumentName = (name: string): boolean => extensions.has(extname(name).toLowerCase());

export const folderFiles: FolderFiles = {
  resolve: async (path) => {
    const found = await realpath(resolve(path)).catch(() => null);
    if (found === null || !(await stat(found)).isDirectory())
      throw new CoreError('INPUT_INVALID', `There is no folder ${path} on the machine of the server.`);
    return found;
  },
  list: (folder) => filesBelow(folder, 0),
  find: async (path) => {
    try {
      const { size, mtimeMs } = await stat(path);
      return { path, size, modifiedMs: mtimeMs };
    } catch (error) {
      if (isMissing(error)) return null;
      throw error;
    }
  },
  read: async (path) => new Uint8Array(await readFile(path)),
};

const isMissing = (error: unknown): boolean => kindOf(error) === 'ENOENT' || kindOf(error) === 'ENOTDIR';

/** Called for entries that are neither files nor folders; `special`: a pipe, socket or device. */
export type OnSkipped = (kind: 'link' | 'special') => void;

/**
 * Sorted by name. Links are not followed: they may point anywhere and form cycles. A file that vanishes meanwhile is
 * skipped; an unreadable subfolder is yielded as closed. Fails when the folder itself cannot be read.
 */
export async function* filesBelow(
  folder: string,
  depth: number,
  onSkipped: OnSkipped = () => undefined,
): AsyncGenerator<FoundFile | ClosedFolder> {
  const entries = await readdir(folder, { withFileTypes: true });
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    if (entry.name.startsWith('.')) continue;
    const path = join(folder, entry.name);
    if (entry.isDirectory() && depth < maxDepth) yield* folderBelow(path, depth + 1, onSkipped);
    if (entry.isSymbolicLink()) onSkipped('link');
    else if (!entry.isFile() && !entry.isDirectory()) onSkipped('special');
    if (!entry.isFile() || !isDocumentName(entry.name)) continue;
    const found = await stat(path).catch(() => null);
    if (found) yield { path, size: found.size, modifiedMs: found.mtimeMs };
  }
}

async function* folderBelow(
  path: string,
  depth: number,
  onSkipped: OnSkipped,
): AsyncGenerator<FoundFile | ClosedFolder> {
  const walk = filesBelow(path, depth, onSkipped);
  // Only its own listing: failures below are yielded there.
  const first = await walk.next().catch((error: unknown) => ({ error }));
  if ('error' in first) {
    if (!isMissing(first.error))
      yield { path, problem: `The folder cannot be read (${kindOf(first.error)}).` };
    return;
  }
  if (first.done !== true) yield first.value;
  yield* walk;
}
