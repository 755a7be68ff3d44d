// The tenant API over HTTP: responses, errors, and that no invalid request leaves a slot behind.
import { describe, expect, it, vi } from 'vitest';
import { rejectionError } from '../../src/tenancy/errors.ts';
import { AdmissionError } from '../../src/tenancy/index.ts';
import { CoreError, onAbort } from '../../src/core/index.ts';
import type { ExecutionStore, WorkflowTask } from '../../src/tenancy/index.ts';
import { CountedSlots, acme, exampleDeployment } from '../support/tenancy/execution-world.ts';
import type { CallInit, TenantApiWorld } from '../support/tenancy/tenant-api-world.ts';
import {
  asAcme,
  deploymentPath,
  tenantApiWorld,
  otherKey,
  rawHead,
} from '../support/tenancy/tenant-api-world.ts';

const json = { ...asAcme, 'content-type': 'application/json' };
const echo = async ({ input }: WorkflowTask) => ({
  parameters: input.parameters,
  files: input.files.map(({ name, mediaType, bytes }) => [name, mediaType, Buffer.from(bytes).toString()]),
});

function formOf(...files: readonly [name: string, text: string, type?: string][]): FormData {
  const form = new FormData();
  for (const [name, text, type = 'text/plain'] of files)
    form.append('files', new Blob([text], { type }), name);
  return form;
}

/** Waits in real time for something that depends on the network. */
const soon = (check: () => void | Promise<void>) => vi.waitFor(check, { timeout: 60_000, interval: 5 });

describe('a request', () => {
  it('is accepted as JSON, gets a response at once, and its state can be read repeatedly', async () => {
    const world = await tenantApiWorld({ run: echo });
    const { status, body } = await world.call('POST', deploymentPath, {
      headers: json,
      body: '{"b": 1, "a": "ü"}',
    });
    expect([status, body.status, body.result]).toEqual([200, 'queued', null]);
    expect(Object.keys(body)).toEqual(['execution_id', 'status', 'status_api', 'result']);
    await world.work();
    await world.clock.advance(0);
    for (const _ of [1, 2, 3]) {
      const state = await world.call('GET', body.status_api);
      expect([state.status, state.body.status]).toEqual([200, 'completed']);
      expect(JSON.stringify(state.body.result)).toBe('{"parameters":{"b":1,"a":"ü"},"files":[]}');
    }
    expect(world.slots.held.size).toBe(0);
  });

  it('is accepted as a form with files and fields, and waits for its result', async () => {
    const world = await tenantApiWorld({ run: echo });
    await world.work();
    const form = formOf(['a.txt', 'eins'], ['../b\n.csv', 'zwei', 'text/csv']);
    form.append('tag', 'x');
    form.append('tag', 'y');
    form.append('timeout', '300');
    const { body } = await world.call('POST', deploymentPath, { body: form });
    expect(body.status).toBe('completed');
    expect(body.result).toEqual({
      parameters: { tag: ['x', 'y'] },
      files: [
        ['a.txt', 'text/plain', 'eins'],
        [expect.stringMatching(/^b.*\.csv$/), 'text/csv', 'zwei'],
      ],
    });
  });

  it('may have no body if the workflow needs none', async () => {
    const world = await tenantApiWorld({ run: echo });
    expect(await world.call('POST', `${deploymentPath}?timeout=0`)).toMatchObject({ status: 200 });
    expect(await world.call('POST', `/deployment/api/${acme}/invoices`)).toMatchObject({ status: 200 });
  });

  it.each(['query', 'body'])('waits as long as its %s specifies', async (place) => {
    const world = await tenantApiWorld();
    const calling = world.call('POST', `${deploymentPath}${place === 'query' ? '?timeout=7' : ''}`, {
      headers: json,
      body: place === 'body' ? '{"timeout": 7}' : '{}',
    });
    await soon(() => expect(world.clock.pending).toBeGreaterThanOrEqual(1));
    await soon(async () => expect(await world.store.unfinished()).toHaveLength(1));
    let answered = false;
    void calling.then(() => (answered = true));
    await world.clock.advance(6_999);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(answered).toBe(false);
    await world.clock.advance(1);
    expect((await calling).body.status).toBe('queued');
    expect(world.slots.held.size).toBe(1);
  });

  it('runs once when it is sent twice with one idempotency key', async () => {
    const world = await tenantApiWorld({ run: echo, slots: new CountedSlots(1) });
    const call = (body: string, key = 'once') =>
      world.call('POST', deploymentPath, { headers: { ...json, 'idempotency-key': key }, body });
    const first = await call('{"a":1}');
    expect((await call('{"a":1}')).body).toEqual(first.body);
    expect(await call('{"a":2}')).toMatchObject({
      status: 409,
      body: { type: 'client_error', errors: [{ code: 'deployment_idempotency_conflict' }] },
    });
    await world.work();
    await world.clock.advance(0);
    expect((await call('{"a":1}')).body).toMatchObject({ status: 'completed' });
    expect(await call('{}', 'x'.repeat(256))).toMatchObject({ status: 400 });
  });

  it('is canceled by DELETE', async () => {
    const world = await tenantApiWorld();
    const { body } = await world.call('POST', deploymentPath, { headers: json, body: '{}' });
    const canceled = await world.call('DELETE', body.status_api);
    expect([canceled.status, canceled.body.status]).toEqual([200, 'canceled']);
    expect((await world.call('GET', body.status_api)).body.status).toBe('canceled');
    expect(world.slots.held.size).toBe(0);
  });

  it('that failed has an error and warnings', async () => {
    const world = await tenantApiWorld({
      run: async () => {
        throw new CoreError('DEADLINE_EXCEEDED', 'It took too long.');
      },
    });
    await world.work();
    const { body } = await world.call('POST', `${deploymentPath}?timeout=10`, { headers: json, body: '{}' });
    expect(body).toMatchObject({
      status: 'failed',
      result: null,
      error: { code: 'DEADLINE_EXCEEDED', message: expect.stringMatching(/^This took too long/) as string },
    });
  });
});

