// Which space a request is about: an organization's key reaches its own spaces only, the admin names whose.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { CoreError } from '../core/index.ts';
import type { Space } from '../knowledge/index.ts';
import type { HttpDependencies } from './ports.ts';

/** Addresses of knowledge begin with this. */
export const knowledgePath = '/api/v1/knowledge';

/** For routes that an organization's key and the admin token reach. */
export const knowledgeAccess = { access: 'tenant' } as const;

/** Part of every query about knowledge; of bodies that bring a document or a search as well. */
export const spaceFields = {
  organization: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe('Id or name of the organization whose space it is, for admins; default: the house’s own.'),
  space: z.string().min(1).max(100).optional().describe('Name of the space; default: "default".'),
};

/**
 * What a route of knowledge does not take is refused, never passed over: a space that is named in the wrong place would
 * be another one than meant.
 */
export function refuseWhatIsNotTaken(server: FastifyInstance): void {
  server.addHook('onRoute', (route) => {
    if (!route.url.startsWith(`${knowledgePath}/`) || !route.schema) return;
    route.schema.querystring ??= z.strictObject({});
    if (route.method === 'POST' || route.method === 'DELETE')
      route.schema.body ??= z.strictObject({}).nullish().describe('Nothing.');
  });
}

export interface SpaceWish {
  readonly organization?: string | undefined;
  readonly space?: string | undefined;
}

/** Whose knowledge the request is about; null: the house's own. Fails with NOT_FOUND or FORBIDDEN. */
export function ownerOf(
  { tenants }: Pick<HttpDependencies, 'tenants'>,
  { caller }: Pick<FastifyRequest, 'caller'>,
  organization: string | undefined,
): string | null {
  if (caller?.kind === 'admin')
    return organization === undefined ? null : tenants.organizations.find(organization).id;
  if (caller?.kind !== 'organization')
    throw new CoreError('FORBIDDEN', 'These credentials reach no knowledge.');
  if (organization === undefined || isOwn(tenants, caller.organizationId, organization))
    return caller.organizationId;
  // The same words whether there is such an organization or not.
  throw new CoreError(
    'FORBIDDEN',
    'This key reaches the spaces of its own organization only. Leave "organization" out.',
  );
}

/** The space that the request is about. Fails with NOT_FOUND or FORBIDDEN, telling nothing of others' spaces. */
export function spaceOf(
  dependencies: Pick<HttpDependencies, 'tenants' | 'knowledge'>,
  request: Pick<FastifyRequest, 'caller'>,
  { organization, space }: SpaceWish,
): Promise<Space> {
  return dependencies.knowledge.spaces.resolve(ownerOf(dependencies, request, organization), space);
}

/** `admin`, or the organization's id: for rows that say who decided. */
export const deciderOf = ({ caller }: Pick<FastifyRequest, 'caller'>): string =>
  caller?.kind === 'organization' ? caller.organizationId : 'admin';

function isOwn(
  { organizations }: HttpDependencies['tenants'],
  organizationId: string,
  reference: string,
): boolean {
  try {
    return organizations.find(reference).id === organizationId;
  } catch {
    return false;
  }
}
