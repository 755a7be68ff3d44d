// Handlers of executions.
import { executionsApi } from '../../api/executions.ts';
import type { Deployment, Execution } from '../../tenancy/index.ts';
import type { ServerDeps } from '../deps.ts';
import type { TypedServer } from '../implement.ts';
import { implement, pageOf } from '../implement.ts';

export function executionRoutes(server: TypedServer, { tenants }: ServerDeps): void {
  const { executions, organizations, deployments } = tenants;
  /** With names; what was deleted in the meantime shows its id. */
  const views = (found: readonly Execution[]) => {
    const names = new Map([...organizations.list(), ...deployments.list()].map(({ id, name }) => [id, name]));
    return found.map(({ executionId, failure, result = null, ...execution }) => ({
      ...execution,
      id: executionId,
      organizationName: names.get(execution.organizationId) ?? execution.organizationId,
      deploymentName: names.get(execution.deploymentId) ?? execution.deploymentId,
      result,
      error: failure && { code: failure.code, message: failure.message },
    }));
  };
  const view = (execution: Execution) => views([execution])[0] as ReturnType<typeof views>[number];

  implement(server, executionsApi, {
    list: async ({ query: { organization, deployment, status: statuses, limit, after: before } }) => {
      const organizationId = organization === undefined ? undefined : organizations.find(organization).id;
      const deploymentId = deployment === undefined ? undefined : findDeployment(deployments, deployment).id;
      const { items, next } = await pageOf(limit, async (most) =>
        views(await executions.list({ organizationId, deploymentId, statuses, before, limit: most })),
      );
      return { executions: items, next };
    },
    get: async ({ params }) => view(await executions.get(params.id)),
    stop: async ({ params }) => view(await executions.stop(params.id)),
    release: async ({ params: { id } }) => ({ id, ...(await executions.release(id)) }),
  });
}

/** By its id or as ORGANIZATION/NAME: names of organizations have no slash. Fails with NOT_FOUND. */
function findDeployment(deployments: ServerDeps['tenants']['deployments'], reference: string): Deployment {
  const slash = reference.indexOf('/');
  return slash === -1
    ? deployments.get(reference)
    : deployments.find(reference.slice(0, slash), reference.slice(slash + 1));
}
