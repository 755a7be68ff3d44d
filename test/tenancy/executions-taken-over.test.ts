// kill -9 of one of two servers during an execution: the other completes it, and its slot is never free.
import { expect, it, onTestFinished } from 'vitest';
import {
  runningExecution,
  hangingModel,
  killedEnv,
  slowly,
  serveToBeKilled,
  stateOf,
} from '../support/tenancy/killed-server.ts';
import { temporaryFolder } from '../support/services.ts';
import { storeKinds, startTenantServer, usageOf } from '../support/tenancy/tenant-server.ts';
import { callAsAdmin, testConfig } from '../support/test-server.ts';

it('is taken over by the other server on Postgres and Redis', async () => {
  const stores = storeKinds[1]?.[1]() ?? {};
  const simulator = await hangingModel();
  const first = await serveToBeKilled(await temporaryFolder(), stores);
  const { acme, id } = await runningExecution(first, simulator);
  const second = await startTenantServer(await testConfig({ ...killedEnv, ...stores }));
  onTestFinished(() => second.stop());
  first.process.child.kill('SIGKILL');
  await first.process.ended;
  const seen = new Set<string>();
  await expect
    .poll(async () => {
      const used = await usageOf(second, acme);
      const state = await stateOf(second, acme, id);
      if (state.status === 'running') seen.add(String(used));
      return state;
    }, slowly)
    .toMatchObject({ status: 'completed', result: { text: 'Yes.' } });
  expect([...seen]).toEqual(['1,1']);
  await expect.poll(() => usageOf(second, acme), slowly).toEqual([0, 0]);
  const listed = await callAsAdmin(second, 'GET', '/api/v1/executions?state=queued,running');
  expect(listed.body).toMatchObject({ executions: [] });
});
