// All spaces, with their names as used in addresses.
import { api } from '../../api/client.ts';
import type { Place } from './place.ts';

export const sharedGroup = 'Shared (no organization)';
export const standard = 'default';

export interface NamedPlace {
  readonly group: string;
  readonly name: string;
  readonly place: Place;
}

/** All spaces, plus the default space of each organization, which is created on first use. */
export async function readPlaces(signal: AbortSignal): Promise<readonly NamedPlace[]> {
  const [{ spaces }, { organizations }] = await Promise.all([
    api('GET /api/v1/knowledge/spaces', { signal }),
    api('GET /api/v1/organizations', { signal }),
  ]);
  const owners = [{ id: null, name: sharedGroup }, ...organizations];
  return owners.flatMap(({ id, name }) => {
    const own = spaces.filter((space) => space.organization_id === id).map((space) => space.name);
    return [...new Set([standard, ...own])].map((space) => ({
      group: name,
      name: space,
      place: { ...(id === null ? {} : { organization: name }), ...(space === standard ? {} : { space }) },
    }));
  });
}