describe('a 429', () => {
  const usage = { organization: 20, organizationLimit: 20, global: 93, globalLimit: 100 };
  const rejecting = async (limitedBy: 'organization' | 'global') => {
    const slots = new CountedSlots(1);
    slots.acquire = () => Promise.reject(rejectionError({ limitedBy, usage }, 4_200));
    return (await tenantApiWorld({ slots })).call('POST', deploymentPath, { headers: json, body: '{}' });
  };

  it('has the text of the founding document when the organization is at its limit', async () => {
    const { status, headers, body } = await rejecting('organization');
    expect(status).toBe(429);
    expect(body).toEqual({
      type: 'client_error',
      errors: [
        {
          code: 'error',
          detail:
            'Organization has reached the maximum concurrent API requests limit (20/20). Please try again later.',
          attr: null,
        },
      ],
    });
    expect(headers.get('content-type')).toContain('application/json');
    expect(headers.get('retry-after')).toBe('5');
    expect(headers.get('ratelimit-policy')).toBe('"org";q=20;qu="concurrent-requests"');
    expect(headers.get('ratelimit')).toBe('"org";r=0;t=5');
  });

  it('has that text, and nothing about others, at the global limit', async () => {
    const { status, headers, body } = await rejecting('global');
    expect(status).toBe(429);
    expect(body).toEqual({
      type: 'client_error',
      errors: [
        {
          code: 'error',
          detail: 'Our system is currently experiencing high load. Please try again in a few moments.',
          attr: null,
        },
      ],
    });
    expect(headers.get('retry-after')).toBe('5');
    expect(JSON.stringify([...headers])).not.toMatch(/93|100/);
  });
});

