import { QueryClient, QueryObserver } from '@tanstack/react-query';
import { describe, expect, it } from 'vitest';
import { refreshStale } from './refresh-stale.ts';

describe('refreshStale', () => {
  it('lets a slow read come to its end under a steady flow of events, and reads once more after it', async () => {
    const client = new QueryClient();
    const reads: { signal: AbortSignal; end: (value: string) => void }[] = [];
    const observer = new QueryObserver(client, {
      queryKey: ['knowledge', 'pairs'],
      queryFn: ({ signal }) => {
        const { promise, resolve } = Promise.withResolvers<string>();
        reads.push({ signal, end: resolve });
        return promise;
      },
    });
    const stop = observer.subscribe(() => undefined);
    reads[0]?.end('first');
    await expect.poll(() => observer.getCurrentResult().data).toBe('first');
    const stale = new Set(['knowledge', 'flow']);
    refreshStale(client, stale);
    expect(stale).toEqual(new Set());
    for (let second = 0; second < 5; second++) {
      stale.add('knowledge');
      refreshStale(client, stale);
    }
    expect(stale).toEqual(new Set(['knowledge']));
    expect(reads).toHaveLength(2);
    expect(reads[1]?.signal.aborted).toBe(false);
    reads[1]?.end('before');
    await expect.poll(() => observer.getCurrentResult().data).toBe('before');
    refreshStale(client, stale);
    expect(reads).toHaveLength(3);
    expect(stale).toEqual(new Set());
    reads[2]?.end('after');
    await expect.poll(() => observer.getCurrentResult().data).toBe('after');
    stop();
    client.clear();
  });
});
