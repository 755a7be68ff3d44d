// Organizations and their keys over HTTP.
import { z } from 'zod';
import type { Organization, OrganizationKey } from '../../tenancy/index.ts';
import { id, instant, isoOrNull } from './fields.ts';

export const organizationId = z.string().meta({ examples: ['org_a1b2c3d4e5f6g7h8'] });

/** An organization in a path or query. */
export const organizationReference = z
  .string()
  .min(1)
  .describe('Its id or its name.')
  .meta({ examples: ['acme-corp', 'org_a1b2c3d4e5f6g7h8'] });

export const organizationParams = z.object({ organization: organizationReference });
export const organizationKeyParams = organizationParams.extend({ id });

export const organization = z
  .object({ id: organizationId, name: z.string(), created_at: instant })
  .meta({ id: 'Organization', description: 'An organization.' });

export const organizations = z
  .object({ organizations: z.array(organization) })
  .meta({ id: 'Organizations', description: 'All organizations, oldest first.' });

export const organizationBody = z
  .strictObject({
    name: z
      .string()
      .describe('1 to 100 visible characters without slashes; unique, whatever the case of its letters.'),
  })
  .meta({ id: 'OrganizationRequest', examples: [{ name: 'acme-corp' }] });

export const organizationKey = z
  .object({
    id,
    organization_id: organizationId,
    name: z.string(),
    prefix: z.string().describe('The first characters, to recognise it by.'),
    created_at: instant,
    expires_at: instant.nullable(),
    revoked_at: instant.nullable(),
  })
  .meta({ id: 'OrganizationKey', description: 'A key of an organization, without the key itself.' });

export const organizationKeys = z.object({ keys: z.array(organizationKey) }).meta({
  id: 'OrganizationKeys',
  description: 'All keys of an organization, oldest first, revoked and expired ones too.',
});

export const newOrganizationKey = organizationKey
  .extend({ key: z.string().describe('Shown here and never again.') })
  .meta({ id: 'NewOrganizationKey', description: 'The new key.' });

export const organizationKeyBody = z
  .strictObject({
    name: z.string().describe('What it is for: 1 to 100 visible characters.'),
    expires_at: instant.optional().describe('Default: it works until it is revoked.'),
  })
  .meta({ id: 'OrganizationKeyRequest', examples: [{ name: 'production' }] });

export const viewOfOrganization = ({ id, name, createdAt }: Organization): z.infer<typeof organization> => ({
  id,
  name,
  created_at: createdAt.toISOString(),
});

export function viewOfOrganizationKey(key: OrganizationKey): z.infer<typeof organizationKey> {
  return {
    id: key.id,
    organization_id: key.organizationId,
    name: key.name,
    prefix: key.prefix,
    created_at: key.createdAt.toISOString(),
    expires_at: isoOrNull(key.expiresAt),
    revoked_at: isoOrNull(key.revokedAt),
  };
}
