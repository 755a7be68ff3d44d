// Sources registered with a server, and their runs: over HTTP, on real stores, from a simulated Looker.
import type { ApiResponse } from '../../src/api/client.ts';
import type { ExtractionRun } from '../../src/api/extraction.ts';
import { writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Client } from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { extractAndReport } from '../../src/app/extract.ts';
import { startServer } from '../../src/app/start.ts';
import type { RunningServer } from '../../src/app/index.ts';
import { messageOf } from '../../src/core/index.ts';
import type { Config } from '../../src/config/index.ts';
import type { LookerSimulator } from '../../src/simulators/looker/server.ts';
import {
  contentIn,
  contentOf,
  environmentFor,
  simulatedLooker,
  vaultRows,
} from '../support/extraction-runs.ts';
import { copyEmbeddedStore } from '../support/embedded-template.ts';
import { databaseUrl } from '../support/services.ts';
import { callAsAdmin, startTestServer, testConfig } from '../support/test-server.ts';

const sources = '/api/v1/extraction/sources';
const runs = '/api/v1/extraction/runs';

const fast = { rate_limit_per_minute: 1_000_000, rate_limit_per_second: 100_000, batch_size: 10, workers: 2 };

const lookerSource = (simulator: LookerSimulator, change: object = {}) => ({
  name: 'acme',
  kind: 'looker',
  settings: { base_url: simulator.url },
  options: fast,
  ...change,
});

async function register(server: RunningServer, body: object): Promise<string> {
  const response = await callAsAdmin(server, 'POST', sources, body);
  expect(response).toMatchObject({ status: 201 });
  return (response.body as { id: string }).id;
}

async function start(server: RunningServer, sourceId: string, body?: object): Promise<string> {
  const response = await callAsAdmin(server, 'POST', `${sources}/${sourceId}/runs`, body);
  expect(response).toMatchObject({ status: 202, body: { job_id: expect.any(String) as string } });
  return (response.body as { id: string }).id;
}

const runOf = async (server: RunningServer, id: string): Promise<ExtractionRun> =>
  (await callAsAdmin(server, 'GET', `${runs}/${id}`)).body;

const listOf = async (
  server: RunningServer,
  query = '',
): Promise<ApiResponse<'GET /api/v1/extraction/runs'>['runs']> =>
  ((await callAsAdmin(server, 'GET', runs + query)).body as ApiResponse<'GET /api/v1/extraction/runs'>).runs;

const untilRun = (server: RunningServer, id: string, expected: object) =>
  expect.poll(() => runOf(server, id)).toMatchObject(expected);

