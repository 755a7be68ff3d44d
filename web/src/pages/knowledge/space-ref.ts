// The space of the page: kept in the address and carried by every link.
import { useCallback, useMemo } from 'react';
import { useSearchParams } from 'wouter';

/** Without an organization: the server's own spaces. Without a space: `default`. */
export interface SpaceRef {
  readonly organization?: string;
  readonly space?: string;
}

export function useSpaceRef(): SpaceRef {
  const [params] = useSearchParams();
  const organization = params.get('organization') ?? '';
  const space = params.get('space') ?? '';
  return useMemo(
    () => ({ ...(organization === '' ? {} : { organization }), ...(space === '' ? {} : { space }) }),
    [organization, space],
  );
}

export type Params = Readonly<Record<string, string | undefined>>;

export function addressOf(path: string, spaceRef: SpaceRef, params: Params = {}): string {
  const given = Object.entries({ ...params, ...spaceRef }).filter(([, value]) => value !== undefined);
  const query = new URLSearchParams(given).toString();
  return `/knowledge${path}${query === '' ? '' : `?${query}`}`;
}

/** Builds addresses that stay in the current space. */
export function useAddress(): (path: string, params?: Params) => string {
  const spaceRef = useSpaceRef();
  return useCallback((path, params) => addressOf(path, spaceRef, params), [spaceRef]);
}
