// Organizations and their keys.
import { z } from 'zod';
import { deleted, id, instant } from './fields.ts';
import type { OutputOf } from './operation.ts';
import { operation } from './operation.ts';

export const organizationId = z.string().meta({ examples: ['org_a1b2c3d4e5f6g7h8'] });

export const organizationReference = z
  .string()
  .min(1)
  .describe('Id or name of the organization.')
  .meta({ examples: ['acme-corp', 'org_a1b2c3d4e5f6g7h8'] });

export const organizationParams = z.object({ organization: organizationReference });

export const Organization = z
  .object({ id: organizationId, name: z.string(), created_at: instant })
  .meta({ id: 'Organization', description: 'An organization.' });
export type Organization = z.infer<typeof Organization>;

const OrganizationRequest = z
  .strictObject({
    name: z.string().describe('1 to 100 visible characters without slashes; unique, ignoring case.'),
  })
  .meta({ id: 'OrganizationRequest', examples: [{ name: 'acme-corp' }] });

export const OrganizationKey = z
  .object({
    id,
    organization_id: organizationId,
    name: z.string().describe('Purpose of the key.'),
    prefix: z.string().describe('First characters of the key, to recognize it.'),
    created_at: instant,
    expires_at: instant.nullable().describe('Null: it does not expire.'),
    revoked_at: instant.nullable().describe('Null: not revoked.'),
  })
  .meta({ id: 'OrganizationKey', description: 'A key of an organization, without the key itself.' });
export type OrganizationKey = z.infer<typeof OrganizationKey>;

export const organizationsApi = {
  list: operation('GET /api/v1/organizations', {
    id: 'organizations.list',
    summary: 'List organizations, oldest first',
    output: z.object({ organizations: z.array(Organization) }).meta({ id: 'Organizations' }),
  }),

  create: operation('POST /api/v1/organizations', {
    id: 'organizations.create',
    summary: 'Create an organization',
    body: OrganizationRequest,
    status: 201,
    output: Organization,
  }),

  get: operation('GET /api/v1/organizations/:organization', {
    id: 'organizations.get',
    summary: 'Get an organization',
    params: organizationParams,
    output: Organization,
  }),

  update: operation('PATCH /api/v1/organizations/:organization', {
    id: 'organizations.update',
    summary: 'Rename an organization',
    description: 'Its id and URLs that contain the id stay valid; URLs with the old name do not.',
    params: organizationParams,
    body: OrganizationRequest,
    output: Organization,
  }),

  delete: operation('DELETE /api/v1/organizations/:organization', {
    id: 'organizations.delete',
    summary: 'Delete an organization',
    description:
      'Deletes its keys, deployments, limit and ended executions, too. 409 while one of its executions is running.',
    params: organizationParams,
    status: 204,
    output: deleted,
  }),

  listKeys: operation('GET /api/v1/organizations/:organization/keys', {
    id: 'organizations.list-keys',
    summary: 'List the keys of an organization, oldest first, revoked and expired ones included',
    params: organizationParams,
    output: z.object({ keys: z.array(OrganizationKey) }).meta({ id: 'OrganizationKeys' }),
  }),

  createKey: operation('POST /api/v1/organizations/:organization/keys', {
    id: 'organizations.create-key',
    summary: 'Create a key of an organization; the key itself is returned only here',
    params: organizationParams,
    body: z
      .strictObject({
        name: z.string().describe('Purpose of the key: 1 to 100 visible characters.'),
        expires_at: instant.optional().describe('Default: it does not expire.'),
      })
      .meta({ id: 'OrganizationKeyRequest', examples: [{ name: 'production' }] }),
    status: 201,
    output: OrganizationKey.extend({ key: z.string().describe('The key itself; returned only here.') }).meta({
      id: 'NewOrganizationKey',
    }),
  }),

  revokeKey: operation('DELETE /api/v1/organizations/:organization/keys/:id', {
    id: 'organizations.revoke-key',
    summary: 'Revoke a key of an organization permanently',
    description: 'All servers reject it within a second. Executions it started continue.',
    params: organizationParams.extend({ id: id.describe('Id of the key.') }),
    output: OrganizationKey,
  }),
} as const;

export type NewOrganizationKey = OutputOf<typeof organizationsApi.createKey>;
