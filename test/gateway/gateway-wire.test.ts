// /v1 on the wire: unusual, slow and disconnecting callers, and what reaches the provider.
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { drain } from '../../src/http/index.ts';
import { gatewayWorld } from '../support/gateway/gateway-world.ts';
import type { GatewayWorld } from '../support/gateway/gateway-world.ts';
import { adminToken, asAdmin } from '../support/http-dependencies.ts';

const one = (model: object = {}) => ({ providers: [{ name: 'alpha', models: [{ name: 'a', ...model }] }] });
const question = { model: 'auto', messages: [{ role: 'user', content: 'hello' }] };
const manyWords = 'word '.repeat(400).trim();

interface ErrorBody {
  readonly error: {
    readonly message: string;
    readonly type: string;
    readonly code: string;
    readonly headworks_code: string;
    readonly request_id: string;
  };
}
const errorOf = async (answer: Response) => ((await answer.json()) as ErrorBody).error;

/** A raw connection for the test. */
async function dial(at: GatewayWorld): Promise<Socket> {
  const socket = connect(Number(new URL(at.url).port), '127.0.0.1');
  socket.on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  return socket;
}

const head = (length: number | 'chunked', more = '') =>
  `POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${adminToken}\r\n` +
  `content-type: application/json\r\n${more}` +
  (length === 'chunked' ? 'transfer-encoding: chunked\r\n\r\n' : `content-length: ${length}\r\n\r\n`);

/** Everything received until the text matches. */
async function until(socket: Socket, pattern: RegExp): Promise<string> {
  let text = '';
  for await (const piece of socket.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    text += piece.toString();
    if (pattern.test(text)) return text;
  }
  throw new Error(`It ended without ${pattern}: ${text}`);
}

describe('paths below /v1', () => {
  it("that do not exist, and unsupported methods, are rejected in OpenAI's format", async () => {
    const at = await gatewayWorld(one());
    for (const [method, path, status, allow] of [
      ['GET', '/v1/nothing', 404, null],
      ['POST', '/v1/assistants', 404, null],
      ['POST', '/v1/chat/completions/', 404, null],
      ['GET', '/v1', 404, null],
      ['GET', '/v1/chat/completions', 405, 'POST'],
      ['DELETE', '/v1/models', 405, 'GET, HEAD'],
      ['DELETE', '/v1/models/alpha/a', 405, 'GET, HEAD'],
      ['OPTIONS', '/v1/embeddings', 405, 'POST'],
    ] as const) {
      const answer = await at.call(method, path);
      const { type, message, request_id } = await errorOf(answer);
      expect({ method, path, status: answer.status, allow: answer.headers.get('allow'), type }).toEqual({
        method,
        path,
        status,
        allow,
        type: 'invalid_request_error',
      });
      expect(message.length).toBeGreaterThan(10);
      expect(answer.headers.get('x-request-id')).toBe(request_id);
    }
    // Elsewhere errors have our own format.
    expect(await (await at.call('GET', '/api/v1/nothing')).json()).toMatchObject({
      error: { code: 'NOT_FOUND' },
    });
    const heads = [await at.call('HEAD', '/v1/models'), await at.call('HEAD', '/v1/chat/completions')];
    expect(heads.map(({ status }) => status)).toEqual([200, 405]);
  });

  it("require credentials, with errors in OpenAI's format", async () => {
    const at = await gatewayWorld(one());
    for (const path of ['/v1/models', '/v1/models/alpha/a']) {
      const answer = await at.call('GET', path, undefined, { authorization: 'Bearer hwk_wrong' });
      expect([answer.status, (await errorOf(answer)).code]).toEqual([401, 'invalid_api_key']);
    }
    const response = await at.chat({}, { authorization: 'Bearer hwk_wrong' });
    expect([response.status, (await errorOf(response)).type]).toEqual([401, 'authentication_error']);
    expect(at.calls('a')).toBe(0);
  });

  it('can name one model, plain or percent-encoded', async () => {
    const at = await gatewayWorld(one());
    for (const id of ['alpha/a', 'alpha%2Fa', 'alpha%2fa', 'auto']) {
      const answer = await at.call('GET', `/v1/models/${id}`);
      expect([id, answer.status, await answer.json()]).toMatchObject([
        id,
        200,
        { id: decodeURIComponent(id), object: 'model' },
      ]);
    }
    for (const id of ['', 'beta', 'alpha', 'alpha%2Fa%2F', '%F0%9F%98%80', 'x'.repeat(150)]) {
      const answer = await at.call('GET', `/v1/models/${id}`);
      expect([id, answer.status, (await errorOf(answer)).code]).toEqual([id, 404, 'model_not_found']);
    }
  });
});

