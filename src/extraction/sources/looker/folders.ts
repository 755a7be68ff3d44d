// Which folders a folder filter means: those named, and all below them if it is recursive.
import { messageOf } from '../../../core/index.ts';
import { ExtractionError, FetchError } from '../../errors.ts';
import type { SourceLabels } from '../connect.ts';
import { unreachable } from '../connect.ts';
import type { HttpResponse } from '../http-client.ts';
import { failureOfKind } from '../http-client.ts';

export interface FolderFilter {
  readonly ids: readonly string[];
  readonly recursive: boolean;
}

export interface FolderRow {
  readonly id: string;
  readonly parentId: string | null;
}

/** A page of the list of folders, by offset. */
export type FolderPage = (
  offset: number,
) => Promise<{ readonly rows: readonly FolderRow[]; readonly total: number | null }>;

/** Looker keeps LookML dashboards in a folder of this id, which is in no list. */
const unlisted: ReadonlySet<string> = new Set(['lookml']);

/** Ids in the order given, each parent before what is below it. Fails with EXTRACTION_SOURCE_INVALID. */
export async function resolveFolders(filter: FolderFilter, page: FolderPage): Promise<readonly string[]> {
  const folders = await allFolders(page);
  const known = new Set(folders.map(({ id }) => id));
  const missing = filter.ids.filter((id) => !known.has(id) && !unlisted.has(id));
  if (missing.length > 0)
    throw new ExtractionError(
      'EXTRACTION_SOURCE_INVALID',
      `--folder: there is no folder ${missing.join(', ')}, or this user may not see it; check the id in Looker.`,
    );
  const wanted = new Set(filter.ids);
  if (!filter.recursive) return [...wanted];
  const below = Map.groupBy(folders, ({ parentId }) => parentId);
  // A Set visits what is added while it is walked, and nothing twice: a ring of folders ends too.
  for (const id of wanted) for (const child of below.get(id) ?? []) wanted.add(child.id);
  return [...wanted];
}

/**
 * All folders cost fewer calls than one question per folder. Without a total it goes on until a page is empty: a
 * server may give shorter pages than it was asked for. Fails with a FetchError when a page brings nothing new.
 */
async function allFolders(page: FolderPage): Promise<readonly FolderRow[]> {
  const all = new Map<string, FolderRow>();
  for (let read = 0; ;) {
    const { rows, total } = await page(read);
    if (rows.length > 0 && rows.every(({ id }) => all.has(id)))
      throw new FetchError(
        failureOfKind('malformed', 200),
        'the list of folders begins anew on every page: the server does not heed the offset',
      );
    for (const row of rows) all.set(row.id, row);
    read += rows.length;
    if (rows.length === 0 || (total !== null && read >= total)) return [...all.values()];
  }
}

/** The only pages that the main thread reads: a few, small, before the run. Fails with a FetchError. */
export function readFolderRows({ bytes, label }: HttpResponse): readonly FolderRow[] {
  const rows = parsed(bytes);
  const ids = Array.isArray(rows) ? rows.map(rowOf) : [undefined];
  if (!ids.every((row) => row !== undefined))
    throw new FetchError(failureOfKind('malformed', 200), `${label} was not answered with folders.`);
  return ids;
}

function rowOf(row: unknown): FolderRow | undefined {
  const { id, parent_id: parentId } = (row ?? {}) as { id?: unknown; parent_id?: unknown };
  const text = idText(id);
  return text === null ? undefined : { id: text, parentId: idText(parentId) };
}

const idText = (id: unknown): string | null =>
  typeof id === 'string' || typeof id === 'number' ? String(id) : null;

function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString());
  } catch {
    return undefined;
  }
}

/** What `connect` fails with when the list of folders does not come. */
export function untoldFolders(words: SourceLabels, failure: FetchError): ExtractionError {
  if (failure.failure.isTransient) return unreachable(words, failure);
  return new ExtractionError(
    'EXTRACTION_UNREACHABLE',
    `${words.server} does not tell its folders (${messageOf(failure)}); check that this user may see them, or leave out --folder.`,
    { cause: failure },
  );
}
