// Handlers of deployments.
import { deploymentsApi } from '../../api/deployments.ts';
import type { Deployment } from '../../tenancy/index.ts';
import type { ServerDeps } from '../deps.ts';
import type { TypedServer } from '../implement.ts';
import { implement } from '../implement.ts';

export function deploymentRoutes(
  server: TypedServer,
  { tenants: { deployments, organizations } }: ServerDeps,
): void {
  const view = (deployment: Deployment, organizationName: string) => ({
    ...deployment,
    organizationName,
    path: `/deployment/api/${deployment.organizationId}/${deployment.name}`,
  });
  const detail = async (deployment: Deployment) => ({
    ...view(deployment, organizations.find(deployment.organizationId).name),
    webhookSecret: secretOf(deployments, deployment),
    warnings: await deployments.warnings(deployment),
  });
  implement(server, deploymentsApi, {
    list: async ({ query }) => {
      const names = new Map(organizations.list().map(({ id, name }) => [id, name]));
      return {
        deployments: deployments
          .list(query.organization)
          .map((each) => view(each, names.get(each.organizationId) ?? '')),
      };
    },
    create: async ({ body: { organization, ...input } }) =>
      detail(await deployments.create(organization, input)),
    get: async ({ params }) => detail(deployments.get(params.id)),
    update: async ({ params, body: { workflow: _never, ...change } }) =>
      detail(await deployments.update(params.id, change)),
    delete: async ({ params }) => {
      await deployments.delete(params.id);
      return null;
    },
  });
}

/** Null also where this machine has no signing secret: the deployment can be read all the same. */
function secretOf(deployments: ServerDeps['tenants']['deployments'], deployment: Deployment): string | null {
  try {
    return deployments.signingSecret(deployment);
  } catch {
    return null;
  }
}
