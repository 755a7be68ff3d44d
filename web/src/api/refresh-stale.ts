// Reads again what events have made stale.
import type { Query, QueryClient } from '@tanstack/react-query';

/**
 * Call what it gives with the first words of query keys that are stale; it empties the set. A query that is being read is
 * not begun anew, or under a steady flow of events a read that takes its time would never end; it may be of before, so it
 * is read once more when it has ended.
 */
export function createRefresher(client: QueryClient): (stale: Set<string>) => void {
  const again = new Set<string>();
  const isBeingRead = ({ state }: Query) => state.fetchStatus === 'fetching';
  return (stale) => {
    const due = client
      .getQueryCache()
      .getAll()
      .filter(({ queryHash, queryKey }) => again.has(queryHash) || stale.has(String(queryKey[0])));
    stale.clear();
    again.clear();
    for (const { queryHash } of due.filter(isBeingRead)) again.add(queryHash);
    const idle = new Set(due.filter((query) => !isBeingRead(query)));
    if (idle.size > 0) void client.invalidateQueries({ predicate: (query) => idle.has(query) });
  };
}
