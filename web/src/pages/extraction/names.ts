// Names of the owners and folders of items, if the vault contains them.
import type { VaultItems, VaultSummary } from '../../../../src/api/extraction.ts';
import { useQueries } from '@tanstack/react-query';
import { api } from '../../api/client.ts';

/** Types that other items reference by id. */
const named = ['users', 'folders'] as const;
/** Page size; other references are shown as ids. */
const max = 200;

export type Names = Readonly<Record<(typeof named)[number], ReadonlyMap<string, string>>>;

/** Requests only types that the vault contains. */
export function useNames(run: string, summary: VaultSummary | undefined): Names {
  const [users, folders] = useQueries({
    queries: named.map((type) => ({
      queryKey: ['extraction', 'vault', run, 'names', type],
      queryFn: ({ signal }: { readonly signal: AbortSignal }) =>
        api('GET /api/v1/extraction/runs/:id/vault/items', {
          params: { id: run },
          query: { type, limit: max },
          signal,
        }),
      enabled: summary?.types.some((each) => each.type === type) ?? false,
    })),
  });
  return { users: byId(users?.data), folders: byId(folders?.data) };
}

const byId = (page: VaultItems | undefined): ReadonlyMap<string, string> =>
  new Map(page?.items.flatMap(({ id, name }) => (name === null ? [] : [[id, name] as const])));

/** The name, or the id while the name is unknown; a dash for null. */
export const nameOf = (names: Names, type: keyof Names, id: string | null): string =>
  id === null ? '–' : (names[type].get(id) ?? id);
