// Every API of callers over HTTP: what reaches a provider with the same API, headers, errors in the caller's format, stored
// responses, and endpoints that pass through.
import { describe, expect, it } from 'vitest';
import type { ChatApi, PassThroughEndpoint } from '../../../src/gateway/types.ts';
import type { GatewayWorld } from '../../support/gateway/gateway-world.ts';
import { gatewayWorld } from '../../support/gateway/gateway-world.ts';
import type { ScriptedUpstream, UpstreamResponse } from '../../support/gateway/scripted-upstream.ts';
import { scriptedUpstream } from '../../support/gateway/scripted-upstream.ts';
import { adminToken } from '../../support/http-dependencies.ts';
import { answers } from './examples.ts';

interface At extends GatewayWorld {
  readonly upstream: ScriptedUpstream;
}

interface UpstreamModel {
  readonly apis?: readonly ChatApi[];
  readonly endpoints?: readonly PassThroughEndpoint[];
  readonly embeddings?: boolean;
}

/** One provider with models named after what they have. */
async function open(
  models: Readonly<Record<string, UpstreamModel>>,
  respond: (path: string) => UpstreamResponse,
  options: Parameters<typeof gatewayWorld>[0]['options'] = {},
): Promise<At> {
  const upstream = await scriptedUpstream(({ path }) => respond(path));
  const world = await gatewayWorld({
    options: { maxRetries: 0, ...options },
    providers: [{ name: 'up', models: Object.keys(models).map((name) => ({ name })) }],
    models: Object.fromEntries(
      Object.entries(models).map(([name, { apis, endpoints, embeddings = false }]) => [
        `up/${name}`,
        {
          model: `upstream-${name}`,
          baseUrl: upstream.url,
          ...(apis && { apis: [...apis] }),
          capabilities: {
            vision: !endpoints && !embeddings,
            reasoning: true,
            embeddings,
            ...(endpoints && { endpoints: [...endpoints] }),
          },
        },
      ]),
    ),
  });
  return { ...world, upstream };
}

const completion = {
  id: 'cmpl-1',
  object: 'text_completion',
  model: 'x',
  choices: [{ text: ' there', index: 0, finish_reason: 'stop' }],
};
const wholeOf = (path: string): UpstreamResponse => {
  if (path.endsWith('count_tokens')) return { body: { input_tokens: 42 } };
  if (path.includes('/chat/')) return { body: answers.chat.whole };
  if (path.endsWith('/responses')) return { body: answers.responses.whole };
  if (path.endsWith('/messages')) return { body: answers.messages.whole };
  if (path.endsWith('/completions')) return { body: completion };
  return { body: { data: [{ embedding: [0.1, 0.2] }], results: [] } };
};

/** As no serializer would write it: blanks, a name twice, escapes, numbers that JavaScript changes, unknown fields. */
const odd = (fields: string) =>
  `\n{ "model" :\t"up/own" ,${fields}, "seed":12345678901234567890 ,"x":1.0,"x":-0e0, "new_field":{"model":"up/own","\\u00e9":"\\ud83d\\ude00 é 😀"}\r\n}  `;
const messages = '"messages":[{"role":"user","content":"h\\u0069"}]';
const bodies = [
  ['chat/completions', { apis: ['chat'] }, odd(messages)],
  ['responses', { apis: ['responses'] }, odd('"input" : "h\\u0069" , "store":false')],
  ['messages', { apis: ['messages'] }, odd(`"max_tokens":9,${messages}`)],
  ['messages/count_tokens', { apis: ['messages'] }, odd(messages)],
  ['completions', { apis: ['completions'] }, odd('"prompt":"h\\u0069"')],
  ['embeddings', { embeddings: true }, odd('"input":"h\\u0069"')],
  ['rerank', { endpoints: ['rerank'] }, odd('"query":"h\\u0069","documents":["a"]')],
  ['moderations', { endpoints: ['moderations'] }, odd('"input":"h\\u0069"')],
  ['images/generations', { endpoints: ['images/generations'] }, odd('"prompt":"h\\u0069"')],
  ['audio/speech', { endpoints: ['audio/speech'] }, odd('"input":"h\\u0069"')],
] as const satisfies readonly (readonly [string, UpstreamModel, string])[];

