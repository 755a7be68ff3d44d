// Which spaces an organization has, for deployments that name one.
import { CoreError } from '../core/index.ts';
import type { SpaceCheck } from '../tenancy/workflows/index.ts';
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
        return `is no space of this organization; make it first: headworks spaces add ${shown(space)} --organization ${organizationId}`;
      }
    },
  };
}

/** As far as it could be a name. */
const shown = (space: string): string => (/^[\w.-]{1,100}$/.test(space) ? space : 'NAME');
