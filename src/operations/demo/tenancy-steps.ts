// Steps: create two organizations with keys, limits and deployments, and send more requests than their limits allow.
import type { Deployments } from '../../api/deployments.ts';
import type { Executions } from '../../api/executions.ts';
import type { NewOrganizationKey, OrganizationKeys, Organizations } from '../../api/organizations.ts';
import type { HttpTransport } from '../../core/index.ts';
import type { Step, DemoContext } from './step.ts';
import { until } from './step.ts';
import { slowModel } from './upstreams.ts';

export const tenantsStep: Step = {
  name: 'tenants',
  title: 'Publishing workflows to two organizations',
  run: async (context) => {
    for (const tenant of tenants) await publish(context, tenant);
    const deployments = tenants.flatMap((tenant) => tenant.deployments).length;
    const limits = tenants.map(({ name, limit }) => `limit of ${name}: ${limit} concurrent requests`);
    return `${deployments} deployments; ${limits.join(', ')}.`;
  },
};

export const executionsStep: Step = {
  name: 'executions',
  title: 'Sending more requests than the limits allow',
  run: async (context) => {
    const send = sender(context);
    for (const [index, request] of sequentialRequests.entries()) {
      await send(request, `demo-turn-${index}`);
      await idle(context);
    }
    // New keys for every burst: replayed responses of an interrupted one would take no slot.
    const burst = `demo-burst-${context.clock.now()}`;
    const responses = await Promise.all(
      burstRequests.map((request, index) => send(request, `${burst}-${index}`)),
    );
    await idle(context);
    return tenants.map((tenant) => summaryOf(tenant, responses)).join(' ');
  },
};

type TenantResponse = DeploymentResponse & { readonly tenant: Tenant };

function summaryOf({ name }: Tenant, responses: readonly TenantResponse[]): string {
  const own = responses.filter(({ tenant }) => tenant.name === name);
  const refused = own.filter(({ status }) => status === 429);
  const why = refused[0]?.detail ?? '';
  return `${name}: ${own.length} at once, ${own.length - refused.length} admitted, ${refused.length} rejected with 429. ${why}`.trim();
}

function sender({ client, transport, keys, signal }: DemoContext) {
  return async (
    { tenant, deployment, body }: DemoRequest,
    idempotencyKey: string,
  ): Promise<TenantResponse> => {
    const key = keys.get(tenant.name) ?? '';
    const call = { url: client.url, key, deployment: `${tenant.name}/${deployment}`, body, idempotencyKey };
    return { tenant, ...(await callDeployment(transport, call, signal)) };
  };
}

/** Waits until no execution is running, so that every slot is free. */
async function idle(context: DemoContext): Promise<void> {
  const { client, signal } = context;
  await until(context, async () => {
    const query = { status: 'queued,executing', limit: 100 };
    const { executions } = await client.call<Executions>('GET', '/api/v1/executions', {
      query,
      signal,
    });
    context.show({ done: 0, total: null, message: `${executions.length} running` });
    return executions.length === 0;
  });
}

async function publish(context: DemoContext, { name, limit, deployments }: Tenant): Promise<void> {
  const { client, signal } = context;
  const { organizations } = await client.call<Organizations>('GET', '/api/v1/organizations', {
    signal,
  });
  if (!organizations.some((each) => each.name === name))
    await client.call('POST', '/api/v1/organizations', { body: { name }, signal });
  await client.call('PUT', `/api/v1/limits/${name}`, { body: { limit }, signal });
  if (!context.keys.has(name)) await createKey(context, name);
  const query = { organization: name };
  const known = await client.call<Deployments>('GET', '/api/v1/deployments', { query, signal });
  for (const deployment of deployments)
    if (!known.deployments.some((each) => each.name === deployment.name))
      await client.call('POST', '/api/v1/deployments', {
        body: { organization: name, ...deployment },
        signal,
      });
}

const keyName = 'demo';

/** Revokes a key that was created but not saved because the demo was interrupted in between. */
async function createKey({ client, signal, keep }: DemoContext, organization: string): Promise<void> {
  const path = `/api/v1/organizations/${organization}/keys`;
  const { keys } = await client.call<OrganizationKeys>('GET', path, { signal });
  for (const { id, name, revoked_at: revokedAt } of keys)
    if (name === keyName && revokedAt === null) await client.call('DELETE', `${path}/${id}`, { signal });
  const created = await client.call<NewOrganizationKey>('POST', path, { body: { name: keyName }, signal });
  await keep(organization, created.key);
}