/** As an operator would change it with psql. */
async function onDatabase(config: Config, text: string): Promise<readonly Record<string, unknown>[]> {
  const client = new Client({ connectionString: databaseUrl() });
  await client.connect();
  try {
    await client.query(`set search_path = ${config.state.schema}`);
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}

describe('a registered source', () => {
  it('is extracted into its vault on request, and the run has its figures', async () => {
    const simulator = await simulatedLooker();
    const config = await testConfig(environmentFor(simulator));
    const server = await startTestServer(config);
    const id = await register(server, lookerSource(simulator));
    const run = await start(server, id);
    await untilRun(server, run, {
      state: 'completed',
      source: 'acme',
      origin: 'http',
      rate_limited_calls: 0,
    });
    const { types, session, started_at, finished_at } = await runOf(server, run);
    expect(types).toHaveLength(12);
    expect(types.find(({ type }) => type === 'users')).toEqual({
      type: 'users',
      items: 31,
      total: 31,
      state: 'completed',
    });
    expect(session).not.toBeNull();
    expect(Date.parse(finished_at ?? '')).toBeGreaterThanOrEqual(Date.parse(started_at ?? ''));
    const rows = vaultRows(join(config.data.folder, 'vaults'), 'acme.vault');
    expect(contentIn(rows)).toEqual(await contentOf(simulator));
    const again = await start(server, id);
    await untilRun(server, again, { state: 'completed' });
    expect((await runOf(server, again)).calls).toBeGreaterThan(0);
    expect((await listOf(server)).map((row) => row.id)).toEqual([again, run]);
  });

  it('is extracted on the embedded store too', async () => {
    const simulator = await simulatedLooker({ items: { users: 12 } });
    const config = await testConfig({ ...environmentFor(simulator), DATABASE_URL: '' });
    await copyEmbeddedStore(join(config.data.folder, 'state'));
    const server = await startTestServer(config);
    const options = { ...fast, types: ['users'] };
    const run = await start(server, await register(server, lookerSource(simulator, { options })));
    await untilRun(server, run, { state: 'completed', types: [{ type: 'users', items: 12 }] });
  });

  it('runs once at a time, reports progress, and stops on request', async () => {
    const simulator = await simulatedLooker();
    const server = await startTestServer(await testConfig(environmentFor(simulator)));
    const slow = { ...fast, rate_limit_per_second: 2, rate_limit_per_minute: 100 };
    const id = await register(server, lookerSource(simulator, { options: slow }));
    const run = await start(server, id);
    expect(await callAsAdmin(server, 'POST', `${sources}/${id}/runs`)).toMatchObject({
      status: 409,
      body: { error: { code: 'CONFLICT' } },
    });
    await expect.poll(async () => (await runOf(server, run)).types.some(({ items }) => items > 0)).toBe(true);
    expect(await callAsAdmin(server, 'DELETE', `${sources}/${id}`)).toMatchObject({ status: 409 });
    expect(await callAsAdmin(server, 'POST', `${runs}/${run}/stop`)).toMatchObject({ status: 202 });
    await untilRun(server, run, { state: 'interrupted' });
    expect(await callAsAdmin(server, 'POST', `${runs}/${run}/stop`)).toMatchObject({ status: 409 });
    expect(await callAsAdmin(server, 'DELETE', `${sources}/${id}`)).toMatchObject({
      status: 204,
      body: null,
    });
    expect(await listOf(server)).toHaveLength(1);
  });

  it('continues with every run that its limit of calls ends, and starts a new session after the last', async () => {
    const simulator = await simulatedLooker({ items: { users: 50 } });
    const server = await startTestServer(await testConfig(environmentFor(simulator)));
    const options = { ...fast, types: ['users'], max_calls: 2 };
    const id = await register(server, lookerSource(simulator, { options }));
    const next = async (expected: object, body?: object) => {
      const run = await start(server, id, body);
      await untilRun(server, run, expected);
      return runOf(server, run);
    };
    const users = (items: number) => ({ types: [{ type: 'users', items }] });
    const { session, message } = await next({ state: 'interrupted', ...users(20) });
    expect(message).toBe('It reached its limit of calls; the next run continues from there.');
    await next({ state: 'interrupted', session, ...users(40) });
    await next({ state: 'completed', session, ...users(50), calls: 1 });
    const restarted = await next({ state: 'interrupted', ...users(20) });
    expect(restarted.session).not.toBe(session);
    const fresh = await next({ state: 'interrupted', ...users(20) }, { fresh: true });
    expect(fresh.session).not.toBe(restarted.session);
  });

  it('requests failed pages again only with retry_failed', async () => {
    const simulator = await simulatedLooker({
      items: { users: 30 },
      failures: [{ type: 'users', offset: 15 }],
    });
    const server = await startTestServer(await testConfig(environmentFor(simulator)));
    const options = { ...fast, types: ['users'], retries: 0 };
    const id = await register(server, lookerSource(simulator, { options }));
    const run = await start(server, id);
    await untilRun(server, run, { state: 'incomplete' });
    simulator.configure({ failures: [] });
    const again = await start(server, id, { retry_failed: true });
    const { session } = await runOf(server, run);
    await untilRun(server, again, { state: 'completed', session, calls: 1 });
    const both = { fresh: true, retry_failed: true };
    expect(await callAsAdmin(server, 'POST', `${sources}/${id}/runs`, both)).toMatchObject({
      status: 400,
      body: { error: { code: 'INPUT_INVALID' } },
    });
  });

  it('continues where it was when the server stops and starts again', async () => {
    const simulator = await simulatedLooker();
    const config = await testConfig({ ...environmentFor(simulator), HEADWORKS_JOBS_DRAIN_SECONDS: '0' });
    const first = await startServer(config, { role: 'serve' });
    onTestFinished(() => first.stop());
    const slow = {
      ...fast,
      rate_limit_per_second: 5,
      rate_limit_per_minute: 1000,
      types: ['users', 'looks'],
    };
    const id = await register(first, lookerSource(simulator, { options: slow }));
    const run = await start(first, id);
    await expect.poll(async () => (await runOf(first, run)).calls).toBeGreaterThanOrEqual(8);
    const { session } = await runOf(first, run);
    await first.stop();
    const second = await startTestServer(config);
    await untilRun(second, run, { state: 'completed', session });
    const { calls, total } = simulator.stats();
    // Four pages of users, three of looks, 23 looks: begun again it would be eight more. Two were in flight.
    const contentCalls = total - (calls['POST /login'] ?? 0);
    expect(contentCalls).toBeGreaterThanOrEqual(30);
    expect(contentCalls).toBeLessThanOrEqual(32);
  });

  it('fails visibly when a variable is not set, and never shows the values of others', async () => {
    const simulator = await simulatedLooker();
    const config = await testConfig(environmentFor(simulator));
    const server = await startTestServer(config);
    const settings = { base_url: simulator.url, client_secret_env: 'ACME_SECRET' };
    const run = await start(server, await register(server, lookerSource(simulator, { settings })));
    await untilRun(server, run, {
      state: 'failed',
      message: 'The environment variable ACME_SECRET is not set in the server.',
    });
    const visible = [
      await callAsAdmin(server, 'GET', sources),
      await callAsAdmin(server, 'GET', runs),
      await callAsAdmin(server, 'GET', '/api/v1/jobs'),
      await onDatabase(config, 'select * from extraction_sources, extraction_runs'),
    ];
    expect(JSON.stringify(visible)).toContain('ACME_SECRET');
    expect(JSON.stringify(visible)).not.toContain(simulator.clientSecret);
  });
});

describe('an invalid source', () => {
  it('is rejected with its problems, without its secrets', async () => {
    const config = await testConfig();
    const server = await startTestServer(config);
    const good = { name: 'x', kind: 'looker', settings: { base_url: 'https://acme.example' } };
    const rest = (definition: string) => ({ name: 'x', kind: 'rest', settings: { definition } });
    const secret = 'hush-hush-1234567';
    const api = 'name: shop\nbase_url: https://shop.example\nresources: [{name: a, path: /a, id: id}]\n';
    const bad: readonly (readonly [body: object, problem: string])[] = [
      [{ ...good, settings: { ...good.settings, client_secret: secret } }, 'client_secret'],
      [{ ...good, settings: { base_url: `https://me:${secret}@acme.example` } }, 'user or password'],
      [{ ...good, settings: { base_url: 'ftp://acme.example' } }, 'web address'],
      [{ ...good, kind: 'tableau' }, 'looker or rest'],
      [{ ...good, name: '../x' }, 'lower-case letters'],
      [{ ...good, vault: '../../x.vault' }, 'without folders'],
      [{ ...good, schedule: '* * *' }, 'five'],
      [{ ...good, schedule: '0 0 30 2 *' }, 'there is no such day'],
      [{ ...good, options: { workers: 99 } }, 'options.workers: 99 must be a whole number from 1 to 50'],
      [{ ...good, options: { rate_limit_per_minute: 5, rate_limit_per_second: 6 } }, 'per minute'],
      [{ ...good, options: { password: secret } }, 'password'],
      [rest(`${api}auth: {type: bearer, token: ${secret}}`), 'a secret must not be in this file'],
      [rest(`${api}shade: blue`), 'shade'],
      [{ ...rest(api), options: { folders: ['1'] } }, 'has no folders'],
    ];
    for (const [body, problem] of bad) {
      const response = await callAsAdmin(server, 'POST', sources, body);
      expect({ problem, status: response.status }).toEqual({ problem, status: 400 });
      expect(JSON.stringify(response.body)).toContain(problem);
      expect(JSON.stringify(response.body)).not.toContain(secret);
    }
    expect(await onDatabase(config, 'select * from extraction_sources')).toEqual([]);
    const id = await register(server, rest(`${api}auth: {type: bearer, token: "\${NOT_SET_YET}"}`));
    expect(await callAsAdmin(server, 'POST', sources, good)).toMatchObject({ status: 409 });
    const change = (body: object) => callAsAdmin(server, 'PATCH', `${sources}/${id}`, body);
    expect(await change({})).toMatchObject({ status: 400 });
    expect(await change({ name: 'y' })).toMatchObject({ status: 400 });
    expect(await change({ settings: good.settings })).toMatchObject({ status: 400 });
    expect(await change({ schedule: '5 4 * * *', options: { workers: 3 } })).toMatchObject({
      status: 200,
      body: {
        schedule: '5 4 * * *',
        options: { workers: 3 },
        settings: { definition: expect.any(String) as string },
      },
    });
    const unknownId = '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b';
    for (const [method, path] of [
      ['GET', `${sources}/${unknownId}`],
      ['DELETE', `${sources}/${unknownId}`],
      ['POST', `${sources}/${unknownId}/runs`],
      ['GET', `${runs}/${unknownId}`],
      ['POST', `${runs}/${unknownId}/stop`],
    ] as const)
      expect({ path, ...(await callAsAdmin(server, method, path)) }).toMatchObject({ path, status: 404 });
  });

  it('cannot send the secrets of the server anywhere', async () => {
    const config = await testConfig();
    const server = await startServer(config, {
      role: 'serve',
      env: { HEADWORKS_ADMIN_TOKEN: 'server-secret-0123456789' },
    });
    onTestFinished(() => server.stop());
    const definition = [
      'name: shop',
      'base_url: http://127.0.0.1:9',
      'auth: {type: bearer, token: "${HEADWORKS_ADMIN_TOKEN}"}',
      'resources: [{name: a, path: /a, id: id}]',
    ].join('\n');
    const run = await start(
      server,
      await register(server, { name: 'shop', kind: 'rest', settings: { definition } }),
    );
    await untilRun(server, run, { state: 'failed' });
    expect((await runOf(server, run)).message).toContain('HEADWORKS_ADMIN_TOKEN is not set');
  });
});

describe('a schedule', () => {
  it('starts a due run once, and shows the next time', async () => {
    const simulator = await simulatedLooker();
    const config = await testConfig(environmentFor(simulator));
    const first = await startServer(config, { role: 'serve' });
    onTestFinished(() => first.stop());
    const options = { ...fast, types: ['users'] };
    const id = await register(first, lookerSource(simulator, { schedule: '0 4 * * *', options }));
    const { next_run_at } = (await callAsAdmin(first, 'GET', `${sources}/${id}`)).body as {
      next_run_at: string;
    };
    expect(next_run_at).toMatch(/T04:00:00\.000Z$/);
    await register(first, lookerSource(simulator, { name: 'off', schedule: '* * * * *', is_active: false }));
    await first.stop();
    // Two missed nights: run once.
    await onDatabase(config, `update extraction_sources set last_scheduled_at = now() - interval '49 hours'`);
    const second = await startTestServer(config);
    await expect
      .poll(() => listOf(second))
      .toMatchObject([{ source: 'acme', origin: 'schedule', state: 'completed' }]);
    expect(await listOf(second)).toHaveLength(1);
  });
});

describe('the sources file', () => {
  it('registers, changes and removes sources when the server starts', async () => {
    const config = await testConfig({ HEADWORKS_EXTRACTION_SOURCES_FILE: 'sources.yaml' });
    const file = config.extraction.sourcesFile ?? '';
    const write = (...names: string[]) =>
      writeFile(
        file,
        names
          .map((name) => `- {name: ${name}, kind: looker, settings: {base_url: "https://${name}.example"}}\n`)
          .join(''),
      );
    await write('one', 'two');
    const first = await startServer(config, { role: 'serve' });
    onTestFinished(() => first.stop());
    const { body } = await callAsAdmin(first, 'GET', sources);
    expect(body).toMatchObject({ sources: [{ name: 'one', is_from_file: true }, { name: 'two' }] });
    const [{ id }] = (body as { sources: [{ id: string }] }).sources;
    expect(await callAsAdmin(first, 'PATCH', `${sources}/${id}`, { is_active: false })).toMatchObject({
      status: 409,
    });
    await first.stop();
    await write('one', 'three');
    const second = await startTestServer(config);
    expect((await callAsAdmin(second, 'GET', sources)).body).toMatchObject({
      sources: [{ name: 'one', id }, { name: 'three' }],
    });
    await second.stop();
    await writeFile(file, '- {name: one, kind: looker, settings: {client_secret: hush-hush-1234}}\n');
    const refused = await startServer(config, { role: 'serve' }).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: 'CONFIG_INVALID' });
    expect(messageOf(refused)).toContain('client_secret');
    expect(messageOf(refused)).not.toContain('hush-hush');
  });
});

