// The way of the data now: every gate with its rate, its limit, its queue, and what is degraded.
import type { ExtractionRun, ExtractionSource } from '../../extraction/index.ts';
import { itemsOfRun, totalOfRun } from '../../extraction/index.ts';
import type { ModelView } from '../../gateway/index.ts';
import type { RunSample } from '../../operations/index.ts';
import { executionJobName } from '../../tenancy/index.ts';
import type { HttpDependencies } from '../ports.ts';
import { isoOrNull } from '../schemas/fields.ts';
import { viewOfCounts, viewOfMinute } from '../schemas/overview.ts';

type Counts = Awaited<ReturnType<HttpDependencies['jobs']['counts']>>;
type Kinds = Awaited<ReturnType<HttpDependencies['ledger']['counts']>>;

const mostKinds = 20;
const minuteMs = 60_000;

export async function flowNow(dependencies: HttpDependencies) {
  const { tenants, activity } = dependencies;
  const [extraction, gateway, { globalUsed }, kinds, counts, readiness] = await Promise.all([
    extractionNow(dependencies),
    gatewayNow(dependencies),
    tenants.limits.overview([]),
    dependencies.ledger.counts(),
    dependencies.jobs.counts(),
    dependencies.readiness(),
  ]);
  return {
    counted_since: new Date(activity.since).toISOString(),
    last_minute: viewOfCounts(activity.lastMinute()),
    minutes: activity.minutes().map(viewOfMinute),
    extraction,
    knowledge: {
      jobs_waiting: jobCount(counts, 'knowledge.', 'queued'),
      jobs_running: jobCount(counts, 'knowledge.', 'running'),
    },
    gateway,
    admission: {
      global_used: globalUsed,
      global_limit: tenants.limits.globalLimit,
      organizations: tenants.organizations.list().length,
      waiting: tenants.queued(),
    },
    executions: {
      queued: jobCount(counts, executionJobName, 'queued'),
      executing: jobCount(counts, executionJobName, 'running'),
    },
    degraded: degradedKinds(kinds),
    degraded_count: kinds.reduce((sum, { open }) => sum + open, 0),
    dependencies: readiness.dependencies.map(({ name, state, detail }) => ({ name, state, detail })),
  };
}

async function extractionNow({ extraction, activity, clock }: HttpDependencies) {
  const [running, [last], sources] = await Promise.all([
    extraction.runs.list({ states: ['running', 'queued'], limit: 20 }),
    extraction.runs.list({ states: ['completed', 'incomplete', 'failed', 'interrupted'], limit: 1 }),
    extraction.sources.list(),
  ]);
  const limitOf = (source: ExtractionSource | undefined) =>
    source ? extraction.callsPerMinuteOf(source) : null;
  return {
    sources: sources.length,
    calls_per_minute_limit: sources.reduce((sum, source) => sum + extraction.callsPerMinuteOf(source), 0),
    running: running.map((run) => ({
      run_id: run.id,
      source: run.source,
      state: run.state,
      items: itemsOfRun(run),
      total: run.types.length === 0 ? null : totalOfRun(run),
      items_per_second: run.itemsPerSecond,
      calls_last_minute: callsOfLastMinute(run, activity.run(run.id), clock.now()),
      calls_per_minute_limit: limitOf(sources.find(({ name }) => name === run.source)),
      multiplier: run.multiplier,
      refusals: run.rateLimitedCalls,
    })),
    last_finished: last
      ? {
          run_id: last.id,
          source: last.source,
          state: last.state,
          items: itemsOfRun(last),
          finished_at: isoOrNull(last.finishedAt),
        }
      : null,
  };
}

async function gatewayNow({ gateway }: HttpDependencies) {
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
  const { unanswered, waiting } = gateway.load();
  return {
    unanswered,
    waiting,
    requests_per_minute_limit: requestsPerMinute(configured),
    available: configured.length - cooling.length,
    cooling: cooling.map(({ id, name, availableAt, cooldowns }) => ({
      id,
      name,
      available_at: isoOrNull(availableAt),
      cause: cooldowns[0]?.cause ?? null,
    })),
    without_key: models.length - configured.length,
  };
}

/** A quota holds for each key. Null when there is a model without one: nothing that we know of bounds the sum. */
const requestsPerMinute = (models: readonly ModelView[]): number | null =>
  models.reduce<number | null>(
    (sum, { quotas: { requestsPerMinute: quota }, keyCount }) => {
      if (sum === null || quota === undefined) return null;
      return sum + quota * Math.max(1, keyCount);
    },
    models.length === 0 ? null : 0,
  );

/** Kinds that have open rows, the most first. */
const degradedKinds = (kinds: Kinds) =>
  kinds
    .filter(({ open }) => open > 0)
    .toSorted((a, b) => b.open - a.open)
    .slice(0, mostKinds)
    .map(({ kind, open }) => ({ kind, open }));

const jobCount = (counts: Counts, prefix: string, wanted: string): number =>
  counts
    .filter(({ name, state }) => name.startsWith(prefix) && state === wanted)
    .reduce((sum, { count }) => sum + count, 0);

/** As far as this server has seen it; null when it has not. */
function callsOfLastMinute(
  { calls, startedAt }: ExtractionRun,
  samples: readonly RunSample[],
  now: number,
): number | null {
  if (startedAt !== null && startedAt.getTime() > now - minuteMs) return calls;
  const last = samples.at(-1);
  if (last === undefined) return null;
  const before = samples.findLast(({ at }) => at <= now - minuteMs) ?? samples[0];
  // A resumed run counts its calls on, from more than 0; or anew.
  return Math.max(0, last.calls - (before?.calls ?? 0));
}
