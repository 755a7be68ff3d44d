// What a support engineer would ask first, answered with a remedy for everything that is not as it should be.
import { stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf, systemClock } from '../core/index.ts';
import type { Config } from '../config/index.ts';
import type { DoctorCheck, DoctorReport } from '../http/index.ts';
import type { Capability } from '../platform/postgres/index.ts';
import { sql } from '../platform/postgres/index.ts';
import type { Background } from './background.ts';
import { hearsItself, poolerRemedy } from './hears-itself.ts';
import { isLoopback } from './loopback.ts';
import type { Readiness } from './readiness.ts';
import type { Stores } from './stores.ts';
import { version } from './version.ts';

const gigabyte = 1024 ** 3;
const leastFreeBytes = gigabyte;
const largestClockSkewMs = 5_000;
/** A pending job that should have started so long ago says that nobody works on its kind. */
const longestWaitMs = 10 * 60_000;

export interface Patient {
  readonly config: Config;
  readonly stores: Stores;
  readonly background: Background;
  readonly readiness: Readiness;
}

/** Every check is made, whatever the others find; one that fails itself is a finding, not a crash. */
export async function examine(patient: Patient): Promise<DoctorReport> {
  const checks: [string, () => DoctorCheckResult | Promise<DoctorCheckResult>][] = [
    [
      'version',
      () => ok(`Headworks ${version} on Node ${process.versions.node}, ${process.platform} ${process.arch}.`),
    ],
    ['address', () => address(patient.config)],
    ['data folder', () => dataFolder(patient.config.data.folder)],
    ['admin token', () => adminToken(patient.config)],
    ...['state store', 'redis'].map(
      (name) =>
        [name, () => dependency(patient.readiness, name)] as const satisfies [
          string,
          () => Promise<DoctorCheckResult>,
        ],
    ),
    ['vector search', () => capability(patient.stores.database.capabilities.vector)],
    ['trigram search', () => capability(patient.stores.database.capabilities.trigram)],
    ['notifications', () => notifications(patient.stores)],
    ['clock', () => clock(patient.stores)],
    ['models', () => models(patient.background)],
    ['vectors', () => vectors(patient.background)],
    ['graph', () => graph(patient.background)],
    ['jobs', () => jobs(patient.background)],
    ['ledger', () => ledger(patient.background)],
    ['settings', () => settings(patient.config)],
  ];
  return {
    checks: await Promise.all(
      checks.map(async ([name, check]): Promise<DoctorCheck> => {
        try {
          return { name, ...(await check()) };
        } catch (error) {
          return {
            name,
            ...problem(`The check itself failed: ${messageOf(error)}`, 'See the check of the state store.'),
          };
        }
      }),
    ),
  };
}

type DoctorCheckResult = Omit<DoctorCheck, 'name'>;

const ok = (detail: string): DoctorCheckResult => ({ state: 'ok', detail, remedy: null });
const notConfigured = (detail: string, remedy: string | null): DoctorCheckResult => ({
  state: 'not-configured',
  detail,
  remedy,
});
const warning = (detail: string, remedy: string): DoctorCheckResult => ({ state: 'warning', detail, remedy });
const problem = (detail: string, remedy: string): DoctorCheckResult => ({ state: 'problem', detail, remedy });

function address({ server }: Config): DoctorCheckResult {
  if (isLoopback(server.host)) return ok(`Listens on ${server.host}: reachable from this machine only.`);
  return warning(
    `Listens on ${server.host}: reachable from other machines, without encryption.`,
    'Put a proxy with TLS in front of it, and set HEADWORKS_ALLOWED_HOSTS to the name it is called by.',
  );
}

async function dataFolder(folder: string): Promise<DoctorCheckResult> {
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  const detail = `${folder}, ${(free / gigabyte).toFixed(1)} GB free.`;
  return free >= leastFreeBytes ? ok(detail) : warning(detail, 'Make room: stores and vaults grow.');
}

async function adminToken({ server, data }: Config): Promise<DoctorCheckResult> {
  if (server.adminToken !== null) return ok('From the configuration.');
  const path = join(data.folder, 'admin-token');
  const { mode } = await stat(path);
  return (mode & 0o077) === 0
    ? ok(`In ${path}, readable by its owner only.`)
    : warning(`${path} can be read by others.`, `chmod 600 ${path}`);
}

async function dependency(readiness: Readiness, name: string): Promise<DoctorCheckResult> {
  const { dependencies } = await readiness.report();
  const found = dependencies.find((other) => other.name === name);
  const detail = found?.detail ?? '';
  if (found?.state === 'up') return ok(detail);
  if (found?.state === 'not-configured')
    return notConfigured(detail, 'Set REDIS_URL when several processes share limits.');
  return problem(detail, found?.remedy ?? '');
}

