// Chat requests that are served before fastify and called with callbacks have the same effects as those that fastify serves
// and that are called with promises: two gateways get the same generated requests, one of them with a header that leaves
// them to fastify, and with a transport without callbacks.
import { request as httpRequest } from 'node:http';
import type { ClientRequest } from 'node:http';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { expect, onTestFinished, vi } from 'vitest';
import type { Random } from '../../../src/core/index.ts';
import { seededRandom, systemClock } from '../../../src/core/index.ts';
import { adminToken } from '../http-dependencies.ts';
import type { GatewayWorld } from './gateway-world.ts';
import { gatewayWorld } from './gateway-world.ts';
import { memoryGatewayStores } from './memory-stores.ts';
import type { UpstreamResponse } from './scripted-upstream.ts';
import { scriptedUpstream } from './scripted-upstream.ts';

const path = '/v1/chat/completions';

interface Case {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** What each of the two models sends. */
  readonly upstream: readonly [keyof typeof responses, keyof typeof responses];
  /** Disconnect once the provider has the request. */
  readonly isAborted: boolean;
  /** Read nothing for a moment. */
  readonly isSlow: boolean;
}

const chunk = (delta: object, finish: string | null = null) => ({
  id: 'c',
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta, finish_reason: finish }],
});
const completion = {
  id: 'c',
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', content: 'häl\u0000lo 😀' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 },
};
const error = (message: string) => ({ error: { message, type: 'x', code: null } });

