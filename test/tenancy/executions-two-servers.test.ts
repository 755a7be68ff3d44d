// Several servers on one Postgres and one Redis: one limit, one truth about executions, canceled from anywhere.
import { expect, it, onTestFinished } from 'vitest';
import type { RunningServer } from '../../src/app/index.ts';
import type { Tenant } from '../support/tenancy/tenant-server.ts';
import {
  addModels,
  addTenant,
  callDeployment,
  drainAtOnce,
  storeKinds,
  simulatedModels,
  startTenantServer,
  usageOf,
} from '../support/tenancy/tenant-server.ts';
import { callAsAdmin, testConfig } from '../support/test-server.ts';

const slowly = { timeout: 60_000, interval: 50 };

/** What was added on one server is available on the other a moment later. */
async function isKnownTo(server: RunningServer, { organizationId, path, key }: Tenant): Promise<void> {
  const lists = `/api/v1/deployments?organization=${organizationId}`;
  await expect
    .poll(async () => (await callAsAdmin(server, 'GET', lists)).body, slowly)
    .toMatchObject({ deployments: [{}] });
  await expect
    .poll(
      async () => (await callDeployment(server, { organizationId, path, key }, { method: 'GET' })).status,
      slowly,
    )
    .toBe(400);
}

async function twoServers(): Promise<readonly [RunningServer, RunningServer]> {
  // Both servers and all callers are one process here, which can pause for longer than the timeout of Redis.
  const shared = {
    ...drainAtOnce,
    ...storeKinds[1]?.[1](),
    HEADWORKS_REDIS_COMMAND_TIMEOUT_MS: '5000',
  };
  const start = async (): Promise<RunningServer> => {
    const server = await startTenantServer(await testConfig(shared));
    onTestFinished(() => server.stop());
    return server;
  };
  return [await start(), await start()];
}

it('admits exactly the limit of a burst on both servers, and cancels and returns executions of the other', async () => {
  const simulator = await simulatedModels();
  onTestFinished(() => simulator.stop());
  const [one, two] = await twoServers();
  await addModels(one, simulator);
  const acme = await addTenant(one, 'never');
  await isKnownTo(two, acme);

  const burst = await Promise.all(
    Array.from({ length: 100 }, (_, index) => callDeployment(index % 2 === 0 ? one : two, acme)),
  );
  const admitted = burst.filter(({ status }) => status === 200);
  expect(admitted).toHaveLength(20);
  expect(burst.filter(({ status }) => status === 429)).toHaveLength(80);
  expect(await usageOf(one, acme)).toEqual([20, 20]);
  expect(await usageOf(two, acme)).toEqual([20, 20]);

  const waiting = admitted.slice(0, 2).map(({ body }) => body.execution_id);
  for (const { body } of admitted) {
    const query = `?execution_id=${body.execution_id}`;
    expect((await callDeployment(two, acme, { method: 'GET', query })).status).toBe(200);
  }
  for (const [index, { body }] of admitted.entries()) {
    const query = `?execution_id=${body.execution_id}`;
    const canceled = await callDeployment(index % 2 === 0 ? two : one, acme, { method: 'DELETE', query });
    expect([canceled.status, canceled.body.status]).toEqual([200, 'canceled']);
  }
  await expect.poll(() => usageOf(one, acme), slowly).toEqual([0, 0]);
  for (const id of waiting) {
    const query = `?execution_id=${id}`;
    expect((await callDeployment(one, acme, { method: 'GET', query })).body.status).toBe('canceled');
  }
  // Canceled ones stay canceled: no process renews their slots or runs them again.
  const { body } = await callAsAdmin(two, 'GET', '/api/v1/jobs/counts');
  const running = (body as { counts: { name: string; state: string; count: number }[] }).counts.filter(
    ({ name, state }) => name === 'deployments.execute' && (state === 'running' || state === 'queued'),
  );
  expect(running).toEqual([]);
});

it('notifies a request that waits on one server when the execution ends on the other', async () => {
  const simulator = await simulatedModels();
  onTestFinished(() => simulator.stop());
  const [one, two] = await twoServers();
  await addModels(one, simulator);
  const acme = await addTenant(one, 'never');
  await isKnownTo(two, acme);
  const waiting = callDeployment(one, acme, { query: '?timeout=300' });
  const listed = async () =>
    (await callAsAdmin(two, 'GET', '/api/v1/executions')).body as { executions: { id: string }[] };
  await expect.poll(async () => (await listed()).executions, slowly).toHaveLength(1);
  const [execution] = (await listed()).executions;
  await callDeployment(two, acme, { method: 'DELETE', query: `?execution_id=${execution?.id ?? ''}` });
  expect((await waiting).body.status).toBe('canceled');
});
