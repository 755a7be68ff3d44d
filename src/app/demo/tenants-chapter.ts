// Two organizations get keys, limits and deployments, and send more than they may.
import type { Executions } from '../../api/executions.ts';
import type { Deployments } from '../../api/deployments.ts';
import type { NewOrganizationKey, OrganizationKeys, Organizations } from '../../api/organizations.ts';
import type { Chapter, Stage } from './chapter.ts';
import { until } from './chapter.ts';
import type { DoorAnswer } from './door.ts';
import { knock } from './door.ts';
import type { Tenant } from './tenants.ts';
import { atOnce, inTurn, tenants } from './tenants.ts';

export const tenantsChapter: Chapter = {
  name: 'tenants',
  title: 'Publishing workflows to two organizations',
  run: async (stage) => {
    for (const tenant of tenants) await publish(stage, tenant);
    const deployments = tenants.flatMap((tenant) => tenant.deployments).length;
    const limits = tenants.map(({ name, limit }) => `${name} may have ${limit} requests under way`);
    return `${deployments} deployments; ${limits.join(', ')}.`;
  },
};

export const executionsChapter: Chapter = {
  name: 'executions',
  title: 'Sending more requests than the organizations may',
  run: async (stage) => {
    const send = sender(stage);
    for (const [index, sent] of inTurn.entries()) {
      await send(sent, `demo-turn-${index}`);
      await idle(stage);
    }
    // Each time anew: answers of a burst that was interrupted would take no slot, and tell of no limit.
    const burst = `demo-burst-${stage.clock.now()}`;
    const answers = await Promise.all(atOnce.map((sent, index) => send(sent, `${burst}-${index}`)));
    await idle(stage);
    return tenants.map((tenant) => told(tenant, answers)).join(' ');
  },
};

type Sent = (typeof atOnce)[number];
type Answered = DoorAnswer & { readonly tenant: Tenant };

function told({ name }: Tenant, answers: readonly Answered[]): string {
  const own = answers.filter(({ tenant }) => tenant.name === name);
  const refused = own.filter(({ status }) => status === 429);
  const why = refused[0]?.detail ?? '';
  return `${name}: ${own.length} at once, ${own.length - refused.length} admitted, ${refused.length} refused with 429. ${why}`.trim();
}

function sender({ client, transport, keys, signal }: Stage) {
  return async ({ tenant, deployment, body }: Sent, idempotencyKey: string): Promise<Answered> => {
    const key = keys.get(tenant.name) ?? '';
    const call = { url: client.url, key, deployment: `${tenant.name}/${deployment}`, body, idempotencyKey };
    return { tenant, ...(await knock(transport, call, signal)) };
  };
}

/** Until no execution is under way: the next ones find every slot free. */
async function idle(stage: Stage): Promise<void> {
  const { client, signal } = stage;
  await until(stage, async () => {
    const query = { status: 'queued,executing', limit: 100 };
    const { executions } = await client.call<Executions>('GET', '/api/v1/executions', {
      query,
      signal,
    });
    stage.show({ done: 0, total: null, message: `${executions.length} under way` });
    return executions.length === 0;
  });
}

async function publish(stage: Stage, { name, limit, deployments }: Tenant): Promise<void> {
  const { client, signal } = stage;
  const { organizations } = await client.call<Organizations>('GET', '/api/v1/organizations', {
    signal,
  });
  if (!organizations.some((each) => each.name === name))
    await client.call('POST', '/api/v1/organizations', { body: { name }, signal });
  await client.call('PUT', `/api/v1/limits/${name}`, { body: { limit }, signal });
  if (!stage.keys.has(name)) await makeKey(stage, name);
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

/** One that was made and not kept, because the demo was interrupted in between, is of no use to anybody. */
async function makeKey({ client, signal, keep }: Stage, organization: string): Promise<void> {
  const path = `/api/v1/organizations/${organization}/keys`;
  const { keys } = await client.call<OrganizationKeys>('GET', path, { signal });
  for (const { id, name, revoked_at: revokedAt } of keys)
    if (name === keyName && revokedAt === null) await client.call('DELETE', `${path}/${id}`, { signal });
  const made = await client.call<NewOrganizationKey>('POST', path, { body: { name: keyName }, signal });
  await keep(organization, made.key);
}
