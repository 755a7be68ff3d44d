// Steps: create two organizations with keys, limits and deployments, and send more requests than their limits allow.
import type { DemoContext, Step } from './step.ts';
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
    for (const [index, request] of sequentialRequests.entries()) {
      await send(context, request, `demo-turn-${index}`);
      await idle(context);
    }
    // New keys for every burst: replayed responses of an interrupted one would take no slot.
    const burst = `demo-burst-${context.clock.now()}`;
    const responses = await Promise.all(
      burstRequests.map((request, index) => send(context, request, `${burst}-${index}`)),
    );
    await idle(context);
    return tenants.map((tenant) => summaryOf(tenant, responses)).join(' ');
  },
};

interface TenantResponse {
  readonly tenant: Tenant;
  readonly status: number;
  /** The message of an error. */
  readonly detail: string;
}

function summaryOf({ name }: Tenant, responses: readonly TenantResponse[]): string {
  const own = responses.filter(({ tenant }) => tenant.name === name);
  const rejected = own.filter(({ status }) => status === 429);
  return `${name}: ${own.length} at once, ${own.length - rejected.length} admitted, ${rejected.length} rejected with 429. ${rejected[0]?.detail ?? ''}`.trim();
}

const maxResponseBytes = 10_000_000;

/** Calls a deployment with the key of its organization. A repeated idempotency key returns the same execution. */
async function send(
  { url, transport, keys, signal }: DemoContext,
  { tenant, deployment, body }: DemoRequest,
  idempotencyKey: string,
): Promise<TenantResponse> {
  const response = await transport.request({
    method: 'POST',
    url: `${url}/deployment/api/${tenant.name}/${deployment}`,
    headers: {
      authorization: `Bearer ${keys.get(tenant.name) ?? ''}`,
      'content-type': 'application/json',
      'idempotency-key': idempotencyKey,
    },
    body: JSON.stringify(body),
    signal,
  });
  const { errors } = JSON.parse(Buffer.from(await response.bytes(maxResponseBytes)).toString()) as {
    readonly errors?: readonly { readonly detail?: string }[];
  };
  return { tenant, status: response.status, detail: errors?.[0]?.detail ?? '' };
}

/** Waits until no execution is running, so that every slot is free. */
async function idle(context: DemoContext): Promise<void> {
  await until(context, async () => {
    const query = { state: 'queued,running', limit: 100 };
    const { executions } = await context.api('GET /api/v1/executions', { query });
    context.show({ done: 0, total: null, message: `${executions.length} running` });
    return executions.length === 0;
  });
}

async function publish(context: DemoContext, { name, limit, deployments }: Tenant): Promise<void> {
  const { api } = context;
  const params = { organization: name };
  const { organizations } = await api('GET /api/v1/organizations');
  if (!organizations.some((each) => each.name === name))
    await api('POST /api/v1/organizations', { body: { name } });
  await api('PUT /api/v1/limits/:organization', { params, body: { limit } });
  if (!context.keys.has(name)) await createKey(context, name);
  const known = await api('GET /api/v1/deployments', { query: { organization: name } });
  for (const deployment of deployments)
    if (!known.deployments.some((each) => each.name === deployment.name))
      await api('POST /api/v1/deployments', { body: { organization: name, ...deployment } });
}

const keyName = 'demo';

/** Revokes a key that was created but not saved because the demo was interrupted in between. */
async function createKey({ api, keep }: DemoContext, organization: string): Promise<void> {
  const params = { organization };
  const { keys } = await api('GET /api/v1/organizations/:organization/keys', { params });
  for (const { id, name, revoked_at: revokedAt } of keys)
    if (name === keyName && revokedAt === null)
      await api('DELETE /api/v1/organizations/:organization/keys/:id', { params: { organization, id } });
  const body = { name: keyName };
  const { key } = await api('POST /api/v1/organizations/:organization/keys', { params, body });
  await keep(organization, key);
}

interface Tenant {
  readonly name: string;
  readonly limit: number;
  readonly deployments: readonly {
    readonly name: string;
    readonly workflow: 'prompt' | 'ingest' | 'search';
    readonly options: Readonly<Record<string, unknown>>;
  }[];
}

const summary: Tenant['deployments'][number] = {
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
    // A deployment with a model that no longer exists: a warning at creation, an error with every request.
    {
      name: 'translate',
      workflow: 'prompt',
      options: { template: 'Translate into German: {{text}}', model: 'lingua/retired' },
    },
  ],
};

/** The stores, with documents of their own that no other organization can find. */
const acmeStores: Tenant = {
  name: 'acme-stores',
  limit: 4,
  deployments: [
    summary,
    { name: 'file', workflow: 'ingest', options: {} },
    { name: 'ask', workflow: 'search', options: { graph_expand: true } },
  ],
};

const tenants: readonly Tenant[] = [brightline, acmeStores];

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
const sequentialRequests: readonly DemoRequest[] = [
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
const burstRequests: readonly DemoRequest[] = [...burst(brightline, 5), ...burst(acmeStores, 6)];
