// What the dashboard shows at a glance: put together here, so that a page asks once.
import type { HttpDependencies } from '../ports.ts';
import { errorAnswers } from '../schemas/error.ts';
import { idParams, isoOrNull } from '../schemas/fields.ts';
import { viewOfLimit } from '../schemas/limits.ts';
import {
  flowAnswer,
  runSamples,
  tenantsOverview,
  viewOfMinute,
  viewOfSample,
  viewOfTenantRow,
} from '../schemas/overview.ts';
import type { TypedServer } from './typed-server.ts';

const tags = ['overview'];
const config = { access: 'admin' } as const;
/** Usage is asked one by one. */
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
        response: { 200: tenantsOverview, ...errorAnswers },
      },
    },
    () => tenantsNow(dependencies),
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

async function tenantsNow({ tenants, activity }: HttpDependencies) {
  const { limits, organizations } = tenants;
  const active = new Map(activity.tenants().map((each) => [each.organizationId, each]));
  const all = organizations.list();
  const refusedOf = (id: string) => active.get(id)?.refused ?? 0;
  const shown = all
    .toSorted((a, b) => refusedOf(b.id) - refusedOf(a.id) || a.name.localeCompare(b.name))
    .slice(0, mostOrganizations);
  const rows = await Promise.all(
    shown.map(async ({ id, name }) =>
      viewOfTenantRow(viewOfLimit(await limits.get(id), name), active.get(id)),
    ),
  );
  return {
    counted_since: new Date(activity.since).toISOString(),
    default_limit: limits.defaultLimit,
    global_limit: limits.globalLimit,
    global_used: rows.find(({ limit }) => limit.usage)?.limit.usage?.global ?? null,
    organizations: rows,
    organization_count: all.length,
    minutes: activity.minutes().map(viewOfMinute),
  };
}

type Counts = readonly { readonly name: string; readonly state: string; readonly count: number }[];

async function flowNow(dependencies: HttpDependencies) {
  const { extraction, gateway, tenants, ledger, jobs, activity } = dependencies;
  const [running, finished, sources, models, kinds, counts, readiness, executions] = await Promise.all([
    extraction.runs.list({ states: ['running', 'waiting'], limit: 20 }),
    extraction.runs.list({ states: ['completed', 'incomplete', 'failed', 'interrupted'], limit: 1 }),
    extraction.sources.list(),
    gateway.models.list({
      activeOnly: true,
      availableOnly: false,
      configuredOnly: false,
      includeRecent: false,
      windowDays: 7,
    }),
    ledger.counts(),
    jobs.counts(),
    dependencies.readiness(),
    tenants.executions.list({ statuses: ['queued', 'executing'], limit: 500 }),
  ]);
  const degraded = degradedBy(kinds);
  const [anOrganization] = tenants.organizations.list();
  const usage = anOrganization ? (await tenants.limits.get(anOrganization.id)).usage : null;
  const configured = models.filter(({ isConfigured }) => isConfigured);
  const cooling = configured.filter(({ availableAt }) => availableAt !== null);
  const [last] = finished;
  return {
    counted_since: new Date(activity.since).toISOString(),
    minutes: activity.minutes().map(viewOfMinute),
    extraction: {
      degraded: degraded('extraction.'),
      sources: sources.length,
      running: running.map((run) => ({
        run_id: run.id,
        source: run.source,
        items: run.types.reduce((sum, { items }) => sum + items, 0),
        total: totalOf(run.types),
        items_per_second: run.itemsPerSecond,
        multiplier: run.multiplier,
        refusals: run.refusals,
      })),
      last_finished: last
        ? { run_id: last.id, source: last.source, state: last.state, finished_at: isoOrNull(last.finishedAt) }
        : null,
    },
    knowledge: {
      degraded: degraded('knowledge.'),
      jobs_waiting: jobCount(counts, 'knowledge.', 'pending'),
      jobs_running: jobCount(counts, 'knowledge.', 'running'),
    },
    gateway: {
      degraded: degraded('gateway.'),
      available: configured.length - cooling.length,
      cooling: cooling.map(({ id, name, availableAt, cooldowns }) => ({
        id,
        name,
        available_at: isoOrNull(availableAt),
        cause: cooldowns[0]?.cause ?? null,
      })),
      without_key: models.length - configured.length,
    },
    admission: {
      degraded: degraded('admission.'),
      global_used: usage?.global ?? null,
      global_limit: tenants.limits.globalLimit,
      organizations: tenants.organizations.list().length,
    },
    executions: {
      degraded: degraded('deployments.'),
      queued: executions.filter(({ status }) => status === 'queued').length,
      executing: executions.filter(({ status }) => status === 'executing').length,
    },
    other_degraded: degraded(null),
    alerts: tenants.alerts.list().filter(({ state }) => state === 'firing').length,
    dependencies: readiness.dependencies.map(({ name, state }) => ({ name, state })),
  };
}

const gates = ['extraction.', 'knowledge.', 'gateway.', 'admission.', 'deployments.'];

/** Open rows of kinds that begin so; null: of all kinds that begin otherwise. */
function degradedBy(
  kinds: readonly { readonly kind: string; readonly open: number }[],
): (prefix: string | null) => number {
  const isOf = (kind: string, prefix: string | null) =>
    prefix === null ? !gates.some((gate) => kind.startsWith(gate)) : kind.startsWith(prefix);
  return (prefix) => kinds.filter(({ kind }) => isOf(kind, prefix)).reduce((sum, { open }) => sum + open, 0);
}

const jobCount = (counts: Counts, prefix: string, wanted: string): number =>
  counts
    .filter(({ name, state }) => name.startsWith(prefix) && state === wanted)
    .reduce((sum, { count }) => sum + count, 0);

/** Null unless every type says how many there are. */
function totalOf(types: readonly { readonly total: number | null }[]): number | null {
  return types.reduce<number | null>(
    (sum, { total }) => (sum === null || total === null ? null : sum + total),
    types.length === 0 ? null : 0,
  );
}
