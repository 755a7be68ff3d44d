// The folders of a folder filter: those named, and all below them if it is recursive.
import { messageOf } from '../../../core/index.ts';
import { ExtractionError, FetchError } from '../../errors.ts';
import { parseSmallBody } from '../../parsing/json.ts';
import type { SourceLabels } from '../connect.ts';
import { unreachable } from '../connect.ts';
import type { HttpResponse } from '../http-client.ts';
import { countIn, failureOfKind } from '../http-client.ts';

export interface FolderFilter {
  readonly ids: readonly string[];
  readonly recursive: boolean;
}

export interface FolderDeps {
  /** The base URL of the API. */
  readonly api: string;
  readonly labels: SourceLabels;
  readonly get: (url: URL) => Promise<HttpResponse>;
}

const pageSize = 500;

/**
 * Ids in the given order, each folder before those below it. Fails with EXTRACTION_SOURCE_INVALID for an unknown folder
 * and with EXTRACTION_UNREACHABLE when the folders cannot be listed.
 */
export async function findFolders(filter: FolderFilter, deps: FolderDeps): Promise<readonly string[]> {
  try {
    return selectFolders(filter, await allFolders(deps));
  } catch (error) {
    throw error instanceof FetchError ? foldersUnavailable(deps.labels, error) : error;
  }
}

/** `name` is not used, but the API document requires it. */
async function folderPage(offset: number, { api, get }: FolderDeps) {
  const url = new URL(`${api}/folders/search`);
  const query = { sorts: 'id', fields: 'id,name,parent_id', limit: String(pageSize), offset: String(offset) };
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  const response = await get(url);
  return { rows: readFolderRows(response), total: countIn(response.headers['x-total-count']) };
}

interface FolderRow {
  readonly id: string;
  readonly parentId: string | null;
}

/** Looker keeps LookML dashboards in a folder with this id, which no list contains. */
const unlisted: ReadonlySet<string> = new Set(['lookml']);

function selectFolders(filter: FolderFilter, folders: readonly FolderRow[]): readonly string[] {
  const known = new Set(folders.map(({ id }) => id));
  const missing = filter.ids.filter((id) => !known.has(id) && !unlisted.has(id));
  if (missing.length > 0)
    throw new ExtractionError(
      'EXTRACTION_SOURCE_INVALID',
      `--folders: there is no folder ${missing.join(', ')}, or this user cannot see it; check the id in Looker.`,
    );
  const wanted = new Set(filter.ids);
  if (!filter.recursive) return [...wanted];
  const below = Map.groupBy(folders, ({ parentId }) => parentId);
  // A Set iterates over elements added meanwhile, each once: a cycle of folders ends too.
  for (const id of wanted) for (const child of below.get(id) ?? []) wanted.add(child.id);
  return [...wanted];
}

/**
 * Listing all folders takes fewer calls than one call per folder. Without a total it continues until an empty page,
 * because a server may return shorter pages than requested. Fails with a FetchError when a page has nothing new.
 */
async function allFolders(deps: FolderDeps): Promise<readonly FolderRow[]> {
  const all = new Map<string, FolderRow>();
  for (let read = 0; ;) {
    const { rows, total } = await folderPage(read, deps);
    if (rows.length > 0 && rows.every(({ id }) => all.has(id)))
      throw new FetchError(
        failureOfKind('malformed', 200),
        'every page of the list of folders is the first one: the server ignores the offset',
      );
    for (const row of rows) all.set(row.id, row);
    read += rows.length;
    if (rows.length === 0 || (total !== null && read >= total)) return [...all.values()];
  }
}

/** The only pages that the main thread parses, before the run. Fails with a FetchError, also for one that is too large. */
function readFolderRows({ bytes, label }: HttpResponse): readonly FolderRow[] {
  const rows = parseSmallBody(bytes);
  const ids = Array.isArray(rows) ? rows.map(rowOf) : [undefined];
  if (!ids.every((row) => row !== undefined))
    throw new FetchError(
      failureOfKind('malformed', 200),
      `${label} did not return a list of folders of up to 4 MB.`,
    );
  return ids;
}

function rowOf(row: unknown): FolderRow | undefined {
  const { id, parent_id: parentId } = (row ?? {}) as { id?: unknown; parent_id?: unknown };
  const text = idText(id);
  return text === null ? undefined : { id: text, parentId: idText(parentId) };
}

const idText = (id: unknown): string | null =>
  typeof id === 'string' || typeof id === 'number' ? String(id) : null;

function foldersUnavailable(labels: SourceLabels, failure: FetchError): ExtractionError {
  if (failure.failure.isTransient) return unreachable(labels, failure);
  return new ExtractionError(
    'EXTRACTION_UNREACHABLE',
    `${labels.server} does not list its folders (${messageOf(failure)}); check that this user can see them, or omit --folders.`,
    { cause: failure },
  );
}
