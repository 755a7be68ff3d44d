import { QueryClient, QueryObserver } from '@tanstack/react-query';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createRefresher } from './refresh-stale.ts';

/** A query whose reads end when the test resolves them. */
function followed(client: QueryClient, queryKey: readonly string[]) {
  const reads: { readonly signal: AbortSignal; readonly end: (value: string) => void }[] = [];
  const observer = new QueryObserver(client, {
    queryKey,
    queryFn: ({ signal }) => {
      const { promise, resolve } = Promise.withResolvers<string>();
      reads.push({ signal, end: resolve });
      return promise;
    },
  });
  onTestFinished(observer.subscribe(() => undefined));
  const end = async (value: string) => {
    reads.at(-1)?.end(value);
    await expect.poll(() => observer.getCurrentResult().data).toBe(value);
  };
  return { reads, end };
}

describe('createRefresher', () => {
  it('lets a slow query finish under a steady stream of events and refetches it once', async () => {
    const client = new QueryClient();
    onTestFinished(() => client.clear());
    const refresh = createRefresher(client);
    const { reads, end } = followed(client, ['knowledge', 'pairs']);
    await end('first');
    refresh(new Set(['knowledge', 'flow']));
    for (let second = 0; second < 5; second++) refresh(new Set(['knowledge']));
    expect(reads).toHaveLength(2);
    expect(reads[1]?.signal.aborted).toBe(false);
    await end('before');
    refresh(new Set());
    expect(reads).toHaveLength(3);
    await end('after');
    for (let second = 0; second < 5; second++) refresh(new Set());
    expect(reads).toHaveLength(3);
  });

  it('does not refetch other queries because one is slow', async () => {
    const client = new QueryClient();
    onTestFinished(() => client.clear());
    const refresh = createRefresher(client);
    const slow = followed(client, ['knowledge', 'pairs']);
    const quick = followed(client, ['knowledge', 'spaces']);
    const other = followed(client, ['models']);
    for (const each of [slow, quick, other]) await each.end('first');
    const stale = new Set(['knowledge']);
    refresh(stale);
    expect(stale.size).toBe(0);
    await quick.end('second');
    refresh(new Set(['knowledge']));
    await quick.end('third');
    for (let second = 0; second < 5; second++) refresh(new Set());
    expect([slow, quick, other].map(({ reads }) => reads.length)).toEqual([2, 3, 1]);
    await slow.end('second');
    for (let second = 0; second < 5; second++) refresh(new Set());
    expect([slow, quick, other].map(({ reads }) => reads.length)).toEqual([3, 3, 1]);
  });
});
