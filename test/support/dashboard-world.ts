// A complete server with data on every page of the dashboard, created through its API and the simulators.
import type { ApiResponse } from '../../src/api/client.ts';
import type { ExtractionRun } from '../../src/api/extraction.ts';
import type { Model } from '../../src/api/models.ts';
import type { LedgerPage } from '../../src/api/ledger.ts';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import type { RunningServer } from '../../src/app/index.ts';
import { startServer } from '../../src/app/start.ts';
import { resolveConfig } from '../../src/config/index.ts';
import type { LookerSimulator } from '../../src/simulators/looker/server.ts';
import { startLookerSimulator } from '../../src/simulators/looker/server.ts';
import type { ModelsSimulator } from '../../src/simulators/models/simulator.ts';
import { readScenario } from '../../src/simulators/models/scenario.ts';
import { startModelsSimulator } from '../../src/simulators/models/simulator.ts';
import { databaseUrl, uniqueName } from './services.ts';
import { callDeployment, type Tenant } from './tenancy/tenant-server.ts';
import { callAsAdmin } from './test-server.ts';

export const polling = { timeout: 60_000, interval: 50 };

export interface DashboardWorld {
  /** The folder that contains its data folder, `.headworks`. */
  readonly folder: string;
  readonly server: RunningServer;
  readonly looker: LookerSimulator;
  readonly models: ModelsSimulator;
  /** The registered source `acme`. */
  readonly source: string;
  /** Its first and last run: in between a user was deleted, and another changed; one look always fails. */
  readonly runs: readonly [ExtractionRun, ExtractionRun];
  /** Limit 2, with two executions that never end. */
  readonly busy: Tenant;
  /** Default limit, with one completed execution. */
  readonly quiet: Tenant;
  /** The parsed response of the API. */
  read<T>(path: string): Promise<T>;
  /** The same, for a change. */
  send<T>(method: string, path: string, body?: unknown): Promise<T>;
  model(name: string): Promise<Model>;
  /** Starts a run of the source; its id. */
  startRun(): Promise<string>;
  runEnded(id: string): Promise<ExtractionRun>;
  /** Sends requests that are rejected for lack of a slot. */
  refuse(count: number): Promise<void>;
  stop(): Promise<void>;
}

const credentials = { clientId: 'looker-id', clientSecret: 'looker-secret' };
const env = {
  MODEL_API_KEY: 'sk-model',
  WORLD_LOOKER_ID: credentials.clientId,
  WORLD_LOOKER_SECRET: credentials.clientSecret,
};

/** `swift` and `steady` respond, `limited` is cooling down, `barred` and `locked` reject their key once, `never` takes an hour. */
async function startModels(): Promise<ModelsSimulator> {
  const provider = (name: string, model: object = {}, latencyMs = 0) => ({
    name,
    latency_ms: latencyMs,
    models: [{ name, completion: 'Yes.', ...model }],
  });
  const limit = { fault: '429', hint: 'retry-after', seconds: 900, probability: 1 };
  return startModelsSimulator({
    scenario: readScenario({
      providers: [
        provider('swift'),
        provider('steady'),
        provider('limited', { faults: [limit] }),
        provider('barred', { script: [{ fault: '401' }] }),
        provider('locked', { script: [{ fault: '401' }] }),
        provider('never', {}, 3_600_000),
      ],
    }),
  });
}