describe('a request to a model with its API', () => {
  it.each(bodies)(
    'to /v1/%s arrives byte for byte but for the name of the model',
    async (path, model, body) => {
      const at = await open({ own: model }, wholeOf);
      const answer = await at.call('POST', `/v1/${path}`, body);
      expect([answer.status, await answer.text()]).toEqual([200, expect.any(String)]);
      expect(at.upstream.last.path).toBe(`/v1/${path}`);
      expect(at.upstream.last.bytes.toString()).toBe(body.replace('"up/own"', '"upstream-own"'));
    },
  );

  it.each(['audio/transcriptions', 'audio/translations', 'images/edits'] as const)(
    'to /v1/%s as a form arrives byte for byte but for the name of the model',
    async (endpoint) => {
      const at = await open({ own: { endpoints: [endpoint] } }, () => ({
        body: Buffer.from('1\n00:00 --> 00:01\nhello'),
        headers: { 'content-type': 'text/plain' },
      }));
      const file = Buffer.from([0, 13, 10, 45, 45, 255, 254, 34, 92, 13, 10]);
      const form = (name: string) =>
        Buffer.concat([
          Buffer.from('--bound\r\nContent-Disposition: form-data; name="file"; filename="model.mp3"\r\n\r\n'),
          file,
          Buffer.from(`\r\n--bound\r\ncontent-disposition: form-data; name=model\r\n\r\n${name}`),
          Buffer.from(
            '\r\n--bound\r\nContent-Disposition: form-data; name="prompt"\r\n\r\nmodel\r\n--bound--\r\n',
          ),
        ]);
      const type = 'multipart/form-data; boundary=bound';
      const answer = await fetch(`${at.url}/v1/${endpoint}`, {
        method: 'POST',
        headers: { 'x-api-key': adminToken, 'content-type': type },
        body: new Uint8Array(form('up/own')),
      });
      expect([answer.status, await answer.text()]).toEqual([200, '1\n00:00 --> 00:01\nhello']);
      expect(answer.headers.get('content-type')).toBe('text/plain');
      expect(at.upstream.last.headers['content-type']).toBe(type);
      expect(at.upstream.last.bytes.equals(form('upstream-own'))).toBe(true);
    },
  );

  it('to a pass-through endpoint that no model declares is a 400 that names it', async () => {
    const at = await open({ chat: { apis: ['chat'] }, voice: { endpoints: ['audio/speech'] } }, wholeOf);
    for (const model of ['auto', 'up/chat']) {
      const answer = await at.call('POST', '/v1/rerank', { model, query: 'a', documents: ['b'] });
      expect([answer.status, JSON.stringify(await answer.json())]).toEqual([
        400,
        expect.stringContaining('rerank'),
      ]);
    }
    expect(at.upstream.requests).toEqual([]);
  });

  it('gets the bytes of audio', async () => {
    const sound = Buffer.from([255, 251, 0, 10, 13, 128]);
    const at = await open({ own: { endpoints: ['audio/speech'] } }, () => ({
      body: sound,
      headers: { 'content-type': 'audio/mpeg' },
    }));
    const answer = await at.call('POST', '/v1/audio/speech', { model: 'auto', input: 'hi', voice: 'a' });
    expect(answer.headers.get('content-type')).toBe('audio/mpeg');
    expect(Buffer.from(await answer.arrayBuffer()).equals(sound)).toBe(true);
  });
});

it('a request in another API is translated to the first API of the model that has all it needs', async () => {
  const at = await open({ own: { apis: ['responses', 'chat'] } }, wholeOf);
  const body = { model: 'up/own', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] };
  await at.call('POST', '/v1/messages', body);
  expect((await at.call('POST', '/v1/messages', { ...body, stop_sequences: ['END'] })).status).toBe(200);
  expect(at.upstream.requests.map(({ path }) => path)).toEqual(['/v1/responses', '/v1/chat/completions']);
});

