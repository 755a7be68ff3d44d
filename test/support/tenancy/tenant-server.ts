// Complete servers with an organization, its key, and a deployment whose model the test controls.
import { expect } from 'vitest';
import type { RunningServer } from '../../../src/app/index.ts';
import { startServer } from '../../../src/app/start.ts';
import type { Config } from '../../../src/config/index.ts';
import type { ModelsSimulator } from '../../../src/simulators/models/simulator.ts';
import { readScenario } from '../../../src/simulators/models/scenario.ts';
import { startModelsSimulator } from '../../../src/simulators/models/simulator.ts';
import type { TenantResponse } from './tenant-api-world.ts';
import { databaseUrl, redisUrl, uniqueName } from '../services.ts';
import { callAsAdmin } from '../test-server.ts';

/** Three models that differ in how long they take: `quick` responds at once, `soon` after a second, `never` not at all. */
export async function simulatedModels(): Promise<ModelsSimulator> {
  const provider = (name: string, latencyMs: number) => ({
    name,
    latency_ms: latencyMs,
    models: [{ name, completion: 'Yes.' }],
  });
  return startModelsSimulator({
    scenario: readScenario({
      providers: [provider('quick', 0), provider('soon', 1_000), provider('never', 3_600_000)],
    }),
  });
}

/** Stores of both kinds, as the environment of a server; each call returns new ones. */
export const storeKinds: readonly (readonly [name: string, env: () => Readonly<Record<string, string>>])[] = [
  ['embedded, slots in the process', () => ({})],
  [
    'Postgres and Redis',
    () => ({
      DATABASE_URL: databaseUrl(),
      HEADWORKS_DATABASE_SCHEMA: uniqueName('tenants'),
      REDIS_URL: redisUrl(),
      HEADWORKS_REDIS_KEY_PREFIX: `${uniqueName('tenants')}:`,
    }),
  ],
];

/** The caller stops it. */
export function startTenantServer(config: Config): Promise<RunningServer> {
  return startServer(config, { role: 'serve', env: modelKeys });
}

export const modelKeys = { MODEL_API_KEY: 'sk-model' } as const;

/** For `resolveConfig` or a process: drains at once, since some models never respond. */
export const drainAtOnce = { HEADWORKS_JOBS_DRAIN_SECONDS: '0' } as const;

/** What the admin API needs of a server, wherever it runs. */
export type AdminAccess = Pick<RunningServer, 'url' | 'adminToken'>;

export interface Tenant {
  readonly organizationId: string;
  readonly key: string;
  readonly path: string;
}

/** Once per server: the models that deployments use. */
export async function addModels(server: AdminAccess, simulator: ModelsSimulator): Promise<void> {
  for (const name of ['quick', 'soon', 'never']) {
    const body = { name, base_url: simulator.baseUrl(name), env_var: 'MODEL_API_KEY' };
    expect(await callAsAdmin(server, 'POST', '/api/v1/models', body)).toMatchObject({ status: 201 });
  }
}

/** An organization of a fresh name with a key, and the deployment `ask` of this model. */
export async function addTenant(
  server: AdminAccess,
  model: 'quick' | 'soon' | 'never',
  change: Readonly<Record<string, unknown>> = {},
): Promise<Tenant> {
  const name = uniqueName('acme');
  const made = async (path: string, body: unknown): Promise<Record<string, string>> => {
    const answer = await callAsAdmin(server, 'POST', path, body);
    expect(answer).toMatchObject({ status: 201 });
    return answer.body;
  };
  const { id = '' } = await made('/api/v1/organizations', { name });
  const { key = '' } = await made(`/api/v1/organizations/${id}/keys`, { name: 'test' });
  await made('/api/v1/deployments', {
    organization: id,
    name: 'ask',
    workflow: 'prompt',
    options: { template: 'Is {{what}} so?', model },
    ...change,
  });
  return { organizationId: id, key, path: `/deployment/api/${name}/ask` };
}

export async function callDeployment(
  { url }: Pick<RunningServer, 'url'>,
  { key, path }: Tenant,
  { method = 'POST', query = '', body = { what: 'it' }, signal }: DeploymentCall = {},
): Promise<TenantResponse> {
  const answer = await fetch(url + path + query, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      ...(method === 'POST' ? { 'content-type': 'application/json' } : {}),
    },
    ...(method === 'POST' ? { body: JSON.stringify(body) } : {}),
    ...(signal ? { signal } : {}),
  });
  return {
    status: answer.status,
    headers: answer.headers,
    body: (await answer.json()) as TenantResponse['body'],
  };
}

export interface DeploymentCall {
  readonly method?: string;
  readonly query?: string;
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

/** Slots that the organization and all together hold, as `headworks limits get` shows them. */
export async function usageOf(
  server: AdminAccess,
  { organizationId }: Tenant,
): Promise<readonly [organization: number, global: number]> {
  const { body } = await callAsAdmin(server, 'GET', `/api/v1/limits/${organizationId}`);
  const { usage } = body as { usage: { organization: number; global: number } };
  return [usage.organization, usage.global];
}
