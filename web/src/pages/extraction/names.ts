// What owners and folders of items are called, where the vault has them too.
import { useQueries } from '@tanstack/react-query';
import type { VaultItemsAnswer, VaultSummaryAnswer } from '../../../../src/http/contract.ts';
import { get } from '../../api/client.ts';

/** Types of items that other items name by their ids. */
const named = ['users', 'folders'] as const;
/** As many as one answer holds; ids of others stay ids. */
const most = 200;

export type Names = Readonly<Record<(typeof named)[number], ReadonlyMap<string, string>>>;

/** Asks for nothing that the vault does not have. */
export function useNames(run: string, summary: VaultSummaryAnswer | undefined): Names {
  const [users, folders] = useQueries({
    queries: named.map((type) => ({
      queryKey: ['extraction', 'vault', run, 'names', type],
      queryFn: ({ signal }: { readonly signal: AbortSignal }) =>
        get<VaultItemsAnswer>(`/api/v1/extraction/runs/${run}/vault/items`, { type, limit: most }, signal),
      enabled: summary?.types.some((each) => each.type === type) ?? false,
    })),
  });
  return { users: byId(users?.data), folders: byId(folders?.data) };
}

const byId = (answer: VaultItemsAnswer | undefined): ReadonlyMap<string, string> =>
  new Map(answer?.items.flatMap(({ id, name }) => (name === null ? [] : [[id, name] as const])));

/** Its name, or its id as long as it is not known; a dash for none. */
export const nameOf = (names: Names, type: keyof Names, id: string | null): string =>
  id === null ? '–' : (names[type].get(id) ?? id);