describe('headers', () => {
  const both = { own: { apis: ['messages'] }, other: { apis: ['chat'] } } as const;
  const body = (model: string) => ({ model, max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] });

  it('of Anthropic reach models with its API as they came, and no others', async () => {
    const at = await open(both, wholeOf);
    const sent = {
      'anthropic-version': '2024-10-22',
      'anthropic-beta': 'a-1, b-2',
      'x-stainless-lang': 'js',
    };
    for (const path of ['/v1/messages', '/v1/messages/count_tokens']) {
      await at.call('POST', path, body('up/own'), sent);
      expect(at.upstream.last.headers).toMatchObject({
        'anthropic-version': '2024-10-22',
        'anthropic-beta': 'a-1, b-2',
      });
      await at.call('POST', path, body('up/own'));
      expect(at.upstream.last.headers['anthropic-version']).toBe('2023-06-01');
      expect(at.upstream.last.headers['anthropic-beta']).toBeUndefined();
      expect(at.upstream.last.headers['x-stainless-lang']).toBeUndefined();
    }
    await at.call('POST', '/v1/messages', body('up/other'), sent);
    expect(at.upstream.last.path).toBe('/v1/chat/completions');
    expect(Object.keys(at.upstream.last.headers).filter((name) => name.startsWith('anthropic'))).toEqual([]);
  });

  it('with a beta flag that the provider rejects are sent again without it, from then on at once', async () => {
    const at = await open(both, wholeOf);
    const whole = at.upstream.respond;
    at.upstream.respond = (request) =>
      String(request.headers['anthropic-beta']).includes('b-2')
        ? {
            status: 400,
            body: {
              type: 'error',
              error: {
                type: 'invalid_request_error',
                message: 'Unexpected value(s) `b-2` for the `anthropic-beta` header.',
              },
            },
          }
        : whole(request);
    const flags = () => at.upstream.requests.map(({ headers }) => headers['anthropic-beta']);
    for (let turn = 0; turn < 2; turn++) {
      const answer = await at.call('POST', '/v1/messages', body('up/own'), { 'anthropic-beta': 'a-1,b-2' });
      expect(answer.status).toBe(200);
    }
    expect(flags()).toEqual(['a-1,b-2', 'a-1', 'a-1']);
  });

  it('with a key may be authorization, x-api-key or api-key; the provider gets its own key only', async () => {
    const at = await open({ own: { apis: ['messages', 'chat', 'responses'] } }, wholeOf);
    const { key } = await at.gateway.keys.create({ name: 'k', expiresAt: null });
    const credentials: readonly Record<string, string>[] = [
      { authorization: `Bearer ${key}` },
      { 'x-api-key': key },
      { 'api-key': key },
    ];
    for (const credential of credentials)
      for (const [path, sent] of [
        ['messages', body('up/own')],
        ['messages/count_tokens', body('up/own')],
        ['chat/completions', body('up/own')],
        ['responses', { model: 'up/own', input: 'hi' }],
        ['models', undefined],
      ] as const) {
        const answer = await fetch(`${at.url}/v1/${path}`, {
          method: sent ? 'POST' : 'GET',
          headers: { ...credential, 'content-type': 'application/json' },
          ...(sent && { body: JSON.stringify(sent) }),
        });
        expect([path, answer.status]).toEqual([path, 200]);
        if (sent) expect(JSON.stringify(at.upstream.last.headers)).not.toContain(key);
        if (sent) expect(at.upstream.last.headers['x-api-key']).toBe('sk-up');
      }
  });
});

describe('token counts', () => {
  it('come from a model with the Messages API, and are an estimate that says so for others', async () => {
    const at = await open({ own: { apis: ['messages'] }, other: { apis: ['chat'] } }, wholeOf);
    const count = (model: string) =>
      at.call('POST', '/v1/messages/count_tokens', {
        model,
        messages: [{ role: 'user', content: 'x'.repeat(4_000) }],
      });
    const counted = await count('up/own');
    expect([await counted.json(), counted.headers.get('x-headworks-estimated')]).toEqual([
      { input_tokens: 42 },
      'false',
    ]);
    const estimated = await count('up/other');
    const { input_tokens } = (await estimated.json()) as { input_tokens: number };
    expect(input_tokens).toBeGreaterThan(1_000);
    expect(input_tokens).toBeLessThan(1_100);
    expect(estimated.headers.get('x-headworks-estimated')).toBe('true');
    expect(at.upstream.requests.map(({ path }) => path)).toEqual(['/v1/messages/count_tokens']);
    expect((await count('nope')).status).toBe(404);
  });
});

