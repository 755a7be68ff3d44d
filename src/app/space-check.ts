// Checks the spaces that deployments name.
import { CoreError } from '../core/index.ts';
import type { SpaceCheck } from '../tenancy/index.ts';
import type { Spaces } from '../knowledge/index.ts';

export function spaceCheckOf(spaces: Pick<Spaces, 'resolve'>): SpaceCheck {
  return {
    spaceProblem: async (organizationId, space) => {
      try {
        await spaces.resolve(organizationId, space);
        return null;
      } catch (error) {
        const isUnknown = error instanceof CoreError && error.code === 'NOT_FOUND';
        if (!isUnknown) throw error;
        return `is not a space of this organization; create it first: headworks spaces create ${shown(space)} --organization ${organizationId}`;
      }
    },
  };
}

/** Only what could be a name. */
const shown = (space: string): string => (/^[\w.-]{1,100}$/.test(space) ? space : 'NAME');
