// A whole gateway on virtual time: responses as real providers send them, and what follows from them.
import { describe, expect, it, onTestFinished } from 'vitest';
import { EventBus, Redactor, seededIds, seededRandom } from '../../src/core/index.ts';
import { withDefaults } from '../../src/core/options.ts';
import { gatewayEvents, openGateway } from '../../src/gateway/index.ts';
import type { ModelInput } from '../../src/gateway/models/model-definition.ts';
import { parseModelDefinition } from '../../src/gateway/models/model-definition.ts';
import type { GatewayOptions } from '../../src/gateway/options.ts';
import { gatewayOptions } from '../../src/gateway/options.ts';
import type { CompletionOptions } from '../../src/gateway/types.ts';
import { VirtualClock } from '../support/core/virtual-clock.ts';
import { memoryGatewayStores } from '../support/gateway/memory-stores.ts';
import type { InMemoryHandler, InMemoryResponse } from '../support/http-client/in-memory-transport.ts';
import { createInMemoryTransport } from '../support/http-client/in-memory-transport.ts';

const hourMs = 3_600_000;
const json = (status: number, body: unknown, headers: Record<string, string> = {}): InMemoryResponse => ({
  status,
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(body),
});
const completion = (message: object, finish = 'stop') =>
  json(200, { id: 'c', object: 'chat.completion', choices: [{ index: 0, message, finish_reason: finish }] });
const answers = () => completion({ role: 'assistant', content: 'hello' });

/** Models named after their hosts, in the order of their names for `auto`. */
async function gatewayOf(
  hosts: Readonly<Record<string, InMemoryHandler>>,
  given: Partial<GatewayOptions> = {},
  inputs: Readonly<Record<string, Partial<ModelInput>>> = {},
) {
  const clock = new VirtualClock(Date.parse('2026-01-31T12:00:00Z'));
  const called: string[] = [];
  const names = Object.keys(hosts);
  const gateway = await clock.run(
    openGateway({
      clock,
      random: seededRandom(1),
      ids: seededIds(seededRandom(2), () => clock.now()),
      events: new EventBus(gatewayEvents),
      redactor: new Redactor(),
      stores: memoryGatewayStores(clock),
      transport: createInMemoryTransport({
        clock,
        handler: (request) => {
          called.push(request.url.hostname);
          return hosts[request.url.hostname]?.(request) ?? { status: 404 };
        },
      }),
      options: withDefaults(gatewayOptions, {
        models: names.map((name) =>
          parseModelDefinition({ name, baseUrl: `https://${name}/v1`, ...inputs[name] }),
        ),
        modelOrder: names,
        maxRetries: 0,
        ...given,
      }),
      env: {},
      probesModels: true,
    }),
  );
  onTestFinished(() => clock.run(gateway.close()));
  let requests = 0;
  const send = (body: object = {}, options: Partial<CompletionOptions> = {}) => {
    const request = { model: 'auto', messages: [{ role: 'user', content: 'hello' }], ...body };
    return clock.run(
      gateway.complete(gateway.parseRequest('chat', Buffer.from(JSON.stringify(request))), {
        requestId: `r${requests++}`,
        caller: 'key:1',
        allowFallback: true,
        deadlineMs: 120_000,
        waitMs: 0,
        signal: new AbortController().signal,
        ...options,
      }),
    );
  };
  const callsOf = (name: string) => called.filter((host) => host === name).length;
  const view = async (name: string) => {
    const models = await gateway.models.list({
      activeOnly: false,
      availableOnly: false,
      configuredOnly: false,
      includeRecent: true,
      windowDays: 7,
    });
    return models.find((model) => model.name === name);
  };
  return { clock, called, callsOf, gateway, send, view };
}

