import { describe, expect, it } from 'vitest';
import { describeConfig, resolveConfig } from '../../src/config/index.ts';
import { buildServer } from '../../src/http/index.ts';
import { CliWorld } from '../support/cli-world.ts';
import { adminToken, asAdmin, jobView, createTestDeps } from '../support/http-dependencies.ts';

const someId = '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b';

async function openServer(change: Parameters<typeof createTestDeps>[0] = {}) {
  const it = createTestDeps(change);
  const server = await buildServer(it.dependencies);
  const get = async (url: string) => server.inject({ url, headers: asAdmin });
  const post = async (url: string, payload?: object) =>
    server.inject({ method: 'POST', url, headers: asAdmin, ...(payload ? { payload } : {}) });
  return { ...it, server, get, post };
}

describe('probes', () => {
  it('returns the version and the instance of the server', async () => {
    const { server } = await openServer();
    const answer = await server.inject('/healthz');
    expect(answer.json()).toEqual({ status: 'ok', version: '1.2.3', instance: 'instance-a' });
  });

  it.each([
    ['ready', 200],
    ['degraded', 200],
    ['unavailable', 503],
  ] as const)('returns for /readyz when %s the status %i and every dependency', async (status, code) => {
    const since = new Date('2026-03-01T11:59:00Z');
    const { server } = await openServer({
      readiness: async () => ({
        status,
        dependencies: [
          { name: 'redis', state: 'down', required: false, detail: 'gone', since, remedy: 'start it' },
        ],
        capabilities: [{ name: 'vector', isAvailable: false, detail: 'not installed' }],
        alerts: ['HeadworksModelsUnavailable'],
      }),
    });
    const answer = await server.inject('/readyz');
    expect(answer.statusCode).toBe(code);
    expect(answer.json()).toEqual({
      status,
      is_draining: false,
      dependencies: [
        {
          name: 'redis',
          state: 'down',
          is_required: false,
          detail: 'gone',
          since: '2026-03-01T11:59:00.000Z',
          remedy: 'start it',
        },
      ],
      capabilities: [{ name: 'vector', is_available: false, detail: 'not installed' }],
      alerts: ['HeadworksModelsUnavailable'],
    });
  });

  it('is unavailable when the readiness check itself fails', async () => {
    const { server } = await openServer({ readiness: () => Promise.reject(new Error('boom')) });
    const answer = await server.inject('/readyz');
    expect(answer.statusCode).toBe(503);
    expect(answer.json()).toMatchObject({ status: 'unavailable', dependencies: [{ state: 'down' }] });
  });

  it('returns metrics as text', async () => {
    const { get } = await openServer();
    const answer = await get('/metrics');
    expect(answer.body).toBe('up 1\n');
    expect(answer.headers['content-type']).toContain('version=0.0.4');
  });
});

describe('operations', () => {
  it('returns what "headworks config --json" prints, without secrets', async () => {
    const env = {
      HEADWORKS_PORT: '8421',
      HEADWORKS_ADMIN_TOKEN: 'hunter2hunter2hunter2',
      DATABASE_URL: 'postgres://me:hunter22@db.example/app',
      OTEL_SERVICE_NAME: `x${adminToken}x`,
    };
    const cwd = '/nonexistent-for-tests';
    const cli = new CliWorld({ env, cwd });
    await cli.run('config', '--json');
    const { get } = await openServer({
      configView: () => describeConfig(resolveConfig({ env, cwd })),
    });
    const response = await get('/api/v1/config');
    expect(response.body).not.toContain('hunter2');
    expect(response.body).not.toContain(adminToken);
    expect(response.body).toBe(cli.out.trim().replace(adminToken, '[redacted]'));
    const { options } = response.json<{ options: { name: string }[] }>();
    expect(options.find(({ name }) => name === 'server.adminToken')).toMatchObject({
      value: '[hidden]',
      source: 'env',
      source_name: 'HEADWORKS_ADMIN_TOKEN',
      is_secret: true,
    });
  });

  it('returns the worst finding as the state of the doctor', async () => {
    const check = (state: 'ok' | 'warning' | 'problem') => ({ name: state, state, detail: '', remedy: null });
    for (const [checks, state] of [
      [[], 'ok'],
      [[check('ok'), check('warning')], 'warning'],
      [[check('problem'), check('warning')], 'problem'],
    ] as const) {
      const { get } = await openServer({ doctor: async () => ({ checks }) });
      expect((await get('/api/v1/doctor')).json()).toMatchObject({ state });
    }
  });
});

