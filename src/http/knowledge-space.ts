// Selects the space of a request: an organization's key reaches its own spaces only, the admin names the owner.
import { CoreError } from '../core/index.ts';
import type { Space } from '../knowledge/index.ts';
import type { ServerDeps } from './deps.ts';
import type { Caller } from './server-types.ts';

export interface SpaceRef {
  readonly organization?: string | undefined;
  readonly space?: string | undefined;
}

/** The organization whose knowledge is meant; null: the server's own. Fails with NOT_FOUND or FORBIDDEN. */
export function ownerOf(
  { tenants: { organizations } }: Pick<ServerDeps, 'tenants'>,
  caller: Caller | null,
  organization: string | undefined,
): string | null {
  if (caller?.kind === 'admin')
    return organization === undefined ? null : organizations.find(organization).id;
  if (caller?.kind !== 'organization')
    throw new CoreError('FORBIDDEN', 'These credentials reach no knowledge.');
  const isOwn = (reference: string): boolean => {
    try {
      return organizations.find(reference).id === caller.organizationId;
    } catch {
      return false;
    }
  };
  if (organization === undefined || isOwn(organization)) return caller.organizationId;
  // The same message whether such an organization exists or not.
  throw new CoreError(
    'FORBIDDEN',
    'This key reaches the spaces of its own organization only. Leave "organization" out.',
  );
}

/** The space of the request. Fails with NOT_FOUND or FORBIDDEN, revealing nothing about spaces of others. */
export function spaceOf(
  dependencies: Pick<ServerDeps, 'tenants' | 'knowledge'>,
  caller: Caller | null,
  { organization, space }: SpaceRef,
): Promise<Space> {
  return dependencies.knowledge.spaces.resolve(ownerOf(dependencies, caller, organization), space);
}

/** `admin` or the id of the organization: for records of who decided. */
export const actorOf = (caller: Caller | null): string =>
  caller?.kind === 'organization' ? caller.organizationId : 'admin';