describe('a model that rejects what another completes', () => {
  it('is called three times in forty requests, and after each of its cooldowns once', async () => {
    const location = {
      error: {
        code: 400,
        message: 'User location is not supported for the API use.',
        status: 'FAILED_PRECONDITION',
      },
    };
    const at = await gatewayOf({ 'gemini.test': () => json(400, [location]), 'b.test': answers });
    for (let request = 0; request < 40; request++) expect((await at.send()).model.name).toBe('b.test');
    expect(at.callsOf('gemini.test')).toBe(3);
    expect(await at.view('gemini.test')).toMatchObject({
      state: 'cooling-down',
      cooldowns: [{ cause: 'validation', source: 'rejections' }],
      requestCount: 3,
      successCount: 0,
    });
    await at.clock.advance(60_000);
    for (let request = 0; request < 5; request++) await at.send();
    expect(at.callsOf('gemini.test')).toBe(4);
  });

  it('keeps its score when all reject, and the caller gets the first message', async () => {
    const reject = () => json(400, { error: { message: "'temperature' must be at most 2" } });
    const at = await gatewayOf({ 'a.test': reject, 'b.test': reject });
    for (let request = 0; request < 5; request++)
      await expect(at.send()).rejects.toMatchObject({
        code: 'GATEWAY_REQUEST_REJECTED',
        status: 400,
        message: expect.stringContaining("'temperature' must be at most 2") as string,
      });
    expect(await at.view('a.test')).toMatchObject({ state: 'available', requestCount: 0 });
  });
});

describe('a cooldown', () => {
  const openRouter = (raw: string) =>
    json(429, { error: { message: 'Provider returned error', code: 429, metadata: { raw } } });
  it.each<[string, InMemoryResponse, number]>([
    [
      'OpenRouter, upstream for a moment',
      openRouter('x is temporarily rate-limited upstream. Please retry shortly'),
      10_000,
    ],
    [
      'OpenRouter, upstream with a delay',
      openRouter('{"error":{"message":"Please try again in 9.5s"}}'),
      9_500,
    ],
    [
      'Mistral',
      json(
        429,
        { message: 'Requests rate limit exceeded' },
        { 'x-ratelimit-limit-req-minute': '60', 'x-ratelimit-remaining-req-minute': '0' },
      ),
      60_000,
    ],
    [
      'Mistral without quota',
      json(
        429,
        { message: 'Requests rate limit exceeded' },
        { 'x-ratelimit-limit-req-minute': '0', 'x-ratelimit-remaining-req-minute': '0' },
      ),
      hourMs,
    ],
    [
      'Cohere',
      json(429, { message: 'You are using a Trial key, which is limited to 10 API calls / minute.' }),
      60_000,
    ],
    [
      'Cloudflare',
      json(429, { errors: [{ code: 3040, message: 'Capacity temporarily exceeded, please try again.' }] }),
      10_000,
    ],
    [
      'Gemini',
      json(429, [
        {
          error: {
            code: 429,
            status: 'RESOURCE_EXHAUSTED',
            details: [
              { violations: [{ quotaId: 'GenerateRequestsPerDayPerProjectPerModel-FreeTier' }] },
              { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '23s' },
            ],
          },
        },
      ]),
      20 * hourMs,
    ],
    ['no hint', json(429, { error: { message: 'Too many requests' } }), hourMs],
    ['Retry-After: 0', json(429, {}, { 'retry-after': '0' }), 1_000],
  ])('is as long as the refusal says: %s', async (_, response, forMs) => {
    const at = await gatewayOf({ 'a.test': () => response });
    await expect(at.send()).rejects.toThrow();
    const { availableAt } = (await at.view('a.test')) ?? {};
    expect((availableAt?.getTime() ?? 0) - at.clock.now()).toBe(forMs);
  });
});

describe('when a cooldown has ended', () => {
  it('one of 24 requests is sent; the others go elsewhere, or wait for it', async () => {
    let isLimited = true;
    const limited = json(429, {}, { 'retry-after': '5' });
    const at = await gatewayOf({
      'a.test': async () => {
        await at.clock.sleep(200);
        return isLimited ? limited : answers();
      },
      'b.test': answers,
    });
    const burst = (options: Partial<CompletionOptions>, model = 'auto') =>
      Promise.allSettled(Array.from({ length: 24 }, () => at.send({ model }, options)));
    await at.send();
    for (const calls of [2, 3, 4]) {
      await at.clock.advance(5_000);
      const results = await burst({});
      expect(results.every(({ status }) => status === 'fulfilled')).toBe(true);
      expect(at.callsOf('a.test')).toBe(calls);
    }
    await at.clock.advance(5_000);
    await burst({ allowFallback: false }, 'a.test');
    expect(at.callsOf('a.test')).toBe(5);
    await at.clock.advance(5_000);
    isLimited = false;
    const results = await burst({ allowFallback: false }, 'a.test');
    expect(results.every(({ status }) => status === 'fulfilled')).toBe(true);
    expect(at.callsOf('a.test')).toBe(29);
  });
});