describe('bad input', () => {
  const big = 'x'.repeat(60_000);
  const limits = {
    maxFiles: 2,
    maxFileBytes: 50_000,
    maxBodyBytes: 100_000,
  };
  const bad: readonly [name: string, status: number, path: string, init: CallInit, word?: string][] = [
    ['no key', 401, deploymentPath, { headers: {} }, 'authentication_failed'],
    ['a malformed key', 401, deploymentPath, { headers: { authorization: 'Basic abc' } }],
    ['an unknown key', 401, deploymentPath, { headers: { authorization: 'Bearer hwo_unknown' } }],
    [
      'a key of another kind',
      403,
      deploymentPath,
      { headers: { authorization: 'Bearer hwk_test-gateway-key-0123456789' } },
    ],
    [
      'a key of another organization',
      404,
      deploymentPath,
      { headers: { authorization: `Bearer ${otherKey}` } },
      'not_found',
    ],
    ['an unknown organization', 404, '/deployment/api/unknown/invoices', {}],
    ['an unknown API', 404, '/deployment/api/acme/nothing', {}],
    ['an API with a slash', 404, '/deployment/api/acme/invoices/more', {}],
    ['an API with a hidden slash', 404, '/deployment/api/acme/..%2Finvoices', {}],
    [
      'odd Unicode',
      404,
      `/deployment/api/${encodeURIComponent('ac\u0007me\u202e')}/${encodeURIComponent('🦀')}`,
      {},
    ],
    ['U+0000', 400, '/deployment/api/acme/a%00', {}, 'invalid'],
    ['broken Unicode', 400, '/deployment/api/acme/%ff%fe', {}],
    ['a name of 10,000 characters', 400, `/deployment/api/${'n'.repeat(10_000)}/invoices`, {}],
    ['timeout=abc', 400, `${deploymentPath}?timeout=abc`, {}, 'invalid'],
    ['timeout=301', 400, `${deploymentPath}?timeout=301`, {}],
    ['timeout=-2', 400, `${deploymentPath}?timeout=-2`, {}],
    ['timeout=1.5', 400, `${deploymentPath}?timeout=1.5`, {}],
    ['two timeouts', 400, `${deploymentPath}?timeout=1&timeout=2`, {}],
    ['a timeout that is misspelt', 400, `${deploymentPath}?timout=30`, {}, 'invalid'],
    [
      'a timeout in the body that is none',
      400,
      deploymentPath,
      { headers: json, body: '{"timeout": "soon"}' },
      'invalid',
    ],
    ['wait=abc', 400, `${deploymentPath}?wait=abc`, {}],
    ['wait=61', 400, `${deploymentPath}?wait=61`, {}],
    ['wait=100000', 400, `${deploymentPath}?wait=100000`, {}],
    ['broken JSON', 400, deploymentPath, { headers: json, body: '{"a":' }],
    ['JSON that is no object', 400, deploymentPath, { headers: json, body: '[1]' }],
    [
      'a body of no known type',
      415,
      deploymentPath,
      { headers: { ...asAcme, 'content-type': 'text/plain' }, body: 'x' },
    ],
    [
      'JSON in another charset than UTF-8',
      415,
      deploymentPath,
      { headers: { ...asAcme, 'content-type': 'application/json; charset=utf-16' }, body: '{}' },
      'unsupported_media_type',
    ],
    [
      'a compressed body',
      415,
      deploymentPath,
      { headers: { ...json, 'content-encoding': 'gzip' }, body: 'x' },
      'unsupported_media_type',
    ],
    [
      'a form without boundary',
      400,
      deploymentPath,
      { headers: { ...asAcme, 'content-type': 'multipart/form-data' }, body: 'x' },
    ],
    [
      'a form that is cut off',
      400,
      deploymentPath,
      {
        headers: { ...asAcme, 'content-type': 'multipart/form-data; boundary=b' },
        body: '--b\r\ncontent-disposition: form-data; name="f"; filename="a"\r\n\r\nabc',
      },
    ],
    ...['text/pl\0ain', 'text/plain\x1b; charset=utf-8'].map((type): (typeof bad)[number] => [
      `a file of type ${JSON.stringify(type)}`,
      400,
      deploymentPath,
      {
        headers: { ...asAcme, 'content-type': 'multipart/form-data; boundary=b' },
        body: `--b\r\ncontent-disposition: form-data; name="f"; filename="a"\r\ncontent-type: ${type}\r\n\r\nabc\r\n--b--`,
      },
      'invalid',
    ]),
    ...["filename*=utf-8''contract%00.txt", `filename="${'x'.repeat(300)}.txt"`].map(
      (name): (typeof bad)[number] => [
        `a file with ${name.slice(0, 40)}`,
        400,
        deploymentPath,
        {
          headers: { ...asAcme, 'content-type': 'multipart/form-data; boundary=b' },
          body: `--b\r\ncontent-disposition: form-data; name="f"; ${name}\r\n\r\nabc\r\n--b--`,
        },
        'invalid',
      ],
    ),
    ['too many files', 413, deploymentPath, { body: formOf(['a', '1'], ['b', '2'], ['c', '3']) }],
    ['a file that is too large', 413, deploymentPath, { body: formOf(['a', big]) }],
    [
      'files that are too large together',
      413,
      deploymentPath,
      { body: formOf(['a', 'x'.repeat(49_900)], ['b', 'x'.repeat(49_900)]) },
    ],
    [
      'a stream that is too large',
      413,
      deploymentPath,
      { headers: json, body: new Blob([big, big]).stream() },
    ],
    [
      'JSON with too many fields',
      413,
      deploymentPath,
      {
        headers: json,
        body: JSON.stringify(Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`k${index}`, 1]))),
      },
    ],
    [
      'JSON that is too large',
      413,
      deploymentPath,
      { headers: json, body: JSON.stringify({ big: big + big }) },
    ],
    [
      'what the workflow does not take',
      400,
      deploymentPath,
      { headers: json, body: '{"bad": 1}' },
      'invalid',
    ],
  ];

  it.each(bad)(
    '%s gets status %d, in the shape of the founding document, and holds no slot',
    async (_name, status, path, init, word) => {
      const world = await tenantApiWorld({
        options: limits,
        checkInput: async (_options, { parameters }) =>
          'bad' in parameters ? [{ field: 'bad', message: 'must not be there' }] : [],
      });
      const answer = await world.call('POST', path, init);
      expect({ ...answer.body, status: answer.status }).toEqual({
        status,
        type: status === 400 ? 'validation_error' : 'client_error',
        errors: [
          {
            code: word ?? (expect.any(String) as string),
            detail: expect.stringMatching(/./) as string,
            attr: expect.toSatisfy((attr: unknown) => attr === null || typeof attr === 'string') as string,
          },
        ],
      });
      await soon(() => expect(world.slots.held.size).toBe(0));
      expect(world.slots.renewedHere.size).toBe(0);
      expect(await world.store.list({ limit: 9 })).toEqual([]);
    },
  );

  it('names the wrong field', async () => {
    const world = await tenantApiWorld();
    const query = await world.call('POST', `${deploymentPath}?timeout=abc`);
    expect(query.body.errors).toMatchObject([{ attr: 'timeout' }]);
    const strange = await world.call('POST', `${deploymentPath}?timout=30&wiat=1`);
    expect(strange.body.errors).toMatchObject([{ attr: 'timout' }, { attr: 'wiat' }]);
    const state = await world.call('GET', `${deploymentPath}?execution_id=${exampleDeployment().id}&wait=1`);
    expect(state.body.errors).toMatchObject([{ attr: 'wait' }]);
    const body = await world.call('POST', deploymentPath, { headers: json, body: '{"timeout": 500}' });
    expect(body.body.errors).toMatchObject([{ attr: 'timeout' }]);
    const wait = await world.call('POST', `${deploymentPath}?wait=100000`);
    expect(wait.body.errors).toEqual([
      { code: 'invalid', detail: '"wait" must be from 0 to 60 seconds.', attr: 'wait' },
    ]);
  });

  it('reports a field that was sent twice', async () => {
    const world = await tenantApiWorld();
    const twice = { code: 'invalid', detail: expect.stringMatching(/send it once/) as string };
    const query = await world.call('POST', `${deploymentPath}?timeout=5&timeout=6&wait=1&wait=2`);
    expect(query.body.errors).toEqual([
      { ...twice, attr: 'timeout' },
      { ...twice, attr: 'wait' },
    ]);
    const form = new FormData();
    form.append('timeout', '5');
    form.append('timeout', '6');
    const { body } = await world.call('POST', deploymentPath, { body: form });
    expect(body.errors).toEqual([{ ...twice, attr: 'timeout' }]);
  });

  it.each(['utf-8', 'UTF8', '"utf-8"'])('does not include JSON with charset %s', async (charset) => {
    const world = await tenantApiWorld();
    const headers = { ...asAcme, 'content-type': `application/json; charset=${charset}` };
    expect(await world.call('POST', deploymentPath, { headers, body: '{"a": "ü"}' })).toMatchObject({
      status: 200,
    });
  });

  it('in a status request returns 404 or 400, never another tenant’s execution', async () => {
    const world = await tenantApiWorld({
      deployments: [
        exampleDeployment(),
        exampleDeployment({ id: '0195a1b2-0000-7000-8000-00000000000b', name: 'second' }),
      ],
    });
    const { body } = await world.call('POST', deploymentPath, { headers: json, body: '{}' });
    const query = `?execution_id=${body.execution_id}`;
    const otherOrganization = { headers: { authorization: `Bearer ${otherKey}` } };
    for (const method of ['GET', 'DELETE']) {
      const answers = [
        await world.call(method, deploymentPath + query, otherOrganization),
        await world.call(method, `/deployment/api/other/invoices${query}`, otherOrganization),
        await world.call(method, `/deployment/api/acme/second${query}`),
        await world.call(method, `${deploymentPath}?execution_id=0195a1b2-0000-7000-8000-0000000000ff`),
      ];
      expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404]);
      expect(await world.call(method, deploymentPath)).toMatchObject({ status: 400 });
      expect(await world.call(method, `${deploymentPath}?execution_id=1`)).toMatchObject({ status: 400 });
    }
    expect((await world.call('GET', body.status_api)).body.status).toBe('queued');
  });

  it('in a path or method has the same shape', async () => {
    const world = await tenantApiWorld();
    expect(await world.call('PUT', deploymentPath)).toMatchObject({
      status: 405,
      body: { type: 'client_error', errors: [{ code: 'method_not_allowed', attr: null }] },
    });
    expect(await world.call('GET', '/deployment/api/acme')).toMatchObject({
      status: 404,
      body: { type: 'client_error', errors: [{ code: 'not_found' }] },
    });
    expect(await world.call('GET', '/deployment/api')).toMatchObject({
      status: 404,
      body: { errors: [{ code: 'not_found' }] },
    });
  });

  it.each([
    new CoreError('STATE_UNAVAILABLE', 'The Postgres server (db.internal:5432) does not answer.'),
    new AdmissionError('ADMISSION_UNAVAILABLE', 'Redis at db.internal:6379 is away.'),
  ])('a store that is down is a 503 without its address ($code)', async (away) => {
    const world = await tenantApiWorld();
    world.store.dispatch = () => Promise.reject(away);
    const { status, headers, body } = await world.call('POST', deploymentPath, { headers: json, body: '{}' });
    expect([status, body.type, headers.get('retry-after')]).toEqual([503, 'server_error', '2']);
    expect(body.errors).toEqual([
      {
        code: away.code.toLowerCase(),
        detail: 'The service is not available at the moment. Please try again in a few moments.',
        attr: null,
      },
    ]);
    expect(world.slots.held.size).toBe(0);
  });

  it('a store that hangs is a 503 after five seconds, with no slot held', async () => {
    const world = await tenantApiWorld();
    const hanging = vi.fn(
      (signal?: AbortSignal) =>
        new Promise<never>((_, reject) => void onAbort(signal, (reason) => reject(reason))),
    );
    const store: ExecutionStore = world.store;
    store.dispatch = (_execution, _input, _enqueue, limits) => hanging(limits?.signal);
    store.byIdempotencyKey = (_deployment, _key, signal) => hanging(signal);
    store.get = (_id, signal) => hanging(signal);
    const state = `${deploymentPath}?execution_id=${exampleDeployment().id}`;
    const calls = [
      world.call('POST', deploymentPath, { headers: json, body: '{}' }),
      world.call('POST', deploymentPath, { headers: { ...json, 'idempotency-key': 'k' }, body: '{}' }),
      world.call('GET', state),
      world.call('DELETE', state),
    ];
    await soon(() => expect(hanging).toHaveBeenCalledTimes(calls.length));
    expect(world.slots.held.size).toBe(1);
    await world.clock.advance(5_000);
    for (const { status, headers, body } of await Promise.all(calls)) {
      expect([status, headers.get('retry-after')]).toEqual([503, '2']);
      expect(body.errors).toMatchObject([{ code: 'state_unavailable' }]);
    }
    expect(world.slots.held.size).toBe(0);
  });

  it('a store that fails after a request was accepted does not fail the request', async () => {
    const world = await tenantApiWorld();
    world.store.get = () => Promise.reject(new CoreError('STATE_UNAVAILABLE', 'away'));
    const { status, body } = await world.call('POST', `${deploymentPath}?timeout=300`, {
      headers: json,
      body: '{}',
    });
    expect([status, body.status]).toEqual([200, 'queued']);
    expect(await world.store.unfinished()).toMatchObject([{ executionId: body.execution_id }]);
  });

  it('differs from an internal error, which returns 500 without details', async () => {
    const world = await tenantApiWorld();
    world.store.dispatch = () => Promise.reject(new TypeError('secret internals'));
    const { status, body } = await world.call('POST', deploymentPath, { headers: json, body: '{}' });
    expect([status, body.type]).toEqual([500, 'server_error']);
    expect(JSON.stringify(body)).not.toContain('internals');
    expect(world.slots.held.size).toBe(0);
  });
});

