// Handlers of concurrency limits and alerts.
import { alertsApi, limitsApi } from '../../api/limits.ts';
import type { LimitView } from '../../tenancy/index.ts';
import type { ServerDeps } from '../deps.ts';
import type { TypedServer } from '../implement.ts';
import { implement } from '../implement.ts';

export function limitRoutes(server: TypedServer, { tenants }: ServerDeps): void {
  const { limits, organizations, alerts } = tenants;
  implement(server, limitsApi, {
    list: async ({ query }) => {
      const found = await limits.list(query);
      const names = new Map(organizations.list().map(({ id, name }) => [id, name]));
      return {
        defaultLimit: limits.defaultLimit,
        globalLimit: limits.globalLimit,
        limits: found.map((each) => limitView(each, names.get(each.organizationId) ?? each.organizationId)),
      };
    },
    get: async ({ params, query }) => {
      const { id, name } = organizations.find(params.organization);
      return limitView(await limits.get(id, query), name);
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
  implement(server, alertsApi, { list: async () => ({ alerts: alerts.list() }) });
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

/** With one decimal. */
const percent = (used: number, limit: number): number => Math.round((used / limit) * 1_000) / 10;
