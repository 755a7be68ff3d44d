import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import * as fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ErrorResponse } from '../../src/api/fields.ts';
import { CoreError, HeadworksError, coreErrorCodes, systemClock } from '../../src/core/index.ts';
import { extractionErrorCodes } from '../../src/extraction/errors.ts';
import { parseRequest } from '../../src/gateway/dialects/parse-request.ts';
import { GatewayError, gatewayErrorCodes } from '../../src/gateway/errors.ts';
import { toErrorResponse } from '../../src/http/errors.ts';
import { buildServer } from '../../src/http/index.ts';
import { errorMapping } from '../../src/http/errors.ts';
import { httpErrorCodes } from '../../src/http/errors.ts';
import { knowledgeErrorCodes } from '../../src/knowledge/errors.ts';
import { ledgerErrorCodes } from '../../src/ledger/index.ts';
import { admissionErrorCodes, deploymentErrorCodes } from '../../src/tenancy/errors.ts';
import { asAdmin, organizationKey, createTestDeps } from '../support/http-dependencies.ts';
import { secrets } from '../support/secrets.ts';

interface ErrorBody {
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly request_id: string;
    readonly retry_after_seconds?: number;
    readonly details?: {
      readonly problems?: readonly { readonly field: string; readonly message: string }[];
    };
  };
}

/** A server whose doctor fails with this. */
async function failing(error: unknown) {
  const setup = createTestDeps({
    doctor: () => {
      throw error;
    },
  });
  const server = await buildServer(setup.dependencies);
  return { ...setup, answer: await server.inject({ url: '/api/v1/doctor', headers: asAdmin }) };
}

