// A complete server in one process, on real stores.
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Client } from 'pg';
import { PgBoss } from 'pg-boss';
import { describe, expect, it, onTestFinished } from 'vitest';
import { connect, startServer, version } from '../../src/app/index.ts';
import { openDataFolder } from '../../src/platform/data-folder/data-folder.ts';
import { databaseUrl, redisUrl } from '../support/services.ts';
import { callAsAdmin, startTestServer, testConfig } from '../support/test-server.ts';

async function sqlOn(config: { state: { schema: string } }, text: string, values: unknown[] = []) {
  const client = new Client({ connectionString: databaseUrl() });
  await client.connect();
  try {
    await client.query(`set search_path = ${config.state.schema}`);
    return (await client.query<Record<string, unknown>>(text, values)).rows;
  } finally {
    await client.end();
  }
}

/** Adds a job as the nightly schedule does. */
async function addJob(schema: string, name: string): Promise<void> {
  const boss = new PgBoss({
    connectionString: databaseUrl(),
    schema,
    supervise: false,
    schedule: false,
    migrate: false,
  });
  await boss.start();
  await boss.send(name, { payload: null }, { singletonKey: 'test' });
  await boss.stop({ graceful: false });
}

describe('a running server', () => {
  it('is ready, passes the doctor, and returns the sources of its settings', async () => {
    const config = await testConfig({ REDIS_URL: redisUrl() });
    const server = await startTestServer(config);
    const ready = await callAsAdmin(server, 'GET', '/readyz');
    expect(ready).toMatchObject({
      status: 200,
      body: {
        status: 'ready',
        dependencies: [
          { name: 'state store', state: 'up' },
          { name: 'redis', state: 'up' },
        ],
      },
    });
    const { checks } = (await callAsAdmin(server, 'GET', '/api/v1/doctor')).body as {
      checks: { name: string; state: string; detail: string }[];
    };
    // Models have no keys here: that is a state, not a fault.
    expect(checks.filter(({ state }) => state !== 'ok' && state !== 'not-configured')).toEqual([]);
    const settings = JSON.stringify((await callAsAdmin(server, 'GET', '/api/v1/config')).body);
    expect(settings).toContain('HEADWORKS_DATABASE_SCHEMA');
    expect(settings).not.toContain(new URL(databaseUrl()).password);
  });

  it('repairs ledger entries in a job, and writes an audit row', async () => {
    const config = await testConfig();
    const server = await startTestServer(config);
    await sqlOn(
      config,
      `insert into ledger_entries (id, kind, subject, cause, message, details, count, first_seen_at, last_seen_at)
       values (gen_random_uuid(), 'retention.purge-failed', 'audit', 'TEST', 'made by a test', '{}', 1, now(), now())`,
    );
    const response = await callAsAdmin(server, 'POST', '/api/v1/ledger/repair', {});
    expect(response.status).toBe(202);
    const { job_id } = response.body as { job_id: string };
    await expect
      .poll(async () => (await callAsAdmin(server, 'GET', `/api/v1/jobs/${job_id}`)).body, {
        timeout: 60_000,
      })
      .toMatchObject({ state: 'completed', result: { repaired: 1 } });
    expect((await callAsAdmin(server, 'GET', '/api/v1/ledger')).body).toMatchObject({ entries: [] });
    expect((await callAsAdmin(server, 'GET', '/api/v1/audit')).body).toMatchObject({
      entries: [{ actor: 'admin', action: 'ledger.repair', status: 202, outcome: 'completed' }],
    });
  });

  it('rejects a repair of an unknown entry at once', async () => {
    const server = await startTestServer(await testConfig());
    const kind = await callAsAdmin(server, 'POST', '/api/v1/ledger/repair', { kind: 'unknown.kind' });
    expect(kind).toMatchObject({ status: 404, body: { error: { code: 'LEDGER_KIND_UNKNOWN' } } });
    const id = await callAsAdmin(server, 'POST', '/api/v1/ledger/repair', {
      id: '018b0000-0000-7000-8000-000000000000',
    });
    expect(id).toMatchObject({ status: 404, body: { error: { code: 'LEDGER_ENTRY_UNKNOWN' } } });
  });

  it('deletes rows past their retention time, and no others', async () => {
    const config = await testConfig({
      HEADWORKS_RETENTION_AUDIT_DAYS: '10',
    });
    await startTestServer(config);
    for (const age of ['11 days', '9 days'])
      await sqlOn(
        config,
        `insert into audit_log (id, at, actor, action, outcome, details)
         values (gen_random_uuid(), now() - $1::interval, 'test', $1, 'completed', '{}')`,
        [age],
      );
    const jobs = `${config.state.schema}_jobs`;
    const schedules = await sqlOn(config, `select name from ${jobs}.schedule order by name`);
    expect(schedules).toEqual(
      ['knowledge.backfill', 'knowledge.reembed', 'ledger.repair', 'retention.run'].map((name) => ({ name })),
    );
    await addJob(jobs, 'retention.run');
    await expect.poll(() => sqlOn(config, 'select action from audit_log')).toEqual([{ action: '9 days' }]);
  });
});

describe('the admin token', () => {
  it('is printed by the first server, even if a command started before', async () => {
    const config = await testConfig();
    const client = await connect(config, { purpose: 'test' });
    await client.close();
    const first = await startTestServer(config);
    expect(first.newAdminToken).toBe(first.adminToken);
    await first.stop();
    expect((await startTestServer(config)).newAdminToken).toBeNull();
  });
});