describe('a body that does not arrive', () => {
  const limits = { minUploadBytesPerSecond: 1_024, uploadTimeoutSeconds: 60 };
  const holding = (world: TenantApiWorld) => soon(() => expect(world.slots.held.size).toBe(1));

  it('is aborted with 408 when it arrives too slowly, and the slot is released', async () => {
    const world = await tenantApiWorld({ options: limits });
    const { socket, received, closed } = world.socket(`${rawHead(1_000_000)}{"a":"`);
    await holding(world);
    for (let second = 0; second < 4; second++) {
      socket.write('x'.repeat(100));
      await new Promise((resolve) => setTimeout(resolve, 10));
      await world.clock.advance(1_000);
    }
    expect(world.slots.held.size).toBe(1);
    await world.clock.advance(1_300);
    await soon(() => expect(received()).toContain('HTTP/1.1 408'));
    expect(received()).toMatch(/^connection: close\r$/im);
    await soon(() => expect(received()).toContain('"type":"client_error"'));
    expect(world.slots.held.size).toBe(0);
    // One that continues to send is disconnected.
    await world.clock.advance(5_000);
    await closed;
  });

  it('may arrive slowly above the minimum rate, but not longer than the timeout', async () => {
    const world = await tenantApiWorld({ options: limits });
    const { socket, received } = world.socket(`${rawHead(1_000_000)}{"a":"`);
    await holding(world);
    for (let second = 0; second < 59; second += 5) {
      socket.write('x'.repeat(6_000));
      await new Promise((resolve) => setTimeout(resolve, 20));
      await world.clock.advance(4_900);
      expect(world.slots.held.size).toBe(1);
    }
    await world.clock.advance(5_000);
    await soon(() => expect(received()).toContain('HTTP/1.1 408'));
    expect(world.slots.held.size).toBe(0);
  });

  it.each([
    ['JSON', rawHead(1_000)],
    ['a form', rawHead(1_000, 'multipart/form-data; boundary=b')],
  ])('releases the slot when its caller disconnects (%s)', async (_kind, head) => {
    const world = await tenantApiWorld({ options: limits });
    const { socket } = world.socket(`${head}--b\r\ncontent-disposition: form-data; name="f"\r\n\r\nabc`);
    await holding(world);
    socket.destroy();
    await soon(() => expect(world.slots.held.size).toBe(0));
    expect(world.slots.releases).toHaveLength(1);
    expect(await world.store.list({ limit: 1 })).toEqual([]);
  });

  it('is not requested (100-continue) when there is no slot', async () => {
    const world = await tenantApiWorld({ slots: new CountedSlots(0) });
    const { received } = world.socket(rawHead(50_000, 'application/json', 'expect: 100-continue\r\n'));
    await soon(() => expect(received()).toContain('HTTP/1.1 429'));
    expect(received()).not.toContain('100 Continue');
    const open = await tenantApiWorld();
    const connection = open.socket(rawHead(2, 'application/json', 'expect: 100-continue\r\n'));
    await soon(() => expect(connection.received()).toContain('100 Continue'));
    connection.socket.write('{}');
    await soon(() => expect(connection.received()).toContain('HTTP/1.1 200'));
  });

  it('is drained after a rejection, and the connection closed', async () => {
    const world = await tenantApiWorld({ slots: new CountedSlots(0) });
    const { socket, received, closed } = world.socket(`${rawHead(500_000)}{`);
    await soon(() => expect(received()).toMatch(/^HTTP\/1\.1 429[^]*"type":"client_error"/));
    expect(received()).toMatch(/^connection: close\r$/im);
    expect(socket.closed).toBe(false);
    socket.write('x'.repeat(499_999));
    await closed;
    // There is nothing left to discard here, and the connection stays open.
    const { headers } = await world.call('POST', deploymentPath, { headers: json, body: '{}' });
    expect(headers.get('connection')).toBe('keep-alive');
  });

  it('does not extend the timeout of other routes', async () => {
    const world = await tenantApiWorld();
    const { received, closed } = world.socket(
      'POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer hwk_test-gateway-key-0123456789\r\n' +
        'content-type: application/json\r\ncontent-length: 100\r\nexpect: 100-continue\r\n\r\n{',
    );
    await soon(() => expect(received()).toContain('100 Continue'));
    await world.clock.advance(30_000);
    await closed;
    expect(received()).toContain('HTTP/1.1 408');
    expect(received()).toContain('HTTP_REQUEST_TOO_SLOW');
  });
});

