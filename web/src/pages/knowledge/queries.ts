// Calls of the knowledge API for the space in the page's address.
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

/** One response; refetched on live events. */
export function useRead<T>(
  path: string,
  query: Query = {},
  { isEnabled = true }: { readonly isEnabled?: boolean } = {},
): UseQueryResult<T> {
  return useQuery({ ...readOptions<T>(usePlace(), path, query), enabled: isEnabled });
}

/** A paginated list. */
export function useList<A extends { readonly next: string | null }>(
  path: string,
  query: Query,
): UseInfiniteQueryResult<readonly A[]> {
  const place = usePlace();
  return useInfiniteQuery({
    queryKey: ['knowledge', path, place, query, 'pages'],
    queryFn: ({ pageParam, signal }) =>
      get<A>(
        root + path,
        { ...query, ...place, ...(pageParam === null ? {} : { after: pageParam }) },
        signal,
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next,
    select: ({ pages }): readonly A[] => pages,
  });
}

/** Calls an operation that changes the space. */
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