describe('errors', () => {
  type Json = Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  const paths = [
    ['messages', { max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] }],
    ['messages/count_tokens', { messages: [{ role: 'user', content: 'hi' }] }],
    ['responses', { input: 'hi' }],
    ['chat/completions', { messages: [{ role: 'user', content: 'hi' }] }],
    ['completions', { prompt: 'hi' }],
    ['embeddings', { input: 'hi' }],
  ] as const;
  const typeOf: Readonly<Record<number, readonly [anthropic: string, openAi: string]>> = {
    400: ['invalid_request_error', 'invalid_request_error'],
    401: ['authentication_error', 'authentication_error'],
    404: ['not_found_error', 'invalid_request_error'],
    405: ['invalid_request_error', 'invalid_request_error'],
    413: ['request_too_large', 'invalid_request_error'],
    415: ['invalid_request_error', 'invalid_request_error'],
    429: ['rate_limit_error', 'rate_limit_error'],
  };

  it.each(paths)('of /v1/%s have the format of its API', async (path, fields) => {
    const at = await open(
      { own: { apis: ['messages', 'responses', 'chat', 'completions'] }, vectors: { embeddings: true } },
      () => ({ status: 429, headers: { 'retry-after': '7' }, body: { error: { message: 'slow down' } } }),
      { maxBodyBytes: 4_096 },
    );
    const own = path === 'embeddings' ? 'up/vectors' : 'up/own';
    const send = (more: object, headers: Record<string, string> = {}) =>
      at.call('POST', `/v1/${path}`, { model: own, ...fields, ...more }, headers);
    const answersOf: readonly (readonly [number, Response])[] = [
      [400, await at.call('POST', `/v1/${path}`, '{"model":')],
      [400, await send({ model: 7 })],
      [401, await send({}, { authorization: 'Bearer wrong' })],
      [404, await send({ model: 'nope' })],
      [404, await at.call('POST', `/v1/${path}/not/there`, {})],
      [405, await at.call('PUT', `/v1/${path}`, {})],
      [413, await send({ user: 'x'.repeat(5_000) })],
      [415, await at.call('POST', `/v1/${path}`, 'a=b', { 'content-type': 'text/plain' })],
      ...(path === 'messages/count_tokens' ? [] : [[429, await send({})] as const]),
    ];
    for (const [status, answer] of answersOf) {
      const body = (await answer.json()) as Json;
      const [anthropic, openAi] = typeOf[status] ?? [];
      const id = answer.headers.get('x-request-id');
      expect([status, answer.status, body['error']?.['message']]).toEqual([
        status,
        status,
        expect.any(String),
      ]);
      if (path.startsWith('messages'))
        expect(body).toMatchObject({ type: 'error', error: { type: anthropic }, request_id: id });
      else
        expect(body).toMatchObject({
          error: { type: openAi, code: expect.any(String) as unknown, request_id: id },
        });
      if (status === 429) expect(answer.headers.get('retry-after')).toBe('7');
    }
  });

  it.each([
    ['chat/completions', false, 0],
    ['chat/completions', false, 1],
    ['chat/completions', true, 0],
    ['messages', false, 0],
  ] as const)(
    'of /v1/%s say that the connection broke during the response (stream: %s, retries: %i)',
    async (path, stream, maxRetries) => {
      const headers = { 'content-length': '1000', connection: 'close' };
      const at = await open({ own: {} }, () => ({ headers, body: stream ? ': hello\n\n' : {} }), {
        maxRetries,
        retryDelaySeconds: 0.01,
      });
      const fields = { max_tokens: 9, messages: [{ role: 'user', content: 'hi' }], stream };
      const answer = await at.call('POST', `/v1/${path}`, { model: 'up/own', ...fields });
      const { error } = (await answer.json()) as Json;
      const host = new URL(at.upstream.url).host;
      expect(error?.['message']).toContain(`(network: connection to ${host} broke during the response`);
      expect(error?.['message']).toContain('. Try again later, or add another model.');
    },
  );

  const begun: Readonly<Record<string, readonly object[]>> = {
    messages: answers.messages.stream.slice(0, 10) as object[],
    responses: answers.responses.stream.slice(0, 10) as object[],
    chat: answers.chat.stream.slice(0, 5) as object[],
  };
  const fieldsOf = {
    messages: { max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] },
    responses: { input: 'hi' },
    chat: { messages: [{ role: 'user', content: 'hi' }] },
  };
  const pairs = (['messages', 'responses', 'chat'] as const).flatMap((caller) =>
    (['messages', 'responses', 'chat'] as const).map((upstream) => [caller, upstream] as const),
  );

  it.each(pairs)(
    'in a stream of the %s API have its format, whatever the %s provider sends',
    async (caller, api) => {
      const at = await open({ own: { apis: [api] } }, () => ({
        body: [
          ...(begun[api] ?? []),
          { type: 'error', error: { type: 'overloaded_error', message: 'too busy' } },
        ],
      }));
      const path = caller === 'chat' ? 'chat/completions' : caller;
      const answer = await at.call('POST', `/v1/${path}`, {
        model: 'up/own',
        stream: true,
        ...fieldsOf[caller],
      });
      const events = (await answer.text()).trim().split('\n\n');
      const last = events.at(-1) ?? '';
      const data = JSON.parse(last.slice(last.indexOf('data: ') + 6)) as Json;
      expect(events.length).toBeGreaterThan(2);
      if (caller === 'chat') {
        expect(last.startsWith('data: ')).toBe(true);
        expect(data).toMatchObject({ error: { headworks_code: 'GATEWAY_STREAM_INTERRUPTED' } });
      } else expect(last.startsWith('event: error\n')).toBe(true);
      if (caller === 'messages')
        expect(data).toMatchObject({ type: 'error', error: { type: expect.any(String) as unknown } });
      if (caller === 'responses')
        expect(data).toMatchObject({
          type: 'error',
          message: expect.any(String) as unknown,
          code: expect.any(String) as unknown,
        });
      expect(answer.headers.get('content-type')).toContain('text/event-stream');
    },
  );

  it.each([
    ['responses', { input: 'hi', tools: [{ type: 'web_search' }] }, 'tools[0] (web_search)'],
    ['responses', { input: 'hi', background: true }, 'background'],
    ['responses', { input: 'hi', conversation: 'conv_1' }, 'conversation'],
    [
      'responses',
      { input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'f' }] }] },
      'input_file',
    ],
    ['messages', { ...fieldsOf.messages, mcp_servers: [{ url: 'https://x' }] }, 'mcp_servers'],
    ['messages', { ...fieldsOf.messages, tools: [{ type: 'bash_20250124', name: 'bash' }] }, 'bash_20250124'],
    ['completions', { prompt: ['a', 'b'] }, 'prompt (list)'],
  ])('of %s for what no model supports name it: %j', async (path, fields, name) => {
    const at = await open({ gem: { apis: ['gemini'] } }, wholeOf);
    const answer = await at.call('POST', `/v1/${path}`, { model: 'auto', ...fields });
    const { error } = (await answer.json()) as { error: { message: string } };
    expect([answer.status, error.message]).toEqual([400, expect.stringContaining(name)]);
    expect(at.upstream.requests).toEqual([]);
  });

  it('and everything else that is reported contain nothing of the body', async () => {
    const marker = 'my-private-words';
    const at = await open({ own: { apis: ['messages'] } }, () => ({
      status: 500,
      body: { error: { message: `cannot process: ${marker}` } },
    }));
    for (const [path, fields] of paths)
      for (const body of [
        {
          model: 'auto',
          ...fields,
          user: marker,
          metadata: { user_id: marker },
          stream: path !== 'embeddings',
        },
        { model: 'auto', [marker]: marker },
        `{"model":"auto","${marker}`,
      ])
        await (await at.call('POST', `/v1/${path}`, body)).text();
    expect(JSON.stringify([at.events, at.httpEvents, at.auditRows])).not.toContain(marker);
  });
});

