// Handlers of organizations and their keys.
import { organizationsApi } from '../../api/organizations.ts';
import type { ServerDeps } from '../deps.ts';
import type { TypedServer } from '../implement.ts';
import { implement } from '../implement.ts';

export function organizationRoutes(server: TypedServer, { tenants }: ServerDeps): void {
  const { organizations, keys } = tenants;
  implement(server, organizationsApi, {
    list: async () => ({ organizations: organizations.list() }),
    create: async ({ body }) => organizations.create(body.name),
    get: async ({ params }) => organizations.find(params.organization),
    update: async ({ params, body }) => organizations.rename(params.organization, body.name),
    delete: async ({ params }) => {
      await organizations.delete(params.organization);
      return null;
    },
    listKeys: async ({ params }) => ({ keys: keys.list(params.organization) }),
    createKey: async ({ params, body: { name, expiresAt } }) => {
      const { key, record } = await keys.create(params.organization, {
        name,
        expiresAt: expiresAt === undefined ? null : new Date(expiresAt),
      });
      return { ...record, key };
    },
    revokeKey: async ({ params }) => keys.revoke(params.organization, params.id),
  });
}
