// headworks worker as a process: it runs what a server without jobs accepted, keeps the slot, and releases it.
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';
import { startServer } from '../../src/app/start.ts';
import { connectRedis } from '../../src/platform/redis/connection.ts';
import { startHeadworks } from '../support/headworks-process.ts';
import { redisUrl, temporaryFolder } from '../support/services.ts';
import {
  addTenant,
  callDeployment,
  drainAtOnce,
  storeKinds,
  modelKeys,
} from '../support/tenancy/tenant-server.ts';
import { callAsAdmin, testConfig } from '../support/test-server.ts';

const slowly = { timeout: 60_000, interval: 100 };
const leaseSeconds = 3;

it('runs executions dispatched elsewhere, renews their slots, and releases them', async () => {
  const model = await modelThatWaits();
  const stores: Readonly<Record<string, string>> = {
    ...storeKinds[1]?.[1](),
    HEADWORKS_ADMISSION_LEASE_SECONDS: String(leaseSeconds),
  };
  const worker = startHeadworks(['worker', '--json'], await temporaryFolder(), {
    ...drainAtOnce,
    ...modelKeys,
    ...stores,
    HEADWORKS_LOG_LEVEL: 'error',
  });
  // A command that starts a temporary server runs no jobs.
  const config = await testConfig({ ...drainAtOnce, ...stores });
  const serverWithoutJobs = async () => {
    const server = await startServer(config, { role: 'command', env: modelKeys });
    onTestFinished(() => server.stop());
    return server;
  };
  const slotAt = await renewalOf(stores['HEADWORKS_REDIS_KEY_PREFIX'] ?? '');

  const first = await serverWithoutJobs();
  const added = { name: 'quick', base_url: model.url, env_var: 'MODEL_API_KEY' };
  expect(await callAsAdmin(first, 'POST', '/api/v1/models', added)).toMatchObject({ status: 201 });
  const acme = await addTenant(first, 'quick');
  await worker.printed(/"state":"ready","role":"worker"/);
  const { body } = await callDeployment(first, acme);
  expect(body.status).toBe('queued');
  await model.called;
  const taken = await slotAt(body.execution_id);
  await first.stop();
  await expect
    .poll(() => slotAt(body.execution_id), slowly)
    .toBeGreaterThan((taken ?? Number.POSITIVE_INFINITY) + leaseSeconds);
  model.answer();
  await expect.poll(() => slotAt(body.execution_id), slowly).toBeNull();

  const second = await serverWithoutJobs();
  const query = `?execution_id=${body.execution_id}`;
  expect(await callDeployment(second, acme, { method: 'GET', query })).toMatchObject({
    body: { status: 'completed', result: { text: 'Yes.' } },
  });
  worker.child.kill('SIGTERM');
  expect(await worker.ended).toBe(0);
});

/** A model that responds when the test allows it. */
async function modelThatWaits() {
  const called = Promise.withResolvers<void>();
  const held: ServerResponse[] = [];
  const server = createServer((request, response) => {
    response.setHeader('content-type', 'application/json');
    void text(request).then((body) => {
      if (!body.includes('Is it so?')) return response.end(completion);
      held.push(response);
      return called.resolve();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    called: called.promise,
    answer: () => held.forEach((response) => response.end(completion)),
  };
}

const completion = JSON.stringify({
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Yes.' } }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
});

/** Reads, regardless of leases, the second in which an execution's slot was last renewed; null without one. */
async function renewalOf(keyPrefix: string): Promise<(executionId: string) => Promise<number | null>> {
  const redis = await connectRedis({ url: redisUrl(), keyPrefix });
  onTestFinished(() => redis.close());
  return async (executionId) => {
    const score = await redis.command('zscore', [redis.key('api_deployment:rate_limit:global'), executionId]);
    return score === null ? null : Number(score);
  };
}
