// Handlers of organizations, their keys, limits, deployments and executions.
import { deploymentsApi, executionsApi } from '../../api/deployments.ts';
import { limitsApi } from '../../api/limits.ts';
import { organizationsApi } from '../../api/organizations.ts';
import type { Deployment, Execution, LimitView } from '../../tenancy/index.ts';
import type { ServerDeps, TenantServices } from '../deps.ts';
import type { TypedServer } from '../implement.ts';
import { implement, pageOf } from '../implement.ts';

export function tenancyRoutes(server: TypedServer, { tenants }: ServerDeps): void {
  organizationRoutes(server, tenants);
  limitRoutes(server, tenants);
  deploymentRoutes(server, tenants);
  executionRoutes(server, tenants);
}

function organizationRoutes(server: TypedServer, { organizations, keys }: TenantServices): void {
  implement(server, organizationsApi, {
    list: async () => ({ organizations: organizations.list() }),
    create: async ({ body }) => organizations.create(body.name),
    get: async ({ params }) => organizations.find(params.organization),
    update: async ({ params, body }) => organizations.rename(params.organization, body.name),
    delete: async ({ params }) => organizations.delete(params.organization),
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

function limitRoutes(server: TypedServer, { limits, organizations }: TenantServices): void {
  implement(server, limitsApi, {
    list: async ({ query }) => {
      const found = await limits.list(query);
      const names = namesById(organizations.list());
      return {
        defaultLimit: limits.defaultLimit,
        globalLimit: limits.globalLimit,
        limits: found.map((each) => limitView(each, names.get(each.organizationId) ?? each.organizationId)),
      };
    },
    get: async ({ params }) => {
      const { id, name } = organizations.find(params.organization);
      return limitView(await limits.get(id), name);
    },
    refreshCache: async ({ params }) => {
      const { id, name } = organizations.find(params.organization);
      return limitView(await limits.get(id, { clearCache: true }), name);
    },
    set: async ({ params, body }) => {
      const { id, name } = organizations.find(params.organization);
      const { view, isNew } = await limits.set(id, body.limit);
      return { ...limitView(view, name), isNew };
    },
    delete: async ({ params }) => {
      const { id, name } = organizations.find(params.organization);
      return limitView(await limits.delete(id), name);
    },
    clearCache: async ({ body }) => {
      const { organization, all = false } = body ?? {};
      const which =
        organization === undefined ? (all ? 'all' : 'custom') : [organizations.find(organization).id];
      return { deleted: await limits.clearCache(which) };
    },
  });
}

export function limitView({ usage, ...limit }: LimitView, organizationName: string) {
  return {
    ...limit,
    organizationName,
    usage: usage && {
      ...usage,
      organizationPercent: percent(usage.organization, usage.organizationLimit),
      globalPercent: percent(usage.global, usage.globalLimit),
    },
  };
}

/** Percentage with one decimal. */
const percent = (used: number, limit: number): number => Math.round((used / limit) * 1_000) / 10;

function deploymentRoutes(server: TypedServer, { deployments, organizations }: TenantServices): void {
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
      const names = namesById(organizations.list());
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
    delete: async ({ params }) => deployments.delete(params.id),
  });
}

/** Null also where this machine has no signing secret: the deployment can be read all the same. */
function secretOf(deployments: TenantServices['deployments'], deployment: Deployment): string | null {
  try {
    return deployments.signingSecret(deployment);
  } catch {
    return null;
  }
}

function executionRoutes(
  server: TypedServer,
  { executions, organizations, deployments }: TenantServices,
): void {
  /** Executions with names; what was deleted in the meantime shows its id. */
  const views = (found: readonly Execution[]) => {
    const names = namesById([...organizations.list(), ...deployments.list()]);
    return found.map(({ executionId, failure, status: state, result = null, ...execution }) => ({
      ...execution,
      id: executionId,
      state,
      organizationName: names.get(execution.organizationId) ?? execution.organizationId,
      deploymentName: names.get(execution.deploymentId) ?? execution.deploymentId,
      result,
      error: failure && { code: failure.code, message: failure.message },
    }));
  };
  const view = (execution: Execution) => views([execution])[0] as ReturnType<typeof views>[number];

  implement(server, executionsApi, {
    list: async ({ query: { organization, deployment, state: statuses, limit, after: before } }) => {
      const organizationId = organization === undefined ? undefined : organizations.find(organization).id;
      const deploymentId = deployment === undefined ? undefined : findDeployment(deployments, deployment).id;
      const { items, next } = await pageOf(limit, async (max) =>
        views(await executions.list({ organizationId, deploymentId, statuses, before, limit: max })),
      );
      return { executions: items, next };
    },
    get: async ({ params }) => view(await executions.get(params.id)),
    cancel: async ({ params }) => view(await executions.cancel(params.id)),
    release: async ({ params: { id } }) => ({ id, ...(await executions.release(id)) }),
  });
}

/** Finds a deployment by its id or as ORGANIZATION/NAME: names of organizations have no slash. Fails with NOT_FOUND. */
function findDeployment(deployments: TenantServices['deployments'], reference: string): Deployment {
  const slash = reference.indexOf('/');
  return slash === -1
    ? deployments.get(reference)
    : deployments.find(reference.slice(0, slash), reference.slice(slash + 1));
}

const namesById = (
  all: readonly { readonly id: string; readonly name: string }[],
): ReadonlyMap<string, string> => new Map(all.map(({ id, name }) => [id, name]));