describe('a named model', () => {
  it('is called although its context may be too small, or max_tokens too large', async () => {
    const small = { contextTokens: 1_000, maxOutputTokens: 500 };
    const at = await gatewayOf(
      { 'small.test': answers, 'large.test': answers },
      {},
      { 'small.test': { capabilities: small } },
    );
    const long = [{ role: 'user', content: 'word '.repeat(4_000) }];
    const only = { allowFallback: false };
    expect((await at.send({ model: 'small.test', messages: long }, only)).model.name).toBe('small.test');
    expect((await at.send({ model: 'small.test', max_tokens: 1e6 }, only)).model.name).toBe('small.test');
    // Unnamed it comes last.
    expect((await at.send({ messages: long })).model.name).toBe('large.test');
  });
});

describe('a response', () => {
  const png = `data:image/png;base64,${'iVBORw0KGgo'.repeat(60_000)}`;
  const call = { id: 'call_1', type: 'function', function: { name: 'list', arguments: '{}' } };
  const image = { type: 'image_url', image_url: { url: png } };
  const messages: readonly (readonly [what: string, message: object, finish: string])[] = [
    ['an image', { role: 'assistant', content: null, images: [image] }, 'stop'],
    ['a refusal', { role: 'assistant', content: null, refusal: 'I cannot help with that.' }, 'stop'],
    ['tool calls only', { role: 'assistant', content: null, tool_calls: [call] }, 'tool_calls'],
  ];
  it.each(messages)('that is %s is passed on', async (_, message, finish) => {
    const at = await gatewayOf({ 'a.test': () => completion(message, finish), 'b.test': answers });
    const { model, response } = await at.send();
    expect(model.name).toBe('a.test');
    const body = response.kind === 'response' ? Buffer.from(response.body).toString() : '';
    expect((JSON.parse(body) as { choices: { message: object }[] }).choices[0]?.message).toEqual(message);
  });

  it.each(messages)('streamed as one event that is %s is passed on', async (_, message, finish) => {
    const delta = 'tool_calls' in message ? { ...message, tool_calls: [{ index: 0, ...call }] } : message;
    const event = { choices: [{ index: 0, delta, finish_reason: null }] };
    const end = { choices: [{ index: 0, delta: {}, finish_reason: finish }] };
    const events = [JSON.stringify(event), JSON.stringify(end), '[DONE]'];
    const body = events.map((each) => `data: ${each}\n\n`).join('');
    const at = await gatewayOf({
      'a.test': () => ({ status: 200, headers: { 'content-type': 'text/event-stream' }, body }),
      'b.test': answers,
    });
    const { model, response } = await at.send({ stream: true });
    expect(model.name).toBe('a.test');
    if (response.kind !== 'stream') throw new Error('not a stream');
    const chunks = [...response.head];
    for await (const chunk of response.rest) chunks.push(chunk);
    expect(Buffer.concat(chunks).toString()).toBe(body);
    await response.ended;
    await at.clock.advance(1_000);
    expect(await at.view('a.test')).toMatchObject({ requestCount: 1, successCount: 1 });
  });
});

describe('a quota of a model', () => {
  it('is never exceeded: the next model takes over', async () => {
    const quotas = { requestsPerMinute: 2 };
    const at = await gatewayOf({ 'a.test': answers, 'b.test': answers }, {}, { 'a.test': { quotas } });
    for (let request = 0; request < 5; request++) await at.send();
    expect([at.callsOf('a.test'), at.callsOf('b.test')]).toEqual([2, 3]);
  });
});

describe('scheduled probes', () => {
  it('leave out models that had requests in the last interval', async () => {
    const at = await gatewayOf({ 'busy.test': answers, 'idle.test': answers });
    for (let quarter = 0; quarter < 12; quarter++) {
      await at.send({ model: 'busy.test' });
      await at.clock.advance(hourMs / 4);
    }
    expect(at.callsOf('busy.test')).toBe(12);
    expect(at.callsOf('idle.test')).toBe(3);
    await at.clock.advance(2 * hourMs);
    expect([at.callsOf('busy.test'), at.callsOf('idle.test')]).toEqual([14, 5]);
  });
});