const responses = {
  whole: { body: completion },
  long: { body: { ...completion, more: 'x'.repeat(100_000) } },
  withoutUsage: { body: { ...completion, usage: undefined } },
  empty: { body: { ...completion, choices: [] } },
  errorWithStatus200: { body: error('out of order') },
  noJson: { headers: { 'content-type': 'application/json' }, body: '<html>' },
  limited: { status: 429, headers: { 'retry-after': '600' }, body: error('Rate limit reached') },
  failing: { status: 503, body: error('overloaded') },
  rejecting: { status: 400, body: error('no such parameter') },
  unauthorized: { status: 401, body: error('wrong key') },
  quotaUsedUp: {
    headers: { 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': '1h' },
    body: completion,
  },
  stream: {
    body: [chunk({ role: 'assistant' }), chunk({ content: 'hi' }), chunk({}, 'stop'), 'data: [DONE]\n\n'],
  },
  longStream: {
    body: [
      ...Array.from({ length: 10 }, () => chunk({ content: 'x'.repeat(30_000) })),
      chunk({}, 'stop'),
      'data: [DONE]\n\n',
    ],
  },
  cutStream: { body: [chunk({ content: 'hi' })] },
  failingStream: { body: [chunk({ content: 'hi' }), error('overloaded')] },
  rejectingStream: { body: [error('overloaded')] },
  silent: null,
} as const satisfies Readonly<Record<string, UpstreamResponse | null>>;
const responseNames = Object.keys(responses) as (keyof typeof responses)[];

/** All name their models: the order of `auto` depends on scores, which depend on time. */
const bodies: readonly ((random: Random) => Buffer)[] = [
  ...Array.from({ length: 8 }, () => (random: Random) => chat({ stream: random.next() < 0.5 })),
  () => chat({ model: 'm/b' }),
  () => chat({ model: 'unknown-model' }),
  () => chat({ model: '' }),
  () => chat({ model: 7 }),
  () => chat({ stream: 'yes' }),
  () => chat({ messages: 'hello' }),
  () => chat({ n: 2, tools: [{ type: 'function', function: { name: 'f' } }] }),
  () => chat({ messages: [{ role: 'user', content: 'ä'.repeat(30_000) }] }),
  () => Buffer.from('{"model":"m/a","model":"m/b", "messages":[]}'),
  () => Buffer.from(`${'['.repeat(100)}${']'.repeat(100)}`),
  () => Buffer.from('{'),
  () => Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
  () => Buffer.from('null'),
  () => Buffer.alloc(0),
];

function chat(more: object): Buffer {
  return Buffer.from(
    JSON.stringify({ model: 'm/a,m/b', messages: [{ role: 'user', content: 'hello' }], ...more }),
  );
}

const oneOf = <Item>(random: Random, items: readonly Item[]): Item =>
  items[Math.floor(random.next() * items.length)] as Item;

const headerSets: readonly Readonly<Record<string, string>>[] = [
  ...Array.from({ length: 6 }, () => ({})),
  { 'content-type': 'application/json; charset=utf-8' },
  { 'content-type': 'text/plain' },
  { authorization: 'Bearer wrong' },
  { authorization: '' },
  { authorization: '', 'x-api-key': adminToken },
  { 'x-headworks-fallback': 'none' },
  { 'x-headworks-fallback': 'sometimes' },
  { 'x-headworks-timeout': '5' },
  { 'x-headworks-timeout': '-1' },
  { host: 'rebound.example.com' },
  { origin: 'https://elsewhere.example.com' },
];

function generate(random: Random): Case {
  const headers = {
    'content-type': 'application/json',
    authorization: `Bearer ${adminToken}`,
    ...oneOf(random, headerSets),
  };
  const isAborted = random.next() < 0.05;
  return {
    headers,
    body: isAborted ? chat({ stream: random.next() < 0.5 }) : oneOf(random, bodies)(random),
    upstream: isAborted ? ['silent', 'whole'] : [answering(random), answering(random)],
    isAborted,
    isSlow: random.next() < 0.1,
  };
}

const answering = (random: Random) =>
  oneOf(
    random,
    responseNames.filter((name) => name !== 'silent'),
  );

/** The same requests for both; fails with the first difference. */
export async function compareDirectChat(count: number, seed = 1): Promise<void> {
  const direct = await startSide({}, true);
  const byFastify = await startSide({ 'content-encoding': 'identity' }, false);
  const random = seededRandom(seed);
  for (let index = 0; index < count; index++) {
    const each = generate(random);
    const [one, other] = [await direct.send(each), await byFastify.send(each)];
    expect({ index, each: describeCase(each), ...one.seen }).toEqual({
      index,
      each: describeCase(each),
      ...other.seen,
    });
    expect(other.isFastify || other.isEarly).toBe(true);
    if (one.isUsual) expect(one.isFastify).toBe(false);
  }
  expect(await direct.effects()).toEqual(await byFastify.effects());
}

const describeCase = ({ headers, body, upstream }: Case) => ({
  headers,
  body: body.toString('latin1', 0, 200),
  upstream,
});

async function startSide(extra: Readonly<Record<string, string>>, usesCallbacks: boolean) {
  let behaviors: Case['upstream'] = ['whole', 'whole'];
  const waiting: (() => void)[] = [];
  const upstream = await scriptedUpstream((request) => {
    const name = behaviors[request.json['model'] === 'b' ? 1 : 0];
    if (name === 'silent') for (const resolve of waiting.splice(0)) resolve();
    return responses[name];
  });
  const stores = memoryGatewayStores(systemClock);
  const at: GatewayWorld = await gatewayWorld({
    providers: [{ name: 'm', models: [{ name: 'a' }, { name: 'b' }] }],
    models: { 'm/a': { baseUrl: upstream.url }, 'm/b': { baseUrl: upstream.url } },
    options: {
      maxRetries: 0,
      requestTimeoutSeconds: 120,
      firstTokenTimeoutSeconds: 60,
      responseTimeoutSeconds: 60,
    },
    stores,
    usesCallbacks,
  });
  const models = at.gateway.models.listCallable();
  const port = new URL(at.url).port;
  let handled = 0;
  const onHandler = () => handled++;
  subscribe('tracing:fastify.request.handler:start', onHandler);
  onTestFinished(() => void unsubscribe('tracing:fastify.request.handler:start', onHandler));
  let sent = 0;
  return {
    async send(each: Case) {
      behaviors = each.upstream;
      const before = { handled, requests: upstream.requests.length };
      const arrived = new Promise<void>((resolve) => waiting.push(resolve));
      const response = await exchange(port, { ...each, headers: { ...each.headers, ...extra } }, arrived);
      sent++;
      await vi.waitFor(() => expect(at.httpEvents.filter(isFinished)).toHaveLength(sent), {
        timeout: 60_000,
      });
      for (const { id } of models) await at.gateway.models.setAvailability(id, 0, null);
      const received = upstream.requests.slice(before.requests).map(({ headers, bytes }) => ({
        headers: { ...headers, host: '' },
        bytes: bytes.toString('latin1'),
      }));
      return {
        seen: { response, received },
        isFastify: handled > before.handled,
        /** Rejected by a hook: no handler was called. */
        isEarly: response === 'aborted' || response.status >= 400,
        isUsual: response !== 'aborted' && response.status === 200,
      };
    },
    /** Rows, events and metrics that all requests together have caused. */
    async effects() {
      const rows = [];
      for (const { id, name } of models) {
        const listed = await vi.waitFor(
          async () => {
            const stored = await stores.attempts.list({ modelId: id, limit: 1_000_000 });
            expect(stored).toHaveLength(finishedAttempts(at, name).length);
            return stored;
          },
          { timeout: 60_000 },
        );
        rows.push(
          ...listed.map(({ outcome, status, promptTokens, completionTokens, caller }) => ({
            name,
            outcome,
            status,
            promptTokens,
            completionTokens,
            caller,
          })),
        );
      }
      const events = [...at.events, ...at.httpEvents].map(({ name, payload }) => [name, stable(payload)]);
      return { rows: sorted(rows), events: sorted(events) };
    },
  };
}

const isFinished = ({ name }: { readonly name: string }) => name === 'http:request-finished';
const finishedAttempts = (at: GatewayWorld, model: string) =>
  at.events.filter(({ name, payload }) => name === 'gateway:attempt-finished' && payload['model'] === model);
const sorted = (list: readonly unknown[]) => list.map((each) => JSON.stringify(each)).toSorted();

/** Without what differs between any two requests. */
function stable(payload: Readonly<Record<string, unknown>>): object {
  const { requestId: _id, durationMs: _ms, availableAt: _at, retryAfterSeconds: _seconds, ...rest } = payload;
  return rest;
}

type Exchanged = 'aborted' | { readonly status: number; readonly headers: object; readonly body: string };

async function exchange(port: string, each: Case, arrived: Promise<void>): Promise<Exchanged> {
  const headers = Object.fromEntries(Object.entries(each.headers).filter(([, value]) => value !== ''));
  const outgoing: ClientRequest = httpRequest({
    port,
    path,
    method: 'POST',
    headers: { ...headers, 'content-length': each.body.length },
  });
  outgoing.end(each.body);
  if (each.isAborted && each.headers['authorization']?.includes('wrong') === false)
    void arrived.then(() => outgoing.destroy());
  return new Promise((resolve, reject) => {
    outgoing.on('error', () =>
      each.isAborted ? resolve('aborted') : reject(new Error('The connection broke.')),
    );
    outgoing.on('response', (incoming) => {
      if (each.isSlow) {
        incoming.pause();
        setTimeout(() => incoming.resume(), 20);
      }
      const chunks: Buffer[] = [];
      incoming.on('data', (part: Buffer) => void chunks.push(part));
      incoming.on('end', () => {
        const {
          date: _date,
          'x-request-id': id = '',
          'retry-after': _seconds,
          'content-length': length,
          ...rest
        } = incoming.headers;
        const body = Buffer.concat(chunks).toString('latin1').replaceAll(String(id), 'ID');
        resolve({
          status: incoming.statusCode ?? 0,
          headers: { ...rest, hasLength: length !== undefined },
          body: withoutTimes(body),
        });
      });
    });
  });
}

const withoutTimes = (text: string): string =>
  text
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replaceAll(/"retry_after_seconds":[\d.]+/g, '"retry_after_seconds":SECONDS');
