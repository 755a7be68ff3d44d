// Calls of the knowledge API for the space in the page's address.
import type { UseInfiniteQueryResult, UseQueryResult } from '@tanstack/react-query';
import { queryOptions, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import type { ApiArguments, ApiInput, ApiResponse, ApiRoute } from '../../../../src/api/client.ts';
import { api } from '../../api/client.ts';
import type { SpaceRef } from './space-ref.ts';
import { useSpaceRef } from './space-ref.ts';

/** Routes whose query selects a space. */
type SpaceRoute = {
  [Route in ApiRoute]: keyof SpaceRef extends keyof NonNullable<ApiInput<Route>['query']> ? Route : never;
}[ApiRoute];
type ReadRoute = Extract<SpaceRoute, `GET ${string}`>;
type ListRoute = {
  [Route in ReadRoute]: ApiResponse<Route> extends { readonly next: string | null } ? Route : never;
}[ReadRoute];

/** Calls an operation in the space. */
export function inSpace<Route extends SpaceRoute>(
  spaceRef: SpaceRef,
  route: Route,
  ...[input]: ApiArguments<Route>
): Promise<ApiResponse<Route>> {
  const placed = { ...input, query: { ...input?.query, ...spaceRef } };
  return api(route, ...([placed] as unknown as ApiArguments<Route>));
}

export const readOptions = <Route extends ReadRoute>(
  spaceRef: SpaceRef,
  route: Route,
  ...[input]: ApiArguments<Route>
) =>
  queryOptions({
    queryKey: ['knowledge', route, spaceRef, input],
    queryFn: ({ signal }) =>
      inSpace(spaceRef, route, ...([{ ...input, signal }] as unknown as ApiArguments<Route>)),
  });

/** One response; refetched on live events. */
export function useRead<Route extends ReadRoute>(
  route: Route,
  ...input: ApiArguments<Route>
): UseQueryResult<ApiResponse<Route>> {
  return useQuery(readOptions(useSpaceRef(), route, ...input));
}

/** A paginated list. */
export function useList<Route extends ListRoute>(
  route: Route,
  ...[input]: ApiArguments<Route>
): UseInfiniteQueryResult<readonly ApiResponse<Route>[]> {
  const spaceRef = useSpaceRef();
  return useInfiniteQuery({
    queryKey: ['knowledge', route, spaceRef, input, 'pages'],
    queryFn: ({ pageParam: after, signal }) => {
      const page = { ...input, query: { ...input?.query, after }, signal };
      return inSpace(spaceRef, route, ...([page] as unknown as ApiArguments<Route>));
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => (last as { readonly next: string | null }).next ?? undefined,
    select: ({ pages }): readonly ApiResponse<Route>[] => pages,
  });
}