describe('the ledger over HTTP', () => {
  const seen = (subject: string) => ({
    kind: 'demo.broken',
    subject,
    cause: 'Boom',
    message: 'It broke.',
    details: { someKey: 1 },
    count: 1,
    firstSeenAt: new Date(1_000),
    lastSeenAt: new Date(2_000),
  });

  it('lists page by page, every row once', async () => {
    const { get, ledgerStore, clock } = await openServer();
    for (let index = 0; index < 5; index++) {
      await ledgerStore.record([seen(`s${index}`)]);
      await clock.advance(1);
    }
    const subjects: string[] = [];
    let after = '';
    for (;;) {
      const page = (await get(`/api/v1/ledger?limit=2${after}`)).json<{
        entries: { subject: string }[];
        next: string | null;
      }>();
      subjects.push(...page.entries.map(({ subject }) => subject));
      if (page.next === null) break;
      after = `&after=${page.next}`;
    }
    expect(subjects).toEqual(['s4', 's3', 's2', 's1', 's0']);
  });

  it('filters, returns one row in full, and counts kinds', async () => {
    const { get, ledgerStore } = await openServer();
    await ledgerStore.record([seen('a'), seen('b')]);
    const page = (await get('/api/v1/ledger?kind=demo.broken&subject=a&state=open')).json<{
      entries: { id: string }[];
    }>();
    expect(page.entries).toHaveLength(1);
    const one = await get(`/api/v1/ledger/${page.entries[0]?.id ?? ''}`);
    expect(one.json()).toMatchObject({
      subject: 'a',
      count: 1,
      first_seen_at: '1970-01-01T00:00:01.000Z',
      details: { someKey: 1 },
      resolved_at: null,
    });
    expect((await get('/api/v1/ledger/kinds')).json()).toEqual({
      kinds: [{ kind: 'demo.broken', open: 2, resolved: 0, repair: 'Does it again.' }],
    });
    expect((await get(`/api/v1/ledger/${someId}`)).json()).toMatchObject({ error: { code: 'NOT_FOUND' } });
  });

  it('queues repairs of everything, of a kind or of a row, and returns at once', async () => {
    const { post, repairs } = await openServer();
    for (const body of [undefined, {}, { kind: 'demo.broken' }, { id: someId }]) {
      const answer = await post('/api/v1/ledger/repair', body);
      expect(answer.statusCode).toBe(202);
      expect(answer.json()).toEqual({ job_id: expect.any(String) as string });
    }
    expect(repairs).toEqual([{}, {}, { kind: 'demo.broken' }, { id: someId }]);
    const both = await post('/api/v1/ledger/repair', { kind: 'demo.broken', id: someId });
    expect(both.statusCode).toBe(400);
    expect(both.json<{ error: { message: string } }>().error.message).toContain('not both');
  });

  it('closes a row by hand, once', async () => {
    const { post, ledgerStore } = await openServer();
    await ledgerStore.record([seen('a')]);
    const id = (await ledgerStore.list({}))[0]?.id ?? '';
    const closed = await post(`/api/v1/ledger/${id}/resolve`, { resolution: 'looked at it' });
    expect(closed.json()).toMatchObject({ resolution: 'looked at it' });
    const again = await post(`/api/v1/ledger/${id}/resolve`, { resolution: 'again' });
    expect(again.statusCode).toBe(409);
    expect(again.json()).toMatchObject({ error: { code: 'LEDGER_ENTRY_RESOLVED', details: { id } } });
  });
});

describe('jobs over HTTP', () => {
  it('lists by name and by one or several states', async () => {
    const { get, jobViews } = await openServer();
    for (const [index, state] of (['queued', 'failed', 'completed'] as const).entries())
      jobViews.set(`j${index}`, jobView({ id: `j${index}`, state }));
    const states = async (query: string) =>
      (await get(`/api/v1/jobs${query}`))
        .json<{ jobs: { state: string }[] }>()
        .jobs.map(({ state }) => state);
    expect(await states('')).toEqual(['queued', 'failed', 'completed']);
    expect(await states('?state=failed')).toEqual(['failed']);
    expect(await states('?state=failed,completed')).toEqual(['failed', 'completed']);
    expect(await states('?state=failed&state=completed&limit=1')).toEqual(['failed']);
    expect(await states('?name=other')).toEqual([]);
    expect((await get('/api/v1/jobs/counts')).json()).toMatchObject({
      counts: [{ name: 'ledger.repair', state: 'queued', count: 1 }, {}, {}],
    });
  });

  it('retries failed jobs, cancels queued and running ones, and returns 409 for others', async () => {
    const { get, post, jobViews } = await openServer();
    jobViews.set(someId, jobView({ id: someId, progress: { done: 1 } }));
    expect((await get(`/api/v1/jobs/${someId}`)).json()).toMatchObject({
      state: 'failed',
      progress: { done: 1, total: null, message: null },
    });
    expect((await post(`/api/v1/jobs/${someId}/retry`)).json()).toMatchObject({ state: 'queued' });
    const again = await post(`/api/v1/jobs/${someId}/retry`);
    expect({ status: again.statusCode, body: again.json<unknown>() }).toMatchObject({
      status: 409,
      body: { error: { code: 'CONFLICT', message: expect.stringContaining('is queued') as string } },
    });
    expect((await post(`/api/v1/jobs/${someId}/cancel`)).json()).toMatchObject({ state: 'canceled' });
    expect((await post(`/api/v1/jobs/${someId}/cancel`)).statusCode).toBe(409);
    jobViews.clear();
    expect((await post(`/api/v1/jobs/${someId}/retry`)).statusCode).toBe(404);
    expect((await get(`/api/v1/jobs/${someId}`)).statusCode).toBe(404);
  });
});