describe('error responses', () => {
  it('exist for every code, with an error status', () => {
    const codes = Object.keys({
      ...coreErrorCodes,
      ...ledgerErrorCodes,
      ...extractionErrorCodes,
      ...gatewayErrorCodes,
      ...admissionErrorCodes,
      ...deploymentErrorCodes,
      ...knowledgeErrorCodes,
      ...httpErrorCodes,
    }).sort();
    expect(Object.keys(errorMapping).sort()).toEqual(codes);
    for (const { status } of Object.values(errorMapping)) expect(status).toBeGreaterThanOrEqual(400);
  });

  it('have code, message and details in snake_case, with the request id', async () => {
    const { answer } = await failing(
      new CoreError('CONFLICT', 'It is there already.', {
        details: { thingId: 7, deepThing: { innerName: 1 } },
      }),
    );
    expect(answer.statusCode).toBe(409);
    expect(answer.json()).toEqual({
      error: {
        code: 'CONFLICT',
        message: 'It is there already.',
        request_id: answer.headers['x-request-id'],
        details: { thing_id: 7, deep_thing: { inner_name: 1 } },
      },
    });
  });

  it('have status 503 with Retry-After while the state store is down', async () => {
    const { answer } = await failing(new CoreError('STATE_UNAVAILABLE', 'Postgres is away.'));
    expect(answer.statusCode).toBe(503);
    expect(answer.headers['retry-after']).toBe('2');
    expect(answer.json<ErrorBody>().error.retry_after_seconds).toBe(2);
  });

  it('show the address of a store to the admin only', async () => {
    const away = new CoreError(
      'STATE_UNAVAILABLE',
      'The Postgres server (db.internal:5432) does not answer.',
    );
    const { answer: toAdmin } = await failing(away);
    expect(toAdmin.json<ErrorBody>().error.message).toContain('db.internal');
    const { dependencies } = createTestDeps({ mcp: () => Promise.reject(away) });
    const server = await buildServer(dependencies);
    const headers = { authorization: `Bearer ${organizationKey}` };
    const toTenant = await server.inject({ method: 'POST', url: '/mcp', headers, payload: {} });
    expect(toTenant.statusCode).toBe(503);
    expect(toTenant.json<ErrorBody>().error).toMatchObject({
      code: 'STATE_UNAVAILABLE',
      message: 'A store of this server is unavailable.',
      retry_after_seconds: 2,
    });
  });

  it('round Retry-After up to whole seconds', async () => {
    const { answer } = await failing(new CoreError('REDIS_UNAVAILABLE', 'away', { retryAfterMs: 1_200 }));
    expect(answer.headers['retry-after']).toBe('2');
    expect(answer.json<ErrorBody>().error.retry_after_seconds).toBe(1.2);
    expect(toErrorResponse(new CoreError('CONFLICT', '', { retryAfterMs: 0 }), 'id').retryAfterHeader).toBe(
      '1',
    );
  });

  it.each([
    [Object.assign(new Error('EMFILE: too many open files'), { code: 'EMFILE' }), /cannot open more files/],
    [
      new CoreError('DATA_FOLDER_UNUSABLE', 'inner workings', {
        cause: Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' }),
      }),
      /no disk space left/,
    ],
  ])('have status 503, the cause and a remedy when disk or files are used up (%s)', async (error, text) => {
    const { answer } = await failing(error);
    expect(answer.statusCode).toBe(503);
    expect(answer.headers['retry-after']).toBeDefined();
    expect(answer.json<ErrorBody>().error).toMatchObject({
      code: 'STATE_UNAVAILABLE',
      message: expect.stringMatching(text) as string,
    });
  });

  it.each([
    new Error('the password is hunter2'),
    new TypeError('x is not a function'),
    'a string',
    undefined,
    new HeadworksError('UNMAPPED_CODE', 'inner workings'),
    new CoreError('STATE_NESTED_QUERY', 'inner workings', { details: { query: 'select' } }),
    Object.assign(new Error('odd'), { statusCode: 503 }),
  ])('hide an unexpected error (%s) and log it', async (error) => {
    const { answer, logged } = await failing(error);
    expect(answer.statusCode).toBe(500);
    const { message, request_id: requestId, details } = answer.json<ErrorBody>().error;
    expect(message).toBe(
      `An internal error occurred. The server log has details under request id ${requestId}.`,
    );
    expect(details).toBeUndefined();
    expect(logged).toEqual([
      { message: expect.any(String) as string, fields: expect.objectContaining({ requestId }) as object },
    ]);
  });

  it('hide responses that violate their schema', async () => {
    const { dependencies, logged } = createTestDeps({ version: 5 as unknown as string });
    const server = await buildServer(dependencies);
    const answer = await server.inject('/healthz');
    expect(answer.statusCode).toBe(500);
    expect(answer.json<ErrorBody>().error.code).toBe('INTERNAL');
    expect(logged).toHaveLength(1);
  });

  it('are sent although the route documents another shape for their status', async () => {
    const { dependencies } = createTestDeps();
    const capped = new GatewayError('GATEWAY_KEY_LIMIT_REACHED', 'The key has used its tokens.');
    const gateway = { ...dependencies.gateway, parseRequest, complete: () => Promise.reject(capped) };
    const server = await buildServer({ ...dependencies, gateway });
    const call = { method: 'POST', url: '/api/v1/prompts/process', headers: asAdmin } as const;
    const answer = await server.inject({ ...call, payload: { prompt: 'Hello?' } });
    expect(answer.statusCode).toBe(429);
    expect(answer.json<ErrorBody>().error.code).toBe('GATEWAY_KEY_LIMIT_REACHED');
  });

  it('have one shape, whatever was thrown', () => {
    const anything = fc.anything({ withBigInt: true, withDate: true, withMap: true });
    const thrown = fc.oneof(
      anything,
      fc.string().map((text) => new Error(text)),
      anything.map((value) => new CoreError('CONFLICT', 'x', { details: { value } })),
    );
    fc.assert(
      fc.property(thrown, (value) => {
        const { body } = toErrorResponse(value, 'some-id');
        expect(ErrorResponse.safeParse(JSON.parse(JSON.stringify(body))).success).toBe(true);
      }),
    );
  });

  it('mask text that looks like a secret even if it is not registered', async () => {
    const setup = createTestDeps({
      doctor: () => {
        throw new CoreError('CONFLICT', 'cannot reach postgres://app:hunter2-hunter2@db/x');
      },
    });
    const server = await buildServer(setup.dependencies);
    const { error } = (await server.inject({ url: '/api/v1/doctor', headers: asAdmin })).json<{
      error: { message: string };
    }>();
    expect(error.message).toBe('cannot reach postgres://app:[redacted]@db/x');
  });

  it('explain which credentials to send', async () => {
    const server = await buildServer(createTestDeps().dependencies);
    const { error } = (await server.inject('/api/v1/doctor')).json<{ error: { message: string } }>();
    expect(error.message).toBe(
      'Credentials are required. Send the admin token as bearer token in the Authorization header; ' +
        'it was printed at the first start, or set as HEADWORKS_ADMIN_TOKEN.',
    );
  });

  it('do not echo a request id that contains a secret', async () => {
    const setup = createTestDeps();
    setup.redactor.add('hw_admin_0123456789');
    const server = await buildServer(setup.dependencies);
    const answer = await server.inject({ url: '/nope', headers: { 'x-request-id': 'hw_admin_0123456789' } });
    expect(JSON.stringify(answer.headers) + answer.body).not.toContain('0123456789');
  });

  it('contain no secret, wherever it was sent', async () => {
    await fc.assert(
      fc.asyncProperty(secrets, async (secret) => {
        const setup = createTestDeps({
          doctor: () => {
            throw new CoreError('CONFLICT', `with ${secret} in it`, {
              details: { [secret]: [{ at: secret }] },
            });
          },
          configView: () => ({
            file: secret,
            options: [
              {
                name: secret,
                value: { deep: [secret] },
                source: 'env',
                sourceName: secret,
                env: [secret],
                flag: secret,
                allowed: secret,
                default: secret,
                description: secret,
                isSecret: false,
              },
            ],
            warnings: [secret],
          }),
        });
        setup.redactor.add(secret);
        const server = await buildServer(setup.dependencies);
        for (const url of ['/api/v1/doctor', '/api/v1/config']) {
          const answer = await server.inject({ url, headers: asAdmin });
          const strings: string[] = [];
          JSON.stringify(answer.json(), (key, value: unknown) => {
            strings.push(key, String(value));
            return value;
          });
          for (const text of strings) expect(text).not.toContain(secret);
        }
      }),
      { numRuns: 15 },
    );
  });
});