describe('a caller that disconnects', () => {
  it('before its request was accepted creates no execution, and its slot is released', async () => {
    const checking = Promise.withResolvers<void>();
    const checked = Promise.withResolvers<readonly []>();
    const world = await tenantApiWorld({
      checkInput: () => {
        checking.resolve();
        return checked.promise;
      },
    });
    const { socket } = world.socket(`${rawHead(2)}{}`);
    await checking.promise;
    socket.destroy();
    await soon(() => expect(world.server.traffic.inFlight).toBe(0));
    checked.resolve([]);
    await soon(() => expect(world.slots.releases).toHaveLength(1));
    expect(await world.store.list({ limit: 1 })).toEqual([]);
  });

  it('after its request was accepted releases nothing: the execution continues', async () => {
    const world = await tenantApiWorld({ run: async () => 'done anyway' });
    const leaving = new AbortController();
    const calling = world.call('POST', `${deploymentPath}?timeout=300`, {
      headers: json,
      body: '{}',
      signal: leaving.signal,
    });
    await soon(async () => expect(await world.store.unfinished()).toHaveLength(1));
    leaving.abort();
    await expect(calling).rejects.toThrow();
    await soon(() => expect(world.server.traffic.inFlight).toBe(0));
    expect(world.slots.held.size).toBe(1);
    expect(world.slots.releases).toEqual([]);
    await world.work();
    await world.clock.advance(0);
    expect(await world.store.list({ limit: 9 })).toMatchObject([{ status: 'completed' }]);
    expect(world.slots.held.size).toBe(0);
  });

  it('while the server drains gets the current state', async () => {
    const world = await tenantApiWorld();
    const calling = world.call('POST', `${deploymentPath}?timeout=300`, { headers: json, body: '{}' });
    await soon(async () => expect(await world.store.unfinished()).toHaveLength(1));
    world.server.traffic.stopAccepting();
    expect(await calling).toMatchObject({ status: 200, body: { status: 'queued' } });
    expect(await world.call('POST', deploymentPath)).toMatchObject({
      status: 503,
      body: { type: 'server_error', errors: [{ code: 'shutting_down' }] },
    });
  });
});