function capability(found: Capability): DoctorCheckResult {
  return found.available ? ok(`Version ${found.version}.`) : notConfigured(found.reason, found.remedy);
}

async function clock({ database }: Stores): Promise<DoctorCheckResult> {
  const before = systemClock.now();
  const { rows } = await database.query<{ now: Date }>(sql`select clock_timestamp() as now`);
  const skewMs = Math.abs((rows[0]?.now.getTime() ?? 0) - (before + systemClock.now()) / 2);
  const detail = `${Math.round(skewMs)} ms apart from the state store's.`;
  return skewMs <= largestClockSkewMs ? ok(detail) : warning(detail, 'Synchronise the clocks (NTP).');
}

async function notifications({ database }: Stores): Promise<DoctorCheckResult> {
  if (!database.capabilities.isShared) return ok('One process has this store: there is nobody to hear of.');
  if (await hearsItself(database)) return ok('What other processes change is heard of at once.');
  return problem(
    'What other processes change is not heard of: a connection pooler in transaction mode seems to be in between.',
    poolerRemedy,
  );
}

/** Models are optional: without one, what needs them falls back or says so. */
async function models({ gateway }: Background): Promise<DoctorCheckResult> {
  const able = await gateway.models.list({
    activeOnly: true,
    availableOnly: false,
    configuredOnly: true,
    includeRecent: false,
    windowDays: 7,
  });
  if (able.length === 0)
    return notConfigured(
      'No AI model has a key.',
      'Set a variable that "headworks models list --all" names, for example GROQ_API_KEY, where the server runs.',
    );
  const free = able.filter(({ availableAt }) => availableAt === null);
  // Whose keys they are: a variable may have been set for something else (GITHUB_TOKEN).
  const names = able
    .map(({ name, keySource }) => (keySource === null ? name : `${name} (${keySource})`))
    .join(', ');
  if (free.length > 0) return ok(`${free.length} of ${able.length} models can be asked now: ${names}.`);
  return warning(
    `All ${able.length} models are cooling down or out of quota: ${names}.`,
    'See why with "headworks models"; "headworks models warm MODEL" takes a cooldown back.',
  );
}

function vectors({ knowledge }: Background): DoctorCheckResult {
  const named = knowledge.embedders.problem();
  if (named) return problem(named.why, named.remedy);
  const state = knowledge.embedders.current();
  return state.state === 'ready'
    ? ok(`Made by ${state.embedder.model}.`)
    : notConfigured(`Nobody makes vectors; search goes by words. ${state.why}`, null);
}

async function graph({ knowledge }: Background): Promise<DoctorCheckResult> {
  const { backend, state, detail } = await knowledge.desks.graph.status();
  if (state === 'off') return notConfigured('The graph is switched off.', 'Set GRAPH_BACKEND to sql or age.');
  if (state === 'available') return ok(`In ${backend}.`);
  return problem(
    `The graph (${backend}) cannot be used now. ${detail ?? ''}`.trim(),
    'Search goes on without it; what would be written to it waits.',
  );
}

async function jobs({ jobs: queue }: Background): Promise<DoctorCheckResult> {
  const counts = await queue.counts();
  const total = (state: string) =>
    counts.filter((count) => count.state === state).reduce((sum, { count }) => sum + count, 0);
  const detail = `${total('pending')} pending, ${total('running')} running, ${total('failed')} failed.`;
  const overdue = (await queue.list({ states: ['pending'], limit: 100 })).filter(
    ({ startAfter, createdAt }) => systemClock.now() - (startAfter ?? createdAt).getTime() > longestWaitMs,
  );
  if (overdue.length > 0)
    return warning(
      `${detail} ${overdue.length} should have started long ago.`,
      'Start "headworks serve" or a worker.',
    );
  return total('failed') === 0
    ? ok(detail)
    : warning(detail, 'headworks jobs list --state failed, then headworks jobs retry ID.');
}

async function ledger({ ledgerStore, repairs }: Background): Promise<DoctorCheckResult> {
  const open = (await ledgerStore.counts()).filter((count) => count.open > 0);
  if (open.length === 0) return ok('Nothing is degraded.');
  const detail = open.map((count) => `${count.kind}: ${count.open}`).join(', ');
  const isRepairable = open.some(({ kind }) => repairs.get(kind) !== undefined);
  return warning(
    `Open: ${detail}.`,
    isRepairable ? 'headworks repair' : 'headworks ledger list shows each cause.',
  );
}

function settings({ resolution }: Config): DoctorCheckResult {
  if (resolution.warnings.length === 0)
    return ok(resolution.file ? `From ${resolution.file}.` : 'No settings file.');
  return warning(resolution.warnings.join(' '), 'headworks config shows where every value comes from.');
}
