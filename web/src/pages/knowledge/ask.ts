// The knowledge API, asked about the space that the address names.
import type { UseInfiniteQueryResult, UseQueryResult } from '@tanstack/react-query';
import { queryOptions, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { call, get } from '../../api/client.ts';
import type { Place } from './place.ts';
import { usePlace } from './place.ts';

const root = '/api/v1/knowledge';

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export const readOptions = <T>(place: Place, path: string, query: Query = {}) =>
  queryOptions({
    queryKey: ['knowledge', path, place, query],
    queryFn: ({ signal }) => get<T>(root + path, { ...query, ...place }, signal),
  });

/** Reads one answer; live events read it again. */
export function useRead<T>(
  path: string,
  query: Query = {},
  { isWanted = true }: { readonly isWanted?: boolean } = {},
): UseQueryResult<T> {
  return useQuery({ ...readOptions<T>(usePlace(), path, query), enabled: isWanted });
}

/** A list that comes in pages; `cursor` is the parameter that takes the answer's `next`. */
export function useList<A extends { readonly next: string | null }>(
  path: string,
  query: Query,
  cursor: 'before' | 'after',
): UseInfiniteQueryResult<readonly A[]> {
  const place = usePlace();
  return useInfiniteQuery({
    queryKey: ['knowledge', path, place, query, 'pages'],
    queryFn: ({ pageParam, signal }) =>
      get<A>(
        root + path,
        { ...query, ...place, ...(pageParam === null ? {} : { [cursor]: pageParam }) },
        signal,
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next,
    select: ({ pages }): readonly A[] => pages,
  });
}

/** Changes something in the space. */
export function change<T>(
  place: Place,
  method: 'POST' | 'DELETE',
  path: string,
  body?: Readonly<Record<string, unknown>>,
): Promise<T> {
  return call<T>(method, root + path, {
    query: { ...place },
    ...(body === undefined ? {} : { body }),
  });
}