describe('connect', () => {
  it('becomes the server, serves other clients, and stops when the last of them has detached', async () => {
    const config = await testConfig();
    const first = await connect(config, { purpose: 'test one' });
    const second = await connect(config, { purpose: 'test two' });
    expect([first.isOwnServer, second.isOwnServer]).toEqual([true, false]);
    const { url } = first;
    expect(second.url).toBe(url);
    let waitedFor = 0;
    let isClosed = false;
    const third = await connect(config, {
      purpose: 'test three',
      onWaitingForOthers: (n) => (waitedFor = n),
    });
    expect(third.isOwnServer).toBe(false);
    const closing = first.close().then(() => (isClosed = true));
    expect(await second.call('GET', '/healthz')).toMatchObject({ status: 'ok' });
    await third.close();
    expect(waitedFor).toBe(0);
    expect(isClosed).toBe(false);
    await second.close();
    await closing;
    await expect(fetch(`${url}/healthz`)).rejects.toThrow('fetch failed');
  });

  it('connects to the successor of a stopped server, and becomes the server if there is none', async () => {
    const config = await testConfig();
    const server = await startTestServer(config);
    const client = await connect(config, { purpose: 'test' });
    expect(client.isOwnServer).toBe(false);
    await server.stop();
    expect(await client.call('GET', '/api/v1/jobs')).toMatchObject({ jobs: [] });
    expect(client.isOwnServer).toBe(true);
    await client.close();
  });

  it('streams events, also across a change of server', async () => {
    const config = await testConfig();
    const server = await startTestServer(config);
    const client = await connect(config, { purpose: 'test' });
    const stop = new AbortController();
    const seen: string[] = [];
    let reconnects = 0;
    const reading = (async () => {
      for await (const event of client.events(stop.signal, () => reconnects++)) seen.push(event.name);
    })();
    const repair = () => client.call('POST', '/api/v1/ledger/repair', { body: {} });
    await expect.poll(async () => (await repair(), seen)).toContain('job:skipped');
    expect(reconnects).toBe(0);
    await server.stop();
    seen.length = 0;
    await expect.poll(async () => (await repair(), seen)).toContain('job:skipped');
    expect(reconnects).toBe(1);
    stop.abort();
    await reading;
    await client.close();
  });

  it('sends its token only to the server that wrote server.json, and becomes the server otherwise', async () => {
    const config = await testConfig();
    const first = await connect(config, { purpose: 'test' });
    await first.close();
    const received: string[] = [];
    const otherServer = createServer((request, response) => {
      received.push(`${request.url} ${request.headers.authorization}`);
      response.end('{"status":"ok","version":"0","instance":"another"}');
    });
    await new Promise<void>((resolve) => otherServer.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void otherServer.close());
    const url = `http://127.0.0.1:${(otherServer.address() as AddressInfo).port}`;
    const file = { pid: 1, url, instance: 'of a dead server', role: 'command', version };
    await writeFile(join(config.data.folder, 'server.json'), JSON.stringify(file));
    const second = await connect(config, { purpose: 'test' });
    expect(second.isOwnServer).toBe(true);
    await second.close();
    await writeFile(join(config.data.folder, 'server.json'), JSON.stringify(file));
    const held = await openDataFolder(config.data.folder, { version, command: 'a test' });
    await expect(startServer(config, { role: 'serve' })).rejects.toMatchObject({ code: 'DATA_FOLDER_BUSY' });
    await held.release();
    expect(received.length).toBeGreaterThan(1);
    expect(new Set(received)).toEqual(new Set(['/healthz undefined']));
  });

  it('ends at once when it is aborted while the store is opening', async () => {
    const config = await testConfig();
    const stop = new AbortController();
    const connecting = connect(config, { purpose: 'test', signal: stop.signal });
    stop.abort(new Error('enough'));
    await expect(connecting).rejects.toThrow('enough');
  });

  it('throws the errors of the server with their codes', async () => {
    const config = await testConfig();
    const client = await connect(config, { purpose: 'test' });
    await expect(client.call('GET', '/api/v1/jobs/nonsense')).rejects.toMatchObject({
      name: 'HeadworksError',
    });
    await expect(client.call('GET', '/api/v1/nowhere')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await client.close();
  });

  it('requires the token of a remote server, and never sends it the one of this folder', async () => {
    const config = await testConfig();
    const server = await startTestServer(config);
    const elsewhere = await testConfig({ HEADWORKS_URL: server.url });
    await expect(connect(elsewhere, { purpose: 'test' })).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
    const known = await testConfig({ HEADWORKS_URL: server.url, HEADWORKS_ADMIN_TOKEN: server.adminToken });
    const client = await connect(known, { purpose: 'test' });
    expect(await client.call('GET', '/api/v1/jobs')).toMatchObject({ jobs: [] });
    await client.close();
    const wrong = await testConfig({
      HEADWORKS_URL: server.url,
      HEADWORKS_ADMIN_TOKEN: 'wrong-token-0123456789',
    });
    await expect(connect(wrong, { purpose: 'test' })).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
    const dead = await testConfig({
      HEADWORKS_URL: 'http://127.0.0.1:1',
      HEADWORKS_ADMIN_TOKEN: server.adminToken,
    });
    await expect(connect(dead, { purpose: 'test' })).rejects.toMatchObject({ code: 'SERVER_UNREACHABLE' });
  });
});
