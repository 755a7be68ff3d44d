// Handlers of the dashboard's overview pages.
import { alertsApi } from '../../api/limits.ts';
import { overviewApi } from '../../api/overview.ts';
import type { ExtractionRun, ExtractionSource } from '../../extraction/index.ts';
import { itemsOfRun, totalOfRun } from '../../extraction/index.ts';
import type { ModelView } from '../../gateway/index.ts';
import type { RunSample } from '../../operations/index.ts';
import { executionJobName } from '../../tenancy/index.ts';
import type { ServerDeps } from '../deps.ts';
import type { TypedServer } from '../implement.ts';
import { implement } from '../implement.ts';
import { limitView } from './tenancy.ts';

type Counts = Awaited<ReturnType<ServerDeps['jobs']['counts']>>;

const maxOrganizations = 200;
const maxKinds = 20;
const minuteMs = 60_000;

export function overviewRoutes(server: TypedServer, dependencies: ServerDeps): void {
  implement(server, overviewApi, {
    getOrganizations: ({ query }) => organizationsNow(dependencies, query.name ?? ''),
    getFlow: () => flowNow(dependencies),
  });
  implement(server, alertsApi, { list: async () => ({ alerts: dependencies.alerts() }) });
}

async function organizationsNow({ tenants, activity }: ServerDeps, part: string) {
  const { limits, organizations } = tenants;
  const active = new Map(activity.tenants().map((each) => [each.organizationId, each]));
  const all = organizations.list();
  const refusedOf = (id: string) => active.get(id)?.refused ?? 0;
  const shown = all
    .filter(({ name }) => name.toLowerCase().includes(part.toLowerCase()))
    .toSorted((a, b) => refusedOf(b.id) - refusedOf(a.id) || a.name.localeCompare(b.name))
    .slice(0, maxOrganizations);
  const names = new Map(shown.map(({ id, name }) => [id, name]));
  const { globalUsed, limits: found } = await limits.overview([...names.keys()]);
  return {
    countedSince: new Date(activity.since),
    defaultLimit: limits.defaultLimit,
    globalLimit: limits.globalLimit,
    globalUsed,
    waiting: tenants.queued(),
    organizations: found.map((each) => {
      const {
        admitted = 0,
        refused = 0,
        ended = 0,
        averageHoldMs = null,
        longestHoldMs = null,
      } = active.get(each.organizationId) ?? {};
      const limit = limitView(each, names.get(each.organizationId) ?? each.organizationId);
      return { limit, admitted, refused, ended, averageHoldMs, longestHoldMs };
    }),
    organizationCount: all.length,
    minutes: minutesOf(activity),
  };
}

const minutesOf = (activity: ServerDeps['activity']) =>
  activity.minutes().map((minute) => ({ ...minute, at: new Date(minute.at) }));

async function flowNow(dependencies: ServerDeps) {
  const { tenants, activity } = dependencies;
  const [extraction, gateway, { globalUsed }, kinds, counts, { dependencies: states }] = await Promise.all([
    extractionNow(dependencies),
    gatewayNow(dependencies),
    tenants.limits.overview([]),
    dependencies.ledger.store.counts(),
    dependencies.jobs.counts(),
    dependencies.readiness(),
  ]);
  return {
    countedSince: new Date(activity.since),
    lastMinute: activity.lastMinute(),
    minutes: minutesOf(activity),
    extraction,
    knowledge: {
      jobsWaiting: jobCount(counts, 'knowledge.', 'queued'),
      jobsRunning: jobCount(counts, 'knowledge.', 'running'),
    },
    gateway,
    admission: {
      globalUsed,
      globalLimit: tenants.limits.globalLimit,
      organizations: tenants.organizations.list().length,
      waiting: tenants.queued(),
    },
    executions: {
      queued: jobCount(counts, executionJobName, 'queued'),
      executing: jobCount(counts, executionJobName, 'running'),
    },
    degraded: kinds
      .filter(({ open }) => open > 0)
      .toSorted((a, b) => b.open - a.open)
      .slice(0, maxKinds),
    degradedCount: kinds.reduce((sum, { open }) => sum + open, 0),
    dependencies: states,
  };
}

async function extractionNow({ extraction, activity, clock }: ServerDeps) {
  const [running, [last], sources] = await Promise.all([
    extraction.runs.list({ states: ['running', 'queued'], limit: 20 }),
    extraction.runs.list({ states: ['completed', 'incomplete', 'failed', 'interrupted'], limit: 1 }),
    extraction.sources.list(),
  ]);
  const limitOf = (source: ExtractionSource | undefined) =>
    source ? extraction.callsPerMinuteOf(source) : null;
  return {
    sources: sources.length,
    callsPerMinuteLimit: sources.reduce((sum, source) => sum + extraction.callsPerMinuteOf(source), 0),
    running: running.map((run) => ({
      ...run,
      items: itemsOfRun(run),
      total: run.types.length === 0 ? null : totalOfRun(run),
      callsLastMinute: callsOfLastMinute(run, activity.run(run.id), clock.now()),
      callsPerMinuteLimit: limitOf(sources.find(({ name }) => name === run.source)),
    })),
    lastFinished: last ? { ...last, items: itemsOfRun(last) } : null,
  };
}

async function gatewayNow({ gateway }: ServerDeps) {
  const models = await gateway.models.list({
    activeOnly: true,
    availableOnly: false,
    configuredOnly: false,
    includeRecent: false,
    windowDays: 7,
  });
  const configured = models.filter(({ isConfigured }) => isConfigured);
  const cooling = configured
    .filter(({ availableAt }) => availableAt !== null)
    .toSorted((a, b) => Number(a.availableAt) - Number(b.availableAt));
  return {
    ...gateway.load(),
    requestsPerMinuteLimit: requestsPerMinute(configured),
    available: configured.length - cooling.length,
    cooling: cooling.map((model) => ({ ...model, cause: model.cooldowns[0]?.cause ?? null })),
    withoutKey: models.length - configured.length,
  };
}

/** A quota applies to each key. Null when a model has none: nothing known bounds the sum. */
const requestsPerMinute = (models: readonly ModelView[]): number | null =>
  models.reduce<number | null>(
    (sum, { quotas: { requestsPerMinute: quota }, keyCount }) => {
      if (sum === null || quota === undefined) return null;
      return sum + quota * Math.max(1, keyCount);
    },
    models.length === 0 ? null : 0,
  );

const jobCount = (counts: Counts, prefix: string, inState: string): number =>
  counts
    .filter(({ name, state }) => name.startsWith(prefix) && state === inState)
    .reduce((sum, { count }) => sum + count, 0);

/** As far as this server has seen the run; null when it has not. */
function callsOfLastMinute(
  { calls, startedAt }: ExtractionRun,
  samples: readonly RunSample[],
  now: number,
): number | null {
  if (startedAt !== null && startedAt.getTime() > now - minuteMs) return calls;
  const last = samples.at(-1);
  if (last === undefined) return null;
  const before = samples.findLast(({ at }) => at <= now - minuteMs) ?? samples[0];
  // A resumed run continues its count, from more than 0, or starts again.
  return Math.max(0, last.calls - (before?.calls ?? 0));
}
