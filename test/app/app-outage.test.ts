// Stores that fail while the server runs: it reports that, serves what it can, and recovers by itself.
import { expect, it, onTestFinished } from 'vitest';
import { startServer } from '../../src/app/start.ts';
import { startPrivatePostgres, startPrivateRedis } from '../support/private-servers.ts';
import { redisUrl, uniqueName } from '../support/services.ts';
import { callAsAdmin, startTestServer, testConfig } from '../support/test-server.ts';

it('returns 503 with Retry-After while Postgres is down, and recovers without a restart', async () => {
  const postgres = await startPrivatePostgres();
  const server = await startTestServer(await testConfig({ DATABASE_URL: postgres.url }));
  const state = async () => (await callAsAdmin(server, 'GET', '/readyz')).body as { status: string };
  expect(await state()).toMatchObject({ status: 'ready' });

  await postgres.kill();
  await expect.poll(state).toMatchObject({ status: 'unavailable' });
  expect((await callAsAdmin(server, 'GET', '/readyz')).status).toBe(503);
  const refused = await callAsAdmin(server, 'GET', '/api/v1/ledger');
  expect(refused).toMatchObject({ status: 503, body: { error: { code: 'STATE_UNAVAILABLE' } } });
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect((await callAsAdmin(server, 'GET', '/healthz')).status).toBe(200);

  await postgres.restart();
  await expect.poll(state).toMatchObject({ status: 'ready' });
  expect((await callAsAdmin(server, 'GET', '/api/v1/ledger')).status).toBe(200);
  const response = await callAsAdmin(server, 'POST', '/api/v1/ledger/repair', {});
  const { job_id } = response.body as { job_id: string };
  await expect
    .poll(async () => (await callAsAdmin(server, 'GET', `/api/v1/jobs/${job_id}`)).body)
    .toMatchObject({ state: 'skipped' });
});

it('runs degraded without Redis and reports it, also when Redis is down at the start (B4)', async () => {
  const redis = await startPrivateRedis();
  await redis.stop();
  const server = await startTestServer(await testConfig({ REDIS_URL: redis.url }));
  const state = async () => (await callAsAdmin(server, 'GET', '/readyz')).body as { status: string };
  expect(await state()).toMatchObject({ status: 'degraded' });
  expect((await callAsAdmin(server, 'GET', '/api/v1/ledger')).status).toBe(200);
  await redis.restart();
  await expect.poll(state).toMatchObject({ status: 'ready' });
  redis.pause();
  await expect.poll(state).toMatchObject({ status: 'degraded' });
  redis.resume();
  await expect.poll(state).toMatchObject({ status: 'ready' });
});

it.each(['serve', 'worker'] as const)(
  'waits at the start of "%s" for Postgres, and prints that',
  async (role) => {
    const postgres = await startPrivatePostgres();
    await postgres.stop();
    const announced: string[] = [];
    const config = await testConfig({
      DATABASE_URL: postgres.url,
      REDIS_URL: redisUrl(),
      HEADWORKS_REDIS_KEY_PREFIX: `${uniqueName('outage')}:`,
      HEADWORKS_DATABASE_START_TIMEOUT_SECONDS: '600',
    });
    const starting = startServer(config, { role, announce: (sentence) => void announced.push(sentence) });
    await expect.poll(() => announced).toHaveLength(1);
    expect(announced[0]).toMatch(/^Waiting up to 600 s for Postgres: .*127\.0\.0\.1/);
    await postgres.restart();
    const server = await starting;
    onTestFinished(() => server.stop());
    expect((await callAsAdmin(server, 'GET', '/readyz')).status).toBe(200);
  },
);

it('fails with the cause when Postgres is not available in time', async () => {
  const postgres = await startPrivatePostgres();
  await postgres.stop();
  const config = await testConfig({
    DATABASE_URL: postgres.url,
    HEADWORKS_DATABASE_START_TIMEOUT_SECONDS: '0',
  });
  await expect(startServer(config, { role: 'serve' })).rejects.toMatchObject({ code: 'STATE_UNAVAILABLE' });
});

it('starts six servers and workers at once on an empty database (B5)', async () => {
  const postgres = await startPrivatePostgres();
  const env = {
    DATABASE_URL: postgres.url,
    REDIS_URL: redisUrl(),
    HEADWORKS_REDIS_KEY_PREFIX: `${uniqueName('start')}:`,
  };
  const roles = ['serve', 'worker', 'serve', 'worker', 'serve', 'serve'] as const;
  const started = await Promise.allSettled(
    roles.map(async (role) => startServer(await testConfig(env), { role })),
  );
  onTestFinished(async () => {
    for (const each of started) if (each.status === 'fulfilled') await each.value.stop();
  });
  expect(started.filter(({ status }) => status === 'rejected')).toEqual([]);
});
