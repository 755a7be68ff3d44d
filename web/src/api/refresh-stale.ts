// Reads again what events have made stale.
import type { QueryClient } from '@tanstack/react-query';

/**
 * `stale`: first words of query keys; those that are done with are taken out. What is being read now is not begun anew, or
 * under a steady flow of events a read that takes its time would never end; it may be of before, so it has its turn again.
 */
export function refreshStale(client: QueryClient, stale: Set<string>): void {
  for (const key of stale) {
    const isBeingRead = client.isFetching({ queryKey: [key] }) > 0;
    void client.invalidateQueries({
      queryKey: [key],
      predicate: ({ state }) => state.fetchStatus !== 'fetching',
    });
    if (!isBeingRead) stale.delete(key);
  }
}
