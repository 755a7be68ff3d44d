// Documents of ledger entries. An entry has the document's id and an internal space id, so each space is searched once.
import type { LedgerEntry } from '../../../../src/api/ledger.ts';
import { useQuery } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import type { SpaceRef } from '../knowledge/space-ref.ts';
import { addressOf } from '../knowledge/space-ref.ts';
import { readSpaces } from '../knowledge/space-list.ts';

export interface RowDocument {
  readonly title: string;
  readonly href: string;
}

export type RowDocuments = ReadonlyMap<string, RowDocument>;

const none: RowDocuments = new Map();

/** Id of the entry's document; null without one. */
export function documentIdOf({ details }: Pick<LedgerEntry, 'details'>): string | null {
  const { artifact_id: uid } = details;
  return typeof uid === 'string' ? uid : null;
}

/** Documents by id, for one page of entries; deleted documents are missing. */
export function useDocuments(entries: readonly LedgerEntry[]): RowDocuments {
  const bySpace = idsBySpace(entries);
  const ids = bySpace.flat();
  const { data = none } = useQuery({
    // A key of its own: titles do not change with the ledger.
    queryKey: ['documents-of-rows', ids],
    queryFn: async ({ signal }): Promise<RowDocuments> => {
      const spaces = (await readSpaces(signal)).map(({ spaceRef }) => spaceRef);
      const found = await Promise.all(bySpace.map((each) => documentsOf(each, spaces, signal)));
      return new Map(found.flat());
    },
    enabled: ids.length > 0,
    staleTime: 60_000,
    placeholderData: (before) => before,
  });
  return data;
}

/** Distinct document ids, grouped by space. */
function idsBySpace(entries: readonly LedgerEntry[]): readonly (readonly string[])[] {
  const spaces = new Map<unknown, Set<string>>();
  for (const entry of entries) {
    const id = documentIdOf(entry);
    if (id === null) continue;
    const space = entry.details['space_id'];
    spaces.set(space, (spaces.get(space) ?? new Set()).add(id));
  }
  return [...spaces.values()].map((ids) => [...ids]);
}

async function documentsOf(
  ids: readonly string[],
  spaces: readonly SpaceRef[],
  signal: AbortSignal,
): Promise<readonly (readonly [string, RowDocument])[]> {
  for (const spaceRef of spaces) {
    const query = { ids: ids.join(','), ...spaceRef };
    const { statuses } = await api('GET /api/v1/knowledge/artifacts/statuses', { query, signal });
    if (statuses.length > 0)
      return statuses.map(({ id, title, source_id: source }) => [
        id,
        { title: title || source, href: addressOf(`/artifacts/${id}`, spaceRef) },
      ]);
  }
  return [];
}
