// Handlers of the dashboard: logins, its page and files, and the data of its overview pages.
import { promisify } from 'node:util';
import { gzip as gzipCallback } from 'node:zlib';
import { alertsApi } from '../../api/limits.ts';
import { dashboardApi, overviewApi } from '../../api/overview.ts';
import { CoreError } from '../../core/index.ts';
import type { ExtractionRun, ExtractionSource } from '../../extraction/index.ts';
import { itemsOfRun, totalOfRun } from '../../extraction/index.ts';
import type { ModelView } from '../../gateway/index.ts';
import type { DashboardAsset, RunSample } from '../../operations/index.ts';
import { executionJobName } from '../../tenancy/index.ts';
import { setSessionCookie } from '../access.ts';
import type { ServerDeps } from '../deps.ts';
import type { TypedServer } from '../implement.ts';
import { implement } from '../implement.ts';
import { limitView } from './tenancy.ts';

const gzip = promisify(gzipCallback);

export function dashboardRoutes(server: TypedServer, dependencies: ServerDeps): void {
  const { dashboard, access } = dependencies;
  implement(server, dashboardApi, {
    createLoginLink: async () => {
      const { token, expiresAt } = await dashboard.logins.create();
      // Behind #: browsers do not send that to servers, so it appears in no log.
      return { path: `/dashboard/login#${token}`, expiresAt };
    },
    logIn: async ({ body: { token }, request, reply }) => {
      if (!access.isAdminToken(token) && !(await dashboard.logins.use(token)))
        throw new CoreError(
          'UNAUTHENTICATED',
          'Login failed: this is neither the token of a valid login link (each works once, for ten ' +
            'minutes) nor the admin token. Get a new link with "headworks dashboard", or use the admin token.',
        );
      const session = access.sessions.issue();
      setSessionCookie(request, reply, session);
      return { expiresAt: session.expiresAt };
    },
    logOut: async ({ request, reply }) => {
      setSessionCookie(request, reply, null);
      return { expiresAt: null };
    },
  });
  implement(server, overviewApi, {
    getOrganizations: ({ query }) => organizationsNow(dependencies, query.name ?? ''),
    getFlow: () => flowNow(dependencies),
  });
  implement(server, alertsApi, { list: async () => ({ alerts: await dependencies.alerts() }) });
  fileRoutes(server, dependencies);
}

/** Cached forever: the name changes with the content. */
const unchanging = 'public, max-age=31536000, immutable';

function fileRoutes(server: TypedServer, { dashboard, ids }: ServerDeps): void {
  const config = { access: 'public' } as const;
  const schema = { hide: true } as const;
  const { files } = dashboard;
  const packed = new Map<string, Promise<Buffer>>();

  server.get('/', { config, schema }, async (_request, reply) => reply.redirect('/dashboard/'));
  server.get('/dashboard', { config, schema }, async (_request, reply) => reply.redirect('/dashboard/'));
  server.get('/dashboard/*', { config, schema }, async (request, reply) => {
    const path = (request.params as { '*': string })['*'];
    const asset = files?.assets.get(path);
    if (asset) {
      reply.header('cache-control', unchanging).header('content-security-policy', policyOfFiles);
      reply.type(asset.type);
      if (!/\bgzip\b/.test(request.headers['accept-encoding'] ?? '')) return reply.send(await asset.read());
      reply.headers({ 'content-encoding': 'gzip', vary: 'accept-encoding' });
      return reply.send(await gzipped(packed, path, asset));
    }
    if (path.startsWith('assets/')) throw new CoreError('NOT_FOUND', 'The dashboard has no such file.');
    const nonce = ids.token(16);
    reply.header('content-security-policy', policy(nonce)).type('text/html; charset=utf-8');
    return reply.send((files?.page ?? notBuilt).replaceAll('%NONCE%', nonce));
  });
}

