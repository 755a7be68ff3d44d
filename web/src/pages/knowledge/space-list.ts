// All spaces, with their names as used in addresses.
import { api } from '../../api/client.ts';
import type { SpaceRef } from './space-ref.ts';

export const sharedGroup = 'Shared (no organization)';
export const standard = 'default';

export interface NamedSpace {
  readonly group: string;
  readonly name: string;
  readonly spaceRef: SpaceRef;
}

/** All spaces, plus the default space of each organization, which is created on first use. */
export async function readSpaces(signal: AbortSignal): Promise<readonly NamedSpace[]> {
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
      spaceRef: { ...(id === null ? {} : { organization: name }), ...(space === standard ? {} : { space }) },
    }));
  });
}