describe('bad input', async () => {
  const { dependencies } = createTestDeps({ limits: { bodyLimitBytes: 2_000 } });
  const server = await buildServer(dependencies);
  const post = (payload: string, type = 'application/json') =>
    server.inject({
      method: 'POST',
      url: '/api/v1/ledger/repair',
      headers: { ...asAdmin, 'content-type': type },
      payload,
    });

  it('returns every problem in one response, by field', async () => {
    const answer = await server.inject({
      url: '/api/v1/ledger?limit=0&state=broken&color=red',
      headers: asAdmin,
    });
    expect(answer.statusCode).toBe(400);
    const { code, message, details } = answer.json<ErrorBody>().error;
    expect(code).toBe('INPUT_INVALID');
    expect(details?.problems?.map(({ field }) => field).sort()).toEqual([
      'query.color',
      'query.limit',
      'query.state',
    ]);
    expect(message).toContain('query.limit: must be a whole number from 1 to 500');
    for (const name of ['query.limit', 'query.state', 'query.color']) expect(message).toContain(name);
  });

  it.each(['limit=abc', 'limit=', 'limit=1.5', 'limit=501', 'limit=-1', 'limit=1&limit=2', 'after=1'])(
    'rejects ?%s',
    async (query) => {
      expect((await server.inject({ url: `/api/v1/ledger?${query}`, headers: asAdmin })).statusCode).toBe(
        400,
      );
    },
  );

  it.each(['not-an-id', '..%2f..%2fetc', '%00', "1';drop table x;--"])('rejects %s as an id', async (id) => {
    const answer = await server.inject({ url: `/api/v1/jobs/${id}`, headers: asAdmin });
    expect(answer.statusCode).toBe(400);
    expect(answer.json<ErrorBody>().error.details?.problems?.[0]?.field).toBe('path.id');
  });

  it.each(['{', 'nonsense', '{"kind":}', '{"__proto__":{"kind":"x"}}', '{"constructor":{"prototype":{}}}'])(
    'rejects the body %s',
    async (body) => {
      const answer = await post(body);
      expect(answer.statusCode).toBe(400);
      expect(answer.json<ErrorBody>().error.code).toBe('INPUT_INVALID');
    },
  );

  it('is rejected when JSON is nested a thousand levels deep', async () => {
    expect((await post(`${'['.repeat(900)}${']'.repeat(900)}`)).statusCode).toBe(400);
    expect((await post(`{"kind":${'{"a":'.repeat(300)}1${'}'.repeat(300)}}`)).statusCode).toBe(400);
  });

  it('treats an empty body as no body', async () => {
    expect((await post('')).statusCode).toBe(202);
  });

  it('rejects bodies that are too large or not JSON', async () => {
    const large = await post(JSON.stringify({ kind: 'x'.repeat(3_000) }));
    expect([large.statusCode, large.json<ErrorBody>().error]).toMatchObject([
      413,
      {
        code: 'HTTP_BODY_TOO_LARGE',
        message: 'The request body is larger than 2 KiB. Send less at once, or raise server.bodyLimitBytes.',
      },
    ]);
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'nonsense',
    ]) {
      const answer = await post('kind=x', type);
      expect([answer.statusCode, answer.json<ErrorBody>().error.code]).toEqual([
        415,
        'HTTP_CONTENT_TYPE_UNSUPPORTED',
      ]);
    }
  });

  it('returns 404 for unknown paths and 405 for unsupported methods in JSON', async () => {
    const nothing = await server.inject('/api/v2/nothing');
    expect([nothing.statusCode, nothing.json<ErrorBody>().error.code]).toEqual([404, 'NOT_FOUND']);
    const method = await server.inject({ method: 'DELETE', url: '/api/v1/jobs/some-id?x=1' });
    expect(method.statusCode).toBe(405);
    expect(method.headers.allow).toBe('GET, HEAD');
    const repair = await server.inject({ method: 'PUT', url: '/api/v1/ledger/repair' });
    expect(repair.headers.allow).toBe('GET, HEAD, POST');
  });

  it('rejects a URL that cannot be decoded', async () => {
    const answer = await server.inject('/api/v1/jobs/%zz');
    expect(answer.statusCode).toBe(400);
    expect(answer.json<ErrorBody>().error.request_id).toBe(answer.headers['x-request-id']);
    expect((await server.inject(`/api/v1/jobs/${'x'.repeat(5_000)}`)).statusCode).toBe(400);
  });
});