/** The caller stops it. */
export async function startDashboardWorld(): Promise<DashboardWorld> {
  const folder = await mkdtemp(join(tmpdir(), 'headworks-test-'));
  const [looker, models] = await Promise.all([
    startLookerSimulator({
      ...credentials,
      items: { users: 60, dashboards: 5, looks: 4 },
      failures: [{ type: 'looks', id: '2' }],
    }),
    startModels(),
  ]);
  const settings = {
    DATABASE_URL: databaseUrl(),
    HEADWORKS_DATABASE_SCHEMA: uniqueName('app'),
    HEADWORKS_LOG_LEVEL: 'silent',
    HEADWORKS_PORT: '0',
    HEADWORKS_DRAIN_SECONDS: '0',
    HEADWORKS_JOBS_DRAIN_SECONDS: '0',
    RETRY_DELAY_SECONDS: '0.1',
    // Requests to `never` wait longer than any test takes.
    REQUEST_TIMEOUT_SECONDS: '600',
    HEADWORKS_GATEWAY_RESPONSE_TIMEOUT_SECONDS: '600',
    HEADWORKS_GATEWAY_FIRST_TOKEN_TIMEOUT_SECONDS: '600',
  };
  const server = await startServer(resolveConfig({ flags: {}, cwd: folder, env: settings }), {
    role: 'serve',
    env,
  });
  const world = worldOf(server, looker, models);
  return {
    folder,
    ...world,
    ...(await fill(world)),
    stop: async () => {
      await server.stop();
      await Promise.all([looker.stop(), models.stop()]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

type Bare = Omit<
  DashboardWorld,
  'folder' | 'source' | 'runs' | 'busy' | 'quiet' | 'startRun' | 'refuse' | 'stop'
>;

function worldOf(server: RunningServer, looker: LookerSimulator, models: ModelsSimulator): Bare {
  const send = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const answer = await callAsAdmin(server, method, `/api/v1${path}`, body);
    if (answer.status >= 400)
      throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const read = <T>(path: string): Promise<T> => send<T>('GET', path);
  return {
    server,
    looker,
    models,
    send,
    read,
    model: async (name) => {
      const all = await read<readonly Model[]>('/models?active_only=false');
      const found = all.find((model) => model.name === name);
      if (!found) throw new Error(`There is no model ${name}.`);
      return found;
    },
    runEnded: (id) =>
      vi.waitFor(async () => {
        const run = await read<ExtractionRun>(`/extraction/runs/${id}`);
        expect(['queued', 'running']).not.toContain(run.state);
        return run;
      }, polling),
  };
}

async function fill(world: Bare) {
  const { send } = world;
  for (const name of ['swift', 'steady', 'limited', 'barred', 'locked', 'never'])
    await send('POST', '/models', {
      name,
      base_url: world.models.baseUrl(name),
      env_var: 'MODEL_API_KEY',
    });
  const { id: source } = await send<{ id: string }>('POST', '/extraction/sources', {
    name: 'acme',
    kind: 'looker',
    settings: {
      base_url: world.looker.url,
      client_id_env: 'WORLD_LOOKER_ID',
      client_secret_env: 'WORLD_LOOKER_SECRET',
    },
    options: { types: ['users', 'dashboards', 'looks'], batch_size: 10, retries: 0 },
  });
  const startRun = async (): Promise<string> =>
    (
      await send<ApiResponse<'POST /api/v1/extraction/sources/:id/runs'>>(
        'POST',
        `/extraction/sources/${source}/runs`,
        {},
      )
    ).id;
  const [runs, tenants] = await Promise.all([
    twoRuns(world, startRun),
    twoTenants(world),
    someAttempts(world),
  ]);
  const refuse = async (count: number): Promise<void> => {
    const answers = await Promise.all(
      Array.from({ length: count }, () => callDeployment(world.server, tenants.busy)),
    );
    expect(answers.every(({ status }) => status === 429)).toBe(true);
  };
  await refuse(3);
  return { source, startRun, runs, ...tenants, refuse };
}

async function twoRuns(
  { looker, runEnded }: Bare,
  startRun: () => Promise<string>,
): Promise<readonly [ExtractionRun, ExtractionRun]> {
  const first = await runEnded(await startRun());
  looker.change({ type: 'users', delete: ['3'] });
  // Deleted is what two runs in a row did not see.
  await runEnded(await startRun());
  looker.change({ type: 'users', change: ['1'] });
  return [first, await runEnded(await startRun())];
}

async function twoTenants({ server, send, read }: Bare) {
  const tenant = async (name: string, model: string): Promise<Tenant> => {
    const { id } = await send<{ id: string }>('POST', '/organizations', { name });
    const { key } = await send<{ key: string }>('POST', `/organizations/${id}/keys`, { name: 'first' });
    await send('POST', '/deployments', {
      organization: id,
      name: 'ask',
      workflow: 'prompt',
      options: { template: 'Is {{what}} so?', model },
    });
    return { organizationId: id, key, path: `/deployment/api/${name}/ask` };
  };
  const busy = await tenant('busy', 'never');
  const quiet = await tenant('quiet', 'swift');
  await send('PUT', `/limits/${busy.organizationId}`, { limit: 2 });
  await Promise.all([callDeployment(server, busy), callDeployment(server, busy)]);
  await callDeployment(server, quiet, { query: '?timeout=60' });
  await vi.waitFor(async () => {
    const { usage } = await read<{ usage: { organization: number } }>(`/limits/${busy.organizationId}`);
    expect(usage.organization).toBe(2);
  }, polling);
  return { busy, quiet };
}

/** Two models respond, one is at its limit, two reject their keys: two rows in the ledger. */
async function someAttempts({ model, send, read }: Bare): Promise<void> {
  const ids = await Promise.all(
    ['swift', 'steady', 'limited', 'barred', 'locked'].map(async (name) => (await model(name)).id),
  );
  await send('POST', '/models/probe', { ids });
  await vi.waitFor(async () => expect((await read<LedgerPage>('/ledger')).entries).toHaveLength(2), polling);
}
