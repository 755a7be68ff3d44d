// Postgres restarts while executions run (guarantees N1 and N6).
import { expect, it, onTestFinished } from 'vitest';
import { startPrivatePostgres } from '../support/private-servers.ts';
import {
  addModels,
  addTenant,
  callDeployment,
  simulatedModels,
  startTenantServer,
} from '../support/tenancy/tenant-server.ts';
import { callAsAdmin, testConfig } from '../support/test-server.ts';

it('loses no accepted execution, and is never a 500 (N1)', async () => {
  const postgres = await startPrivatePostgres();
  const simulator = await simulatedModels();
  onTestFinished(() => simulator.stop());
  const server = await startTenantServer(await testConfig({ DATABASE_URL: postgres.url }));
  onTestFinished(() => server.stop());
  await addModels(server, simulator);
  const acme = await addTenant(server, 'soon');
  await callAsAdmin(server, 'PUT', `/api/v1/limits/${acme.organizationId}`, { limit: 50 });

  const statuses = new Map<number, number>();
  const accepted = new Set<string>();
  const isOver = { value: false };
  const request = async () => {
    const { status, body } = await callDeployment(server, acme);
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    if (status === 200) accepted.add(body.execution_id);
  };
  const callers = Array.from({ length: 4 }, async () => {
    while (!isOver.value) {
      await request();
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  });
  for (let round = 1; round <= 3; round++) {
    await expect.poll(() => accepted.size).toBeGreaterThan(10 * round);
    await (round % 2 === 0 ? postgres.stop() : postgres.kill());
    await expect.poll(() => statuses.get(503) ?? 0).toBeGreaterThan(2 * round);
    await postgres.restart();
  }
  isOver.value = true;
  await Promise.all(callers);

  expect([...statuses.keys()].filter((status) => ![200, 429, 503].includes(status))).toEqual([]);
  for (const id of accepted)
    await expect
      .poll(
        async () =>
          (await callDeployment(server, acme, { method: 'GET', query: `?execution_id=${id}` })).body,
      )
      .toMatchObject({ status: 'completed' });
});