export interface Tenant {
  readonly name: string;
  readonly limit: number;
  readonly deployments: readonly {
    readonly name: string;
    readonly workflow: string;
    readonly options: Readonly<Record<string, unknown>>;
  }[];
}

const summary = {
  name: 'summarize',
  workflow: 'prompt',
  options: { template: 'Summarize for a store manager, in one sentence: {{text}}', model: slowModel },
};

/** An agency that sends all requests at once, with a limit of two. */
export const brightline: Tenant = {
  name: 'brightline',
  limit: 2,
  deployments: [
    summary,
    // With a model that no longer exists: a warning at creation, an error with every request.
    {
      name: 'translate',
      workflow: 'prompt',
      options: { template: 'Translate into German: {{text}}', model: 'lingua/retired' },
    },
  ],
};

/** The stores, with documents of their own that no other organization can find. */
export const acmeStores: Tenant = {
  name: 'acme-stores',
  limit: 4,
  deployments: [
    summary,
    { name: 'file', workflow: 'ingest', options: {} },
    { name: 'ask', workflow: 'search', options: { graph_expand: true } },
  ],
};

export const tenants: readonly Tenant[] = [brightline, acmeStores];

interface DemoRequest {
  readonly tenant: Tenant;
  readonly deployment: string;
  readonly body: Readonly<Record<string, unknown>>;
}

const storeNotes = [
  'Graz, 2026-11-13: Sam Okafor decided to open on Sundays in December. Two cashiers are missing.',
  'Basel, 2026-11-13: a customer returned a sofa after 60 days. Dana Whitfield will ask Finance whether it counts.',
  'Leeds, 2026-11-14: franchise partner; yesterday net sales were 18,240.50, returns 310.00.',
];

/** Sent one after the other. */
export const sequentialRequests: readonly DemoRequest[] = [
  ...storeNotes.map((text) => ({ tenant: acmeStores, deployment: 'file', body: { text } })),
  { tenant: acmeStores, deployment: 'ask', body: { query: 'Who opens on Sundays?' } },
  { tenant: brightline, deployment: 'translate', body: { text: 'Net revenue' } },
];

const burst = (tenant: Tenant, count: number): readonly DemoRequest[] =>
  Array.from({ length: count }, (_, index) => ({
    tenant,
    deployment: 'summarize',
    body: { text: `Store ${index + 1}: ${storeNotes[index % storeNotes.length] ?? ''}` },
  }));

/** Sent at once: more than either limit. */
export const burstRequests: readonly DemoRequest[] = [...burst(brightline, 5), ...burst(acmeStores, 6)];

export interface DeploymentResponse {
  readonly status: number;
  readonly executionId: string | null;
  /** The message of an error. */
  readonly detail: string | null;
}

export interface DeploymentCall {
  readonly url: string;
  readonly key: string;
  /** `ORGANIZATION/NAME` */
  readonly deployment: string;
  readonly body: Readonly<Record<string, unknown>>;
  /** A repeated key returns the same execution. */
  readonly idempotencyKey: string;
}

interface ResponseBody {
  readonly execution_id?: string;
  readonly errors?: readonly { readonly detail?: string }[];
}

const maxResponseBytes = 10_000_000;

/** Calls a deployment with an organization key. Resolves for any status; fails with an HttpFailure without a response. */
export async function callDeployment(
  transport: HttpTransport,
  { url, key, deployment, body, idempotencyKey }: DeploymentCall,
  signal: AbortSignal,
): Promise<DeploymentResponse> {
  const response = await transport.request({
    method: 'POST',
    url: `${url}/deployment/api/${deployment}`,
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'idempotency-key': idempotencyKey,
    },
    body: JSON.stringify(body),
    signal,
  });
  const parsed = JSON.parse(Buffer.from(await response.bytes(maxResponseBytes)).toString()) as ResponseBody;
  return {
    status: response.status,
    executionId: parsed.execution_id ?? null,
    detail: parsed.errors?.[0]?.detail ?? null,
  };
}