describe('the audit trail', () => {
  it('has one row for every change by the admin, whatever its outcome, and none for reads', async () => {
    const { get, post, auditRows } = await openServer();
    await get('/api/v1/jobs');
    await post('/api/v1/ledger/repair', { kind: 'demo.broken' });
    await post(`/api/v1/jobs/${someId}/retry`);
    await post('/api/v1/ledger/repair', { nonsense: adminToken });
    await post('/api/v1/handover');
    expect(
      auditRows
        .toReversed()
        .map(({ actor, action, subject, outcome, status }) => ({ actor, action, subject, outcome, status })),
    ).toEqual([
      { actor: 'admin', action: 'ledger.repair', subject: null, outcome: 'completed', status: 202 },
      { actor: 'admin', action: 'jobs.retry', subject: `id=${someId}`, outcome: 'rejected', status: 404 },
      { actor: 'admin', action: 'ledger.repair', subject: null, outcome: 'rejected', status: 400 },
      { actor: 'admin', action: 'presence.hand-over', subject: null, outcome: 'rejected', status: 409 },
    ]);
  });

  it('has no row for unauthenticated callers', async () => {
    const { server, auditRows } = await openServer();
    await server.inject({ method: 'POST', url: '/api/v1/ledger/repair' });
    await server.inject({
      method: 'POST',
      url: '/api/v1/ledger/repair',
      headers: { authorization: 'Bearer x' },
    });
    expect(auditRows).toEqual([]);
  });

  it('is written before the response is sent', async () => {
    const order: string[] = [];
    const { post } = await openServer({
      audit: {
        record: async () => {
          await Promise.resolve();
          order.push('row');
        },
        list: async () => [],
      },
    });
    await post('/api/v1/ledger/repair').then(() => order.push('answer'));
    expect(order).toEqual(['row', 'answer']);
  });

  it('has the status that is sent, also when the response cannot be redacted', async () => {
    const { post, redactor, auditRows } = await openServer();
    const redact = redactor.content.bind(redactor);
    let calls = 0;
    redactor.content = (text) => {
      if (calls++ === 0) throw new RangeError('Invalid string length');
      return redact(text);
    };
    const { statusCode } = await post('/api/v1/ledger/repair');
    expect(statusCode).toBe(500);
    expect(auditRows.map(({ outcome, status }) => ({ outcome, status }))).toEqual([
      { outcome: 'failed', status: 500 },
    ]);
  });

  it('does not change the response when it cannot be written or hangs', async () => {
    for (const record of [
      () => Promise.reject(new Error('full')),
      () => new Promise<void>(() => undefined),
    ]) {
      const { post, emitted, clock } = await openServer({ audit: { record, list: async () => [] } });
      const answer = await clock.run(post('/api/v1/ledger/repair'));
      expect(answer.statusCode).toBe(202);
      expect(emitted.map(({ name }) => name)).toContain('http:audit-failed');
    }
  });

  it('is read page by page', async () => {
    const { get, post, clock } = await openServer();
    for (let index = 0; index < 3; index++) {
      await post('/api/v1/ledger/repair');
      await clock.advance(1);
    }
    const first = (await get('/api/v1/audit?limit=2')).json<{ entries: { at: string }[]; next: string }>();
    const second = (await get(`/api/v1/audit?limit=2&after=${first.next}`)).json<{ entries: unknown[] }>();
    expect([first.entries.length, second.entries.length]).toEqual([2, 1]);
    expect(second).toMatchObject({ next: null, entries: [{ at: '2026-03-01T12:00:00.000Z' }] });
  });
});

describe('handover', () => {
  it('is accepted by a server that a command started for itself', async () => {
    const { post } = await openServer({
      presence: { attach: () => () => undefined, requestHandover: () => true },
    });
    const answer = await post('/api/v1/handover');
    expect({ status: answer.statusCode, body: answer.json<unknown>() }).toEqual({
      status: 202,
      body: { accepted: true },
    });
  });
});
