// Every space that there is, by the names that addresses take.
import type { OrganizationsAnswer, SpacesAnswer } from '../../../../src/http/contract.ts';
import { get } from '../../api/client.ts';
import type { Place } from './place.ts';

export const house = 'This house';
export const standard = 'default';

export interface NamedPlace {
  readonly group: string;
  readonly name: string;
  readonly place: Place;
}

/** Every space there is, and of every organization the one that is made at first need. */
export async function readPlaces(signal: AbortSignal): Promise<readonly NamedPlace[]> {
  const [{ spaces }, { organizations }] = await Promise.all([
    get<SpacesAnswer>('/api/v1/knowledge/spaces', {}, signal),
    get<OrganizationsAnswer>('/api/v1/organizations', {}, signal),
  ]);
  const owners = [{ id: null, name: house }, ...organizations];
  return owners.flatMap(({ id, name }) => {
    const own = spaces.filter((space) => space.organization_id === id).map((space) => space.name);
    return [...new Set([standard, ...own])].map((space) => ({
      group: name,
      name: space,
      place: { ...(id === null ? {} : { organization: name }), ...(space === standard ? {} : { space }) },
    }));
  });
}
