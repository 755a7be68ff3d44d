// Stores that go away while the server runs: it says so, answers what it can, and comes back by itself.
import { expect, it } from 'vitest';
import { startPrivatePostgres, startPrivateRedis } from '../support/private-servers.ts';
import { callAsAdmin, startTestServer, testConfig } from '../support/test-server.ts';

it('returns 503 with Retry-After while Postgres is down, and recovers without a restart', async () => {
  const postgres = await startPrivatePostgres();
  const server = await startTestServer(await testConfig({ DATABASE_URL: postgres.url }));
  const state = async () => (await callAsAdmin(server, 'GET', '/readyz')).body as { status: string };
  expect(await state()).toMatchObject({ status: 'ready' });

  await postgres.kill();
  await expect.poll(state, { timeout: 10_000 }).toMatchObject({ status: 'unavailable' });
  expect((await callAsAdmin(server, 'GET', '/readyz')).status).toBe(503);
  const refused = await callAsAdmin(server, 'GET', '/api/v1/ledger');
  expect(refused).toMatchObject({ status: 503, body: { error: { code: 'STATE_UNAVAILABLE' } } });
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect((await callAsAdmin(server, 'GET', '/healthz')).status).toBe(200);

  await postgres.restart();
  await expect.poll(state, { timeout: 30_000 }).toMatchObject({ status: 'ready' });
  expect((await callAsAdmin(server, 'GET', '/api/v1/ledger')).status).toBe(200);
  const asked = await callAsAdmin(server, 'POST', '/api/v1/ledger/repair', {});
  const { job_id } = asked.body as { job_id: string };
  await expect
    .poll(async () => (await callAsAdmin(server, 'GET', `/api/v1/jobs/${job_id}`)).body, { timeout: 30_000 })
    .toMatchObject({ state: 'skipped' });
}, 90_000);

it('runs degraded without Redis and reports it, also when Redis is down at the start', async () => {
  const redis = await startPrivateRedis();
  await redis.stop();
  const server = await startTestServer(await testConfig({ REDIS_URL: redis.url }));
  const state = async () => (await callAsAdmin(server, 'GET', '/readyz')).body as { status: string };
  expect(await state()).toMatchObject({ status: 'degraded' });
  expect((await callAsAdmin(server, 'GET', '/api/v1/ledger')).status).toBe(200);
  await redis.restart();
  await expect.poll(state, { timeout: 30_000 }).toMatchObject({ status: 'ready' });
  redis.pause();
  await expect.poll(state, { timeout: 30_000 }).toMatchObject({ status: 'degraded' });
  redis.resume();
  await expect.poll(state, { timeout: 30_000 }).toMatchObject({ status: 'ready' });
}, 90_000);