/** Compressed on the first request and kept: a third of the files' size, and only what a browser has loaded. */
async function gzipped(
  packed: Map<string, Promise<Buffer>>,
  path: string,
  asset: DashboardAsset,
): Promise<Buffer> {
  const known = packed.get(path) ?? asset.read().then((body) => gzip(body));
  packed.set(path, known);
  known.catch(() => packed.delete(path));
  return known;
}

/** Nothing of other origins, no inline scripts; the nonce is for the styles that the page creates. */
const policy = (nonce: string): string =>
  `default-src 'none'; script-src 'self'; style-src 'self' 'nonce-${nonce}'; img-src 'self' data:; font-src 'self'; ` +
  "connect-src 'self'; worker-src 'self' blob:; frame-ancestors 'none'; base-uri 'none'; form-action 'self'";

/** A worker has the policy of its own file: it may call this server, as the page may. */
const policyOfFiles = "default-src 'none'; connect-src 'self'; frame-ancestors 'none'";

const notBuilt = `<!doctype html><html lang="en"><title>Headworks</title>
<h1>The dashboard is not built</h1>
<p>This server runs from a checkout whose dashboard was never built. Run <code>npm run build:web</code> there and start
the server again. The API works without it: <a href="/docs">its documentation</a>.</p></html>`;

/* ---- overview pages ---- */

type Counts = Awaited<ReturnType<ServerDeps['jobs']['counts']>>;

const maxOrganizations = 200;
const maxKinds = 20;
const minuteMs = 60_000;

async function organizationsNow({ tenants, activity }: ServerDeps, part: string) {
  const { limits, organizations } = tenants;
  const active = new Map(activity.tenants().map((each) => [each.organizationId, each]));
  const all = organizations.list();
  const rejectedOf = (id: string) => active.get(id)?.rejected ?? 0;
  const shown = all
    .filter(({ name }) => name.toLowerCase().includes(part.toLowerCase()))
    .toSorted((a, b) => rejectedOf(b.id) - rejectedOf(a.id) || a.name.localeCompare(b.name))
    .slice(0, maxOrganizations);
  const names = new Map(shown.map(({ id, name }) => [id, name]));
  const { globalUsed, limits: found } = await limits.overview([...names.keys()]);
  return {
    countedSince: new Date(activity.since),
    defaultLimit: limits.defaultLimit,
    globalLimit: limits.globalLimit,
    globalUsed,
    queued: tenants.queued(),
    organizations: found.map((each) => {
      const {
        admitted = 0,
        rejected = 0,
        ended = 0,
        averageHoldMs = null,
        longestHoldMs = null,
      } = active.get(each.organizationId) ?? {};
      const limit = limitView(each, names.get(each.organizationId) ?? each.organizationId);
      return { limit, admitted, rejected, ended, averageHoldMs, longestHoldMs };
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
      jobsQueued: jobCount(counts, 'knowledge.', 'queued'),
      jobsRunning: jobCount(counts, 'knowledge.', 'running'),
    },
    gateway,
    admission: {
      globalUsed,
      globalLimit: tenants.limits.globalLimit,
      organizations: tenants.organizations.list().length,
      queued: tenants.queued(),
    },
    executions: {
      queued: jobCount(counts, executionJobName, 'queued'),
      running: jobCount(counts, executionJobName, 'running'),
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
  const failing = configured.filter(({ state }) => state === 'failing');
  const coolingDown = configured
    .filter(({ availableAt }) => availableAt !== null)
    .toSorted((a, b) => Number(a.availableAt) - Number(b.availableAt));
  return {
    ...gateway.load(),
    requestsPerMinuteLimit: requestsPerMinute(configured),
    available: configured.length - coolingDown.length - failing.length,
    failing: failing.map(({ id, name, health }) => ({ id, name, ...health })),
    coolingDown: coolingDown.map((model) => ({ ...model, cause: model.cooldowns[0]?.cause ?? null })),
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

/** Calls of the last minute, as far as this server observed the run; null when it did not. */
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