describe('a run of a command', () => {
  it('is reported to the server of its data folder, its end included', async () => {
    const simulator = await simulatedLooker();
    const flags = {
      HEADWORKS_EXTRACTION_RATE_LIMIT_PER_MINUTE: '1000000',
      HEADWORKS_EXTRACTION_RATE_LIMIT_PER_SECOND: '100000',
    };
    const config = await testConfig({ ...environmentFor(simulator), ...flags });
    const server = await startTestServer(config);
    const options = { env: {}, onEvent: () => undefined, onSecret: () => undefined };
    const { signal } = new AbortController();
    const result = await extractAndReport(config, { kind: 'looker' }, { ...options, signal });
    const [run] = await listOf(server);
    expect(run).toMatchObject({ origin: 'cli', state: 'completed', calls: result.calls, job_id: null });
    expect(run?.vault).toBe(basename(result.vault));
    expect(run?.source).toContain(simulator.url);
    const { entries: rows } = (await callAsAdmin(server, 'GET', '/api/v1/audit')).body as {
      entries: unknown[];
    };
    expect(rows).toEqual([]);
  });

  it('is not affected by a missing server', async () => {
    const simulator = await simulatedLooker({ items: { users: 3 } });
    const config = await testConfig({ ...environmentFor(simulator), HEADWORKS_EXTRACTION_TYPES: 'users' });
    const options = { env: {}, onEvent: () => undefined, onSecret: () => undefined };
    const { signal } = new AbortController();
    const result = await extractAndReport(config, { kind: 'looker' }, { ...options, signal });
    expect(result.state).toBe('completed');
  });
});
