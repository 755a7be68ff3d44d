// What the dashboard shows at a glance: put together here, so that a page asks once.
import type { HttpDependencies } from '../ports.ts';
import { errorAnswers } from '../schemas/error.ts';
import { idParams } from '../schemas/fields.ts';
import { viewOfLimit } from '../schemas/limits.ts';
import {
  flowAnswer,
  runSamples,
  tenantsOverview,
  tenantsQuery,
  viewOfMinute,
  viewOfSample,
  viewOfTenantRow,
} from '../schemas/overview.ts';
import { flowNow } from './flow-now.ts';
import type { TypedServer } from './typed-server.ts';

const tags = ['overview'];
const config = { access: 'admin' } as const;
const mostOrganizations = 200;

export function overviewRoutes(server: TypedServer, dependencies: HttpDependencies): void {
  const { activity } = dependencies;

  server.get(
    '/api/v1/overview/tenants',
    {
      config,
      schema: {
        operationId: 'overview.tenants',
        tags,
        summary: 'Organizations with usage, limits and refusals',
        querystring: tenantsQuery,
        response: { 200: tenantsOverview, ...errorAnswers },
      },
    },
    ({ query }) => tenantsNow(dependencies, query.name ?? ''),
  );

  server.get(
    '/api/v1/overview/flow',
    {
      config,
      schema: {
        operationId: 'overview.flow',
        tags,
        summary: 'Every gate on the way of the data, now',
        response: { 200: flowAnswer, ...errorAnswers },
      },
    },
    () => flowNow(dependencies),
  );

  server.get(
    '/api/v1/extraction/runs/:id/samples',
    {
      config,
      schema: {
        operationId: 'extraction.run-samples',
        tags: ['extraction'],
        summary: 'How a run went over time',
        params: idParams,
        response: { 200: runSamples, ...errorAnswers },
      },
    },
    async ({ params }) => ({ samples: activity.run(params.id).map(viewOfSample) }),
  );
}

async function tenantsNow({ tenants, activity }: HttpDependencies, part: string) {
  const { limits, organizations } = tenants;
  const active = new Map(activity.tenants().map((each) => [each.organizationId, each]));
  const all = organizations.list();
  const refusedOf = (id: string) => active.get(id)?.refused ?? 0;
  const shown = all
    .filter(({ name }) => name.toLowerCase().includes(part.toLowerCase()))
    .toSorted((a, b) => refusedOf(b.id) - refusedOf(a.id) || a.name.localeCompare(b.name))
    .slice(0, mostOrganizations);
  const names = new Map(shown.map(({ id, name }) => [id, name]));
  const { globalUsed, limits: views } = await limits.overview([...names.keys()]);
  return {
    counted_since: new Date(activity.since).toISOString(),
    default_limit: limits.defaultLimit,
    global_limit: limits.globalLimit,
    global_used: globalUsed,
    waiting: tenants.queued(),
    organizations: views.map((view) =>
      viewOfTenantRow(
        viewOfLimit(view, names.get(view.organizationId) ?? view.organizationId),
        active.get(view.organizationId),
      ),
    ),
    organization_count: all.length,
    minutes: activity.minutes().map(viewOfMinute),
  };
}
