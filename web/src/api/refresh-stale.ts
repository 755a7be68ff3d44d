// Refetches queries that events have made stale.
import type { Query, QueryClient } from '@tanstack/react-query';

/**
 * Call the returned function with the first elements of stale query keys; it empties the set. A query in flight is not
 * restarted, or a slow query would never finish under a steady stream of events. Its result may be older than the event,
 * so it is fetched once more when it has finished.
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