describe('request ids', async () => {
  const server = await buildServer(createTestDeps().dependencies);
  const idFor = async (given?: string) =>
    (await server.inject({ url: '/healthz', headers: given === undefined ? {} : { 'x-request-id': given } }))
      .headers['x-request-id'];

  it('are those of the caller when safe, else generated', async () => {
    expect(await idFor('trace-1234.abc:7')).toBe('trace-1234.abc:7');
    for (const strange of [
      'short',
      'with space in it',
      'x'.repeat(200),
      '<script>alert(1)</script>',
      undefined,
    ])
      expect(await idFor(strange)).toMatch(/^[0-9a-f-]{36}$/);
  });
});

describe('common response headers', async () => {
  const server = await buildServer(createTestDeps().dependencies);

  it.each(['/healthz', '/nothing', '/api/v1/jobs', '/docs', '/openapi.json'])(
    'has safe headers on %s',
    async (url) => {
      const { headers } = await server.inject(url);
      expect(headers).toMatchObject({
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
      });
      expect(headers['content-security-policy']).toContain("default-src 'none'");
      expect(headers['x-powered-by']).toBeUndefined();
    },
  );
});

describe('input that is not HTTP', () => {
  async function listening(limits: object) {
    const server = await buildServer(createTestDeps({ limits, clock: systemClock }).dependencies);
    await server.listen({ port: 0, host: '127.0.0.1' });
    onTestFinished(() => server.close());
    return (server.server.address() as AddressInfo).port;
  }

  /** Everything the server sends until it disconnects. */
  const send = (port: number, text: string) =>
    new Promise<string>((resolve, reject) => {
      let received = '';
      const socket = connect(port, '127.0.0.1', () => socket.write(text));
      socket.on('data', (piece) => (received += piece.toString()));
      socket.on('close', () => resolve(received)).on('error', reject);
    });

  it('is rejected without a Host header', async () => {
    const port = await listening({});
    expect(await send(port, 'GET /healthz HTTP/1.0\r\n\r\n')).toContain('"code":"HTTP_HOST_NOT_ALLOWED"');
  });

  it('gets an error in JSON, and the connection is closed', async () => {
    const port = await listening({});
    const answer = await send(port, 'nonsense\r\n\r\n');
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).toContain('"code":"INPUT_INVALID"');
    const large = await send(port, `GET / HTTP/1.1\r\nhost: localhost\r\nx: ${'x'.repeat(100_000)}\r\n\r\n`);
    expect(large).toContain('"code":"HTTP_HEADERS_TOO_LARGE"');
  });

  const unfinished = (path: string) =>
    `POST ${path} HTTP/1.1\r\nhost: localhost\r\nauthorization: ${asAdmin.authorization}\r\n` +
    'content-type: application/json\r\ncontent-length: 10\r\n\r\n{';

  it.each([
    ['headers', 'GET / HTTP/1.1\r\nhost: localhost\r\n'],
    ['the body', unfinished('/api/v1/ledger/repair')],
    ['the body of a chat request', unfinished('/v1/chat/completions')],
  ])('ends %s after a timeout', async (_what, text) => {
    const port = await listening({ headersTimeoutMs: 300, requestTimeoutMs: 500 });
    const answer = await send(port, text);
    expect(answer).toMatch(/^HTTP\/1\.1 408 /);
    expect(answer).toContain('"code":"HTTP_REQUEST_TOO_SLOW"');
  });
});