describe('bodies', () => {
  it('may be chunked, sent after "100 Continue", or have a charset', async () => {
    const at = await gatewayWorld(one());
    const text = JSON.stringify(question);
    const chunked = await dial(at);
    chunked.write(head('chunked'));
    for (const part of [text.slice(0, 7), text.slice(7)])
      chunked.write(`${Buffer.byteLength(part).toString(16)}\r\n${part}\r\n`);
    chunked.write('0\r\n\r\n');
    expect(await until(chunked, /You said: hello/)).toMatch(/^HTTP\/1\.1 200 /);

    const expecting = await dial(at);
    expecting.write(head(Buffer.byteLength(text), 'expect: 100-continue\r\n'));
    expect(await until(expecting, /\r\n\r\n/)).toMatch(/^HTTP\/1\.1 100 Continue/);
    expecting.write(text);
    expect(await until(expecting, /You said: hello/)).toContain('HTTP/1.1 200 ');

    const charset = await at.chat({}, { 'content-type': 'application/json; charset=utf-8' });
    expect(charset.status).toBe(200);
  });

  it('that are compressed, empty, of another type or too large are rejected without a call', async () => {
    const at = await gatewayWorld({ ...one(), options: { maxBodyBytes: 4_096 } });
    const send = (body: string | Uint8Array<ArrayBuffer> | undefined, headers: Record<string, string>) =>
      fetch(`${at.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { ...asAdmin, 'content-type': 'application/json', ...headers },
        ...(body === undefined ? {} : { body }),
      });
    const zipped = new Uint8Array(gzipSync(JSON.stringify(question)));
    const answers = [
      await send(zipped, { 'content-encoding': 'gzip' }),
      await send('', {}),
      await send(undefined, {}),
      await send('a=b', { 'content-type': 'application/x-www-form-urlencoded' }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([415, 400, 400, 415]);
    for (const answer of answers) expect((await errorOf(answer)).message).toMatch(/JSON/);
    expect((await send(JSON.stringify(question), { 'content-encoding': 'identity' })).status).toBe(200);

    const large = await dial(at);
    large.write(head('chunked'));
    large.write(`2000\r\n${'x'.repeat(0x2000)}\r\n0\r\n\r\n`);
    expect(await until(large, /HTTP_BODY_TOO_LARGE/)).toMatch(/^HTTP\/1\.1 413 /);
    expect(at.calls('a')).toBe(1);
  });

  it('that are far too large are read for a while after the response, so that the caller receives it', async () => {
    const at = await gatewayWorld({ ...one(), options: { maxBodyBytes: 4_096 } });
    const megabyte = Buffer.alloc(1_048_576, 0x20);
    for (const path of ['chat/completions', 'embeddings']) {
      const socket = await dial(at);
      const failures: Error[] = [];
      socket.on('error', (error) => failures.push(error));
      const sent = (piece: Buffer | string) =>
        new Promise<void>((resolve) => void socket.write(piece, () => resolve()));
      const answered = until(socket, /HTTP_BODY_TOO_LARGE/);
      await sent(head(24 * megabyte.length).replace('chat/completions', path));
      expect(await answered).toMatch(/^HTTP\/1\.1 413 /);
      for (let piece = 0; piece < 24; piece++) await sent(megabyte);
      expect(failures).toEqual([]);
    }
    expect(at.calls('a')).toBe(0);
  });

  it('with two model members reach the provider with its name in both', async () => {
    const at = await gatewayWorld(one());
    const twice = '{"model":"nope","messages":[{"role":"user","content":"hi"}],"model":"alpha/a"}';
    const answer = await at.call('POST', '/v1/chat/completions', twice);
    expect([answer.status, answer.headers.get('x-headworks-model')]).toEqual([200, 'alpha/a']);
    const emoji = await at.chat({ model: 'größe-😀' });
    expect([emoji.status, (await errorOf(emoji)).message]).toEqual([
      404,
      expect.stringContaining('größe-😀'),
    ]);
  });

  it('for embeddings ignore stream', async () => {
    const at = await gatewayWorld(one({ kind: 'embeddings', dimensions: 4 }));
    const answer = await at.call('POST', '/v1/embeddings', {
      model: 'auto',
      input: ['x', 'y'],
      stream: true,
    });
    expect(answer.headers.get('content-type')).toContain('application/json');
    expect(((await answer.json()) as { data: unknown[] }).data).toHaveLength(2);
  });
});

describe('responses', () => {
  it("carry the caller's request id, and count each request even if ids repeat", async () => {
    const at = await gatewayWorld({
      ...one({ faults: [{ fault: 500, probability: 1 }] }),
      options: { maxRetries: 0 },
    });
    for (let request = 0; request < 3; request++) {
      const answer = await at.chat({}, { 'x-request-id': 'always-the-same' });
      expect(answer.headers.get('x-request-id')).toBe('always-the-same');
      expect((await errorOf(answer)).request_id).toBe('always-the-same');
    }
    const [view] = await at.gateway.models.list({
      activeOnly: true,
      availableOnly: false,
      configuredOnly: true,
      includeRecent: false,
      windowDays: 7,
    });
    expect(view?.requestCount).toBe(3);
    at.simulator.script('a', ['ok', 'ok']);
    for (const stream of [false, true]) {
      const answer = await at.chat({ stream }, { 'x-request-id': 'my-own-id-123' });
      await answer.text();
      expect(answer.headers.get('x-request-id')).toBe('my-own-id-123');
    }
  });

  it('can be read by pages of allowed origins, streamed or not', async () => {
    const origin = 'https://app.example.com';
    const at = await gatewayWorld({ ...one(), allowedOrigins: [origin] });
    const preflight = await at.call('OPTIONS', '/v1/chat/completions', undefined, {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,content-type,x-stainless-lang',
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get('access-control-allow-headers')).toContain('x-stainless-lang');
    for (const stream of [false, true]) {
      const answer = await at.chat({ stream }, { origin });
      expect(answer.headers.get('access-control-allow-origin')).toBe(origin);
      expect(answer.headers.get('vary')).toBe('origin');
      expect(answer.headers.get('access-control-expose-headers')).toContain('x-headworks-model');
      await answer.text();
    }
  });

  it('of megabytes arrive complete, and larger ones than allowed count as invalid', async () => {
    const answer = `${'m'.repeat(50_000)} `.repeat(60).trim();
    const providers = [
      { name: 'alpha', models: [{ name: 'a', completion: answer }] },
      { name: 'beta', models: [{ name: 'b', completion: 'short' }] },
    ];
    const at = await gatewayWorld({
      providers,
      options: { idleTimeoutSeconds: 60, firstTokenTimeoutSeconds: 60, responseTimeoutSeconds: 60 },
    });
    const whole = await (await at.chat({ model: 'alpha/a' })).text();
    expect(whole.includes(answer)).toBe(true);
    const streamed = await (await at.chat({ model: 'alpha/a', stream: true })).text();
    const completion = [...streamed.matchAll(/"content":"([^"]*)"/g)].map(([, piece]) => piece).join('');
    expect(completion === answer).toBe(true);
    const small = await gatewayWorld({ providers, options: { maxResponseBytes: 1_000_000 } });
    expect((await small.chat({ model: 'alpha/a' })).headers.get('x-headworks-model')).toBe('beta/b');
  });

  it('without usage are counted by characters', async () => {
    const at = await gatewayWorld(one({ completion: manyWords }));
    const { key, record } = await at.gateway.keys.create({ name: 'k', expiresAt: null });
    await (await at.chat({ stream: true }, { authorization: `Bearer ${key}` })).text();
    const caller = `key:${record.id}`;
    const usage = () => at.gateway.keys.usage({ fromDay: '2020-01-01', caller });
    await expect.poll(async () => (await usage()).length).toBe(1);
    const [line] = await usage();
    expect(line).toMatchObject({ requests: 1, completionTokens: Math.ceil(manyWords.length / 4) });
    expect(line?.promptTokens).toBeGreaterThan(0);
  });
});

describe('a caller that disconnects', () => {
  const requestBody = JSON.stringify({ ...question, stream: true });

  it('before its response has started ends the provider call', async () => {
    const at = await gatewayWorld(one({ script: ['hang'] }));
    const socket = await dial(at);
    socket.write(head(Buffer.byteLength(requestBody)) + requestBody);
    await expect.poll(() => at.simulator.open()).toBe(1);
    socket.destroy();
    await expect.poll(() => at.simulator.open(), { interval: 5 }).toBe(0);
    expect(at.simulator.aborted()).toBe(1);
  });

  it('in the middle of a stream ends the provider call without counting against the model', async () => {
    const at = await gatewayWorld(one({ completion: manyWords, token_ms: 20 }));
    const socket = await dial(at);
    socket.write(head(Buffer.byteLength(requestBody)) + requestBody);
    await until(socket, /word/);
    socket.destroy();
    await expect.poll(() => at.simulator.open(), { interval: 5 }).toBe(0);
    expect(at.simulator.aborted()).toBe(1);
    const finished = () => at.events.filter(({ name }) => name === 'gateway:attempt-finished');
    await expect.poll(() => finished().length).toBe(1);
    expect(finished()[0]?.payload['outcome']).toBe('canceled');
  });

  it('before its request is complete or after its response has no effect', async () => {
    const at = await gatewayWorld(one());
    const early = await dial(at);
    early.write(head(1_000) + requestBody);
    await new Promise((resolve) => early.write(' ', resolve));
    early.destroy();
    const late = await dial(at);
    late.write(head(Buffer.byteLength(requestBody)) + requestBody);
    await until(late, /\[DONE\]/);
    late.destroy();
    expect((await at.chat()).status).toBe(200);
    expect(at.calls('a')).toBe(2);
    expect(at.simulator.aborted()).toBe(0);
  });

  it('during a prompt or a probe ends that, too', async () => {
    const at = await gatewayWorld(one({ script: [{ fault: 'hang', times: 2 }] }));
    for (const [path, body] of [
      ['/api/v1/prompts/process', { prompt: 'hello' }],
      ['/api/v1/models/probe', {}],
    ] as const) {
      const leaving = new AbortController();
      const pending = fetch(at.url + path, {
        method: 'POST',
        headers: { ...asAdmin, 'content-type': 'application/json' },
        body: JSON.stringify(body),
        signal: leaving.signal,
      });
      await expect.poll(() => at.simulator.open(), { interval: 5 }).toBe(1);
      leaving.abort();
      await expect(pending).rejects.toThrow();
      await expect.poll(() => at.simulator.open(), { interval: 5 }).toBe(0);
    }
    expect(at.simulator.aborted()).toBe(2);
  });
});

it('a reader that pauses applies backpressure to the provider, gets the rest later, and does not count against the model', async () => {
  // More than all socket buffers hold: the provider cannot finish before the caller reads.
  const words = Array.from({ length: 400 }, (_, index) => `${index}${'w'.repeat(100_000)}`).join(' ');
  const at = await gatewayWorld({
    ...one({ completion: words }),
    options: { firstTokenTimeoutSeconds: 60, idleTimeoutSeconds: 60, requestTimeoutSeconds: 120 },
  });
  const socket = await dial(at);
  const requestBody = JSON.stringify({ ...question, stream: true });
  socket.pause();
  const sentAt = performance.now();
  socket.write(head(Buffer.byteLength(requestBody)) + requestBody);
  await expect.poll(() => at.simulator.open()).toBe(1);
  const before = process.memoryUsage().arrayBuffers;
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  expect(at.simulator.open()).toBe(1);
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(16 * 1024 * 1024);
  let bytes = 0;
  let tail = '';
  for await (const piece of socket as AsyncIterable<Buffer>) {
    bytes += piece.length;
    tail = (tail + piece.subarray(-64).toString()).slice(-64);
    if (tail.includes('[DONE]')) break;
  }
  expect(bytes).toBeGreaterThan(words.length);
  await expect.poll(() => at.simulator.open()).toBe(0);
  expect(at.simulator.aborted()).toBe(0);
  const finished = () => at.events.find(({ name }) => name === 'gateway:attempt-finished');
  await expect.poll(finished).toBeDefined();
  expect(finished()?.payload['outcome']).toBe('success');
  // The time without reads does not count for the model.
  expect(finished()?.payload['durationMs']).toBeLessThan(performance.now() - sentAt - 500);
}, 300_000);

describe('a server that stops', () => {
  it("lets running streams finish and rejects new ones in OpenAI's format", async () => {
    const at = await gatewayWorld(one({ completion: manyWords, token_ms: 2 }));
    const answer = await at.chat({ stream: true });
    const draining = drain(at.server, 15_000);
    const refused = await at.chat();
    expect(refused.status).toBe(503);
    expect(refused.headers.get('retry-after')).not.toBeNull();
    expect(await errorOf(refused)).toMatchObject({ type: 'server_error', headworks_code: 'SHUTTING_DOWN' });
    expect(await answer.text()).toContain('[DONE]');
    expect(await draining).toEqual({ forciblyClosed: 0 });
    expect(at.calls('a')).toBe(1);
  });

  it('aborts what does not end in time, at the provider too, and reports it', async () => {
    const at = await gatewayWorld(one({ completion: manyWords, token_ms: 500, first_token_ms: 200 }));
    const answer = await at.chat({ stream: true });
    const whole = at.chat();
    await expect.poll(() => at.calls('a')).toBe(2);
    expect(await drain(at.server, 50)).toEqual({ forciblyClosed: 2 });
    const text = await answer.text();
    const last = text.trim().split('\n\n').at(-1)?.replace('data: ', '') ?? '';
    expect((JSON.parse(last) as ErrorBody).error).toMatchObject({
      headworks_code: 'GATEWAY_STREAM_INTERRUPTED',
      message: expect.stringContaining('this server is stopping') as unknown,
    });
    expect(text).not.toContain('[DONE]');
    expect((await whole).status).toBe(503);
    expect(await errorOf(await whole)).toMatchObject({ headworks_code: 'SHUTTING_DOWN' });
    await expect.poll(() => at.simulator.open()).toBe(0);
    expect(at.simulator.aborted()).toBe(2);
  });
});