describe('stored responses', () => {
  interface Stored {
    readonly id: string;
    readonly previous_response_id: string;
    readonly error?: { readonly code: string };
  }
  const streamOf = (path: string): UpstreamResponse =>
    path.endsWith('/responses') ? { body: answers.responses.stream } : { body: answers.chat.stream };

  it.each(['chat', 'responses'] as const)(
    'of a %s model are continued by the key that created them',
    async (api) => {
      let count = 0;
      const at = await open({ own: { apis: [api] } }, (path) => {
        count += 1;
        const { body } = wholeOf(path);
        return { body: { ...(body as object), id: `resp_${count}` } };
      });
      const keys = await Promise.all(
        ['a', 'b'].map((name) => at.gateway.keys.create({ name, expiresAt: null })),
      );
      const [mine, others] = keys.map(({ key }) => ({ authorization: `Bearer ${key}` }));
      const send = async (more: object, headers: Record<string, string> = mine ?? {}) => {
        const answer = await at.call(
          'POST',
          '/v1/responses',
          { model: 'up/own', input: 'One.', ...more },
          headers,
        );
        return { status: answer.status, body: (await answer.json()) as Stored };
      };
      const first = (await send({})).body;
      const second = (await send({ input: 'Two.', previous_response_id: first.id })).body;
      expect(second.previous_response_id).toBe(first.id);
      const kept = await at.call('GET', `/v1/responses/${second.id}`, undefined, mine);
      expect(await kept.json()).toMatchObject({ previous_response_id: first.id });
      expect((await send({ input: 'Three.', previous_response_id: second.id })).status).toBe(200);
      const text = JSON.stringify(at.upstream.last.json);
      const order = ['One.', 'Hello, you.', 'Two.', 'Three.'].map((part) => text.indexOf(part));
      expect(order).toEqual(order.toSorted((one, two) => one - two));
      expect(Math.min(...order)).toBeGreaterThan(0);
      expect(at.upstream.last.json).not.toHaveProperty('previous_response_id');
      for (const headers of [others, {}]) {
        const stolen = await send({ previous_response_id: first.id }, headers);
        expect([stolen.status, stolen.body.error?.code]).toEqual([404, 'previous_response_not_found']);
        expect((await at.call('GET', `/v1/responses/${first.id}`, undefined, headers)).status).toBe(404);
        expect((await at.call('DELETE', `/v1/responses/${first.id}`, undefined, headers)).status).toBe(404);
      }
      expect((await at.call('GET', `/v1/responses/${first.id}`, undefined, mine)).status).toBe(200);
      const unstored = (await send({ store: false })).body;
      if (api === 'chat') expect((await send({ previous_response_id: unstored.id })).status).toBe(404);
    },
  );

  it.each(['chat', 'responses'] as const)(
    'of a stream of a %s model are there when it has ended',
    async (api) => {
      const at = await open({ own: { apis: [api] } }, streamOf);
      const answer = await at.call('POST', '/v1/responses', { model: 'auto', input: 'One.', stream: true });
      const id = /"id":"(resp_[^"]+)"/.exec(await answer.text())?.[1];
      const stored = await at.call('GET', `/v1/responses/${id}`);
      expect(await stored.json()).toMatchObject({ id, status: 'completed' });
    },
  );

  it.each(['chat', 'responses'] as const)(
    'of a stream of a %s model name the response that they continue',
    async (api) => {
      const at = await open({ own: { apis: [api] } }, streamOf);
      const send = async (more: object) => {
        const body = { model: 'auto', input: 'One.', stream: true, ...more };
        return (await at.call('POST', '/v1/responses', body)).text();
      };
      const id = /"id":"(resp_[^"]+)"/.exec(await send({}))?.[1];
      const second = await send({ previous_response_id: id });
      const named = second.match(/"previous_response_id":("[^"]*"|null)/g);
      expect(named?.length).toBeGreaterThan(1);
      expect(new Set(named)).toEqual(new Set([`"previous_response_id":"${id}"`]));
    },
  );
});
