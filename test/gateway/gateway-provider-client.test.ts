// One call to one provider, on virtual time.
import { VirtualClock } from '../support/core/virtual-clock.ts';
import { getEventListeners, once } from 'node:events';
import type { Server } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CoreError, Redactor, systemIds } from '../../src/core/index.ts';
import { createProviderClient } from '../../src/gateway/providers/provider-client.ts';
import { parseRequest } from '../../src/gateway/dialects/parse-request.ts';
import type { AttemptTimeouts, Model, ProviderOutcome, ProviderStream } from '../../src/gateway/types.ts';
import { parseModelDefinition } from '../../src/gateway/models/model-definition.ts';
import type {
  InMemoryResponse,
  InMemoryHandler,
  InMemoryRequest,
} from '../support/http-client/in-memory-transport.ts';
import { createUndiciTransport } from '../../src/platform/http-client/undici-transport.ts';
import { createInMemoryTransport } from '../support/http-client/in-memory-transport.ts';

const timeouts: AttemptTimeouts = { connectMs: 1_000, firstTokenMs: 20_000, idleMs: 5_000 };
const secret = 'sk-very-secret-key-1';
const model: Model = {
  ...parseModelDefinition({
    name: 'acme/llama',
    provider: 'acme',
    baseUrl: 'https://acme.test/v1',
    envVar: 'ACME_API_KEY',
    headers: { 'X-Team': 'core' },
  }),
  id: 1,
  isActive: true,
  origin: 'custom',
  missedLists: 0,
  retiredAt: null,
  createdAt: new Date(0),
};

/** Requests are sent, and streams piped; otherwise they are called and iterated. */
let usesCallbacks = false;
const bothWays = describe.each([false, true]);

function world(
  handler: InMemoryHandler,
  more: {
    maxResponseBytes?: number;
    timeouts?: Partial<AttemptTimeouts>;
    connect?: () => Promise<void>;
  } = {},
) {
  const clock = new VirtualClock();
  const redactor = new Redactor();
  redactor.add(secret);
  const requests: InMemoryRequest[] = [];
  const transport = createInMemoryTransport({
    clock,
    handler: (request) => {
      requests.push(request);
      return handler(request);
    },
    ...(more.connect ? { connect: more.connect } : {}),
  });
  const client = createProviderClient({
    transport,
    clock,
    ids: systemIds,
    redactor,
    maxResponseBytes: more.maxResponseBytes ?? 10_000,
  });
  const call = (
    body: object,
    options: {
      signal?: AbortSignal;
      operation?: 'chat' | 'embeddings' | 'messages';
      secret?: string | null;
    } = {},
  ): Promise<ProviderOutcome> => {
    const request = parseRequest(options.operation ?? 'chat', Buffer.from(JSON.stringify(body)));
    const { signal = new AbortController().signal } = options;
    const call = {
      model,
      baseUrl: 'https://acme.test/v1',
      key: { id: 'k', secret: options.secret === undefined ? secret : options.secret },
      request,
      timeouts: { ...timeouts, ...more.timeouts },
    };
    if (!usesCallbacks || signal.aborted || !client.canSend(request)) return client.call({ ...call, signal });
    return new Promise((resolve) => signal.addEventListener('abort', client.send(call, resolve)));
  };
  const chat = (stream = false, options: Parameters<typeof call>[1] = {}) =>
    call({ model: 'x', messages: [{ role: 'user', content: 'hello' }], stream }, options);
  return { clock, requests, call, chat, run: (stream = false) => clock.run(chat(stream)) };
}

const json = (body: unknown, status = 200, headers: Record<string, string> = {}): InMemoryResponse => ({
  status,
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(body),
});
const good = {
  choices: [{ message: { content: 'hello' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 3, completion_tokens: 1 },
};
const event = (delta: object, finish: string | null = null) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const done = 'data: [DONE]\n\n';

/** Chunks of a stream; a number is a pause, an Error disconnects. */
type Script = readonly (string | number | Error)[];
function stream(
  clock: () => VirtualClock,
  script: Script,
  headers: Record<string, string> = {},
): InMemoryHandler {
  return ({ signal }) => ({
    status: 200,
    headers: { 'content-type': 'text/event-stream', ...headers },
    body: (async function* () {
      for (const step of script) {
        if (step instanceof Error) throw step;
        if (typeof step === 'number') await clock().sleep(step, signal);
        else yield Buffer.from(step);
      }
    })(),
  });
}
function streamWorld(
  script: Script,
  more: Parameters<typeof world>[1] & { headers?: Record<string, string> } = {},
) {
  const made: ReturnType<typeof world> = world(
    (request) => stream(() => made.clock, script, more.headers)(request),
    more,
  );
  return made;
}
const isStream = (outcome: ProviderOutcome): outcome is ProviderStream => outcome.kind === 'stream';
async function committed(script: Script, more: Parameters<typeof streamWorld>[1] = {}) {
  const made = streamWorld(script, more);
  const outcome = await made.run(true);
  if (!isStream(outcome)) throw new Error(`no stream but ${JSON.stringify(outcome)}`);
  return { ...made, outcome };
}
async function readRest({
  clock,
  outcome,
}: {
  clock: VirtualClock;
  outcome: ProviderStream;
}): Promise<string> {
  let text = Buffer.concat(outcome.head).toString();
  await clock.run(passOn(outcome, (piece) => void (text += Buffer.from(piece).toString())));
  return text;
}

/** Reads the rest; a piece that takes time pauses a pipe. */
function passOn(
  { rest }: ProviderStream,
  onPiece: (piece: Uint8Array) => void | Promise<void>,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const pipe = usesCallbacks
    ? rest.pipeTo?.({
        write: (piece) => {
          const work = onPiece(piece);
          if (!work) return true;
          void work.then(() => pipe?.resume());
          return false;
        },
        end: resolve,
        fail: reject,
      })
    : undefined;
  return pipe ? promise : iterate(rest, onPiece);
}

async function iterate(
  rest: ProviderStream['rest'],
  onPiece: (piece: Uint8Array) => void | Promise<void>,
): Promise<void> {
  for await (const piece of rest) await onPiece(piece);
}

bothWays('a call (callbacks: %s)', (callbacks) => {
  beforeAll(() => void (usesCallbacks = callbacks));
  afterAll(() => void (usesCallbacks = false));

  it('sends key, headers and the caller’s bytes except for the model', async () => {
    const made = world(() => json(good));
    await made.run();
    const [request] = made.requests;
    expect(request?.url.href).toBe('https://acme.test/v1/chat/completions');
    expect(request?.headers).toMatchObject({
      authorization: `Bearer ${secret}`,
      'content-type': 'application/json',
      accept: 'application/json',
      'accept-encoding': 'identity',
      'x-team': 'core',
    });
    expect(Buffer.from(request?.body ?? '').toString()).toBe(
      '{"model":"llama","messages":[{"role":"user","content":"hello"}],"stream":false}',
    );
  });

  it('sends no credentials without a key', async () => {
    const made = world(() => json(good));
    await made.clock.run(made.chat(false, { secret: null }));
    expect(made.requests[0]?.headers).not.toHaveProperty('authorization');
  });

  it('returns a valid response unchanged, with only the content type of its headers', async () => {
    const outcome = await world(() => json(good, 200, { 'set-cookie': 'x=1' })).run();
    expect(outcome).toEqual({
      kind: 'response',
      status: 200,
      contentType: 'application/json',
      body: Buffer.from(JSON.stringify(good)),
      tokens: { prompt: 3, completion: 1, cacheRead: 0, cacheWrite: 0, reasoning: 0, isEstimated: false },
      quotaExhaustedUntil: undefined,
    });
  });

  it('estimates tokens without usage', async () => {
    const outcome = await world(() => json({ choices: [{ message: { content: 'x'.repeat(40) } }] })).run();
    expect(outcome).toMatchObject({ tokens: { completion: 10, isEstimated: true } });
  });

  it('calls the embeddings endpoint and counts vectors', async () => {
    const made = world(() =>
      json({ data: [{ embedding: [1] }, { embedding: [2] }], usage: { prompt_tokens: 9 } }),
    );
    const embed = (input: string[]) => made.clock.run(made.call({ input }, { operation: 'embeddings' }));
    expect(await embed(['a', 'b'])).toMatchObject({
      kind: 'response',
      tokens: { prompt: 9, completion: 0 },
    });
    expect(await embed(['a'])).toMatchObject({ kind: 'failure', failureClass: 'invalid-response' });
    const longer = made.call({ input: ['a', 'b'], dimensions: 2 }, { operation: 'embeddings' });
    expect(await made.clock.run(longer)).toMatchObject({
      kind: 'failure',
      failureClass: 'invalid-response',
    });
    expect(made.requests[0]?.url.pathname).toBe('/v1/embeddings');
  });

  it('reads an exhausted quota from the headers of a valid response', async () => {
    const made = world(() =>
      json(good, 200, {
        'x-ratelimit-remaining-requests': '0',
        'x-ratelimit-reset-requests': '2m0s',
        'x-ratelimit-remaining-tokens': '100',
        'x-ratelimit-reset-tokens': '1h0m0s',
      }),
    );
    const outcome = await made.run();
    expect(outcome).toMatchObject({
      quotaExhaustedUntil: { at: made.clock.now() + 120_000, source: 'x-ratelimit-reset-requests' },
    });
  });

  it('reads an exhausted quota from the standard header', async () => {
    const made = world(() => json(good, 200, { ratelimit: '"burst";r=0;t=10, "day";r=7;t=3600' }));
    expect(await made.run()).toMatchObject({
      quotaExhaustedUntil: { at: made.clock.now() + 10_000, source: 'ratelimit' },
    });
  });

  it.each<[string, InMemoryResponse, object]>([
    [
      '429',
      json({}, 429, { 'retry-after': '60' }),
      {
        failureClass: 'rate-limit',
        status: 429,
        retryHint: { retryAfterMs: 60_000, source: 'retry-after' },
        message: null,
      },
    ],
    [
      '401',
      json({ error: { message: `bad key ${secret}` } }, 401),
      { failureClass: 'authentication', message: null },
    ],
    ['an empty answer', { status: 200, body: '' }, { failureClass: 'invalid-response', status: 200 }],
    ['half an answer', { status: 200, body: '{"choices":[{"mes' }, { failureClass: 'invalid-response' }],
    ['no content', { status: 204 }, { failureClass: 'invalid-response' }],
    [
      'an error in a 200',
      json({ error: { code: 503, message: 'no' } }),
      { failureClass: 'server-error', status: 503 },
    ],
    [
      'a redirect',
      { status: 307, headers: { location: 'https://evil.test' } },
      { failureClass: 'invalid-response' },
    ],
    [
      'too large an answer',
      json({ choices: [], pad: 'x'.repeat(20_000) }),
      { failureClass: 'invalid-response', status: null },
    ],
    [
      'too large a refusal',
      json({ pad: 'x'.repeat(200_000) }, 503),
      { failureClass: 'server-error', status: 503 },
    ],
  ])('returns a failure and never throws: %s', async (_what, answer, expected) => {
    expect(await world(() => answer).run()).toMatchObject({ kind: 'failure', ...expected });
    expect(await world(() => answer).run(true)).toMatchObject({ kind: 'failure', ...expected });
  });

  it('passes on the message of a rejected request, redacted and truncated', async () => {
    const message = `temperature is bad \n for ${secret} ${'!'.repeat(1_000)}`;
    const outcome = await world(() => json({ error: { message } }, 400)).run();
    expect(outcome).toMatchObject({ failureClass: 'validation', status: 400 });
    const shown = 'message' in outcome ? (outcome.message ?? '') : '';
    expect(shown).toMatch(/^temperature is bad for \S+ !+…$/);
    expect(shown).not.toContain('very-secret');
    expect(shown.length).toBeLessThanOrEqual(301);
  });

  it('redacts a message before it truncates it: half a secret is not recognized', async () => {
    for (const length of [285, 290, 299, 300]) {
      const message = `${'!'.repeat(length - 1)} ${secret}`;
      const outcome = await world(() => json({ error: { message } }, 400)).run();
      expect('message' in outcome && outcome.message).not.toContain('sk-');
    }
  });

  it('is limited in size as a whole, blank lines included', async () => {
    const blank = Array.from({ length: 1_000 }, () => ['\n', 4_000]).flat();
    const drips = streamWorld([...blank, JSON.stringify(good)], {
      headers: { 'content-type': 'application/json' },
    });
    expect(await drips.run()).toMatchObject({ kind: 'failure', failureClass: 'timeout' });
    expect(drips.clock.monotonic()).toBe(20_000);
    expect(drips.requests[0]?.signal.aborted).toBe(true);
    expect(drips.clock.pending).toBe(0);
  });

  it('has timeouts for connection, first byte and idle time', async () => {
    const stuck = world(() => json(good), { connect: () => new Promise(() => undefined) });
    expect(await stuck.run()).toMatchObject({ failureClass: 'timeout', status: null, exceeded: 'connectMs' });
    expect(await stuck.run(true)).toMatchObject({ failureClass: 'timeout', exceeded: 'connectMs' });
    expect(stuck.clock.monotonic()).toBe(2_000);
    const hangs: ReturnType<typeof world> = world(async ({ signal }) => {
      await hangs.clock.sleep(3_600_000, signal);
      return json(good);
    });
    expect(await hangs.run()).toMatchObject({ failureClass: 'timeout', exceeded: 'firstTokenMs' });
    expect(hangs.clock.monotonic()).toBe(20_000);
    expect(await hangs.run(true)).toMatchObject({ failureClass: 'timeout', exceeded: 'firstTokenMs' });
    const silent = streamWorld(['{"choices":', 3_600_000]);
    expect(await silent.run()).toMatchObject({ failureClass: 'timeout', exceeded: 'idleMs' });
    expect(silent.clock.monotonic()).toBe(5_000);
  });

  it.each([
    { stream: true, body: [3_600_000] },
    { stream: false, body: [3_600_000] },
    { stream: false, body: Array.from({ length: 100 }, () => ['x', 400]).flat() },
  ])('waits up to a second for the body of an error response (stream $stream)', async (given) => {
    const made: ReturnType<typeof world> = world(async (request) => ({
      ...(await stream(() => made.clock, given.body)(request)),
      status: 429,
      headers: { 'retry-after': '60' },
    }));
    expect(await made.run(given.stream)).toMatchObject({
      failureClass: 'rate-limit',
      status: 429,
      retryHint: { retryAfterMs: 60_000 },
    });
    expect(made.clock.monotonic()).toBe(1_000);
    expect(made.requests[0]?.signal.aborted).toBe(true);
    expect(made.clock.pending).toBe(0);
  });

  it('classifies a cut connection as a network failure', async () => {
    const refused = world(() => Promise.reject(new Error('reset')));
    expect(await refused.run()).toMatchObject({ failureClass: 'network', status: null });
    expect(await streamWorld(['{"cho', new Error('cut')]).run()).toMatchObject({ failureClass: 'network' });
  });

  it.each([false, true])(
    'aborts the provider call when the caller disconnects (stream: %s)',
    async (isStreamed) => {
      const made: ReturnType<typeof world> = world(async ({ signal }) => {
        await made.clock.sleep(10_000, signal);
        return json(good);
      });
      const leaving = new AbortController();
      const calling = made.chat(isStreamed, { signal: leaving.signal });
      await made.clock.advance(1_000);
      expect(made.requests[0]?.signal.aborted).toBe(false);
      leaving.abort();
      expect(made.requests[0]?.signal.aborted).toBe(true);
      expect(await calling).toMatchObject({ kind: 'failure', failureClass: 'canceled' });
      await made.clock.advance(0);
      expect(made.clock.pending).toBe(0);
      expect(await made.chat(isStreamed, { signal: leaving.signal })).toMatchObject({
        failureClass: 'canceled',
      });
      expect(made.requests).toHaveLength(1);
    },
  );
});

bothWays('a streamed call, before its first content (callbacks: %s)', (callbacks) => {
  beforeAll(() => void (usesCallbacks = callbacks));
  afterAll(() => void (usesCallbacks = false));

  const role = event({ role: 'assistant', content: '' });

  it.each<[string, Script]>([
    ['an error event', [role, 'data: {"error":{"code":429,"message":"slow down"}}\n\n']],
    ['no content in time', [role, 3_600_000]],
  ])('leaves no listener on the caller’s signal after %s', async (_what, script) => {
    const made = streamWorld(script);
    const { signal } = new AbortController();
    expect(isStream(await made.clock.run(made.chat(true, { signal })))).toBe(false);
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });

  it('holds back comments and roles and passes every byte on', async () => {
    const script = [
      ': processing\n\n',
      1_000,
      role,
      event({ content: 'a' }),
      event({ content: 'b' }),
      event({}, 'stop'),
      done,
    ];
    const made = await committed(script);
    expect(made.requests[0]?.headers['accept']).toContain('text/event-stream');
    expect(Buffer.concat(made.outcome.head).toString()).toBe(
      `: processing\n\n${role}${event({ content: 'a' })}`,
    );
    expect(made.outcome).toMatchObject({ status: 200, contentType: 'text/event-stream' });
    expect(await readRest(made)).toBe(script.filter((step) => typeof step === 'string').join(''));
    expect(await made.outcome.ended).toMatchObject({
      failureClass: null,
      tokens: { completion: 1, isEstimated: true },
    });
    await made.clock.advance(1_000);
    expect(made.clock.pending).toBe(0);
  });

  it.each<[string, Script, object]>([
    [
      'an error event',
      [role, 'data: {"error":{"code":429,"message":"slow down, try again in 9s"}}\n\n'],
      { failureClass: 'rate-limit', status: 429, retryHint: { retryAfterMs: 9_000 } },
    ],
    [
      'an error event with a name',
      [role, 'event: error\ndata: {"message":"overloaded"}\n\n', 3_600_000],
      { failureClass: 'server-error' },
    ],
    [
      'a JSON error',
      ['{"error":{"code":"context_length_exceeded","message":"too long"}}'],
      { failureClass: 'context-too-long', status: 400, message: 'too long' },
    ],
    ['the end', [role], { failureClass: 'invalid-response' }],
    ['nothing at all', [], { failureClass: 'invalid-response' }],
    ['[DONE]', [role, done, 3_600_000], { failureClass: 'invalid-response' }],
    ['the end without a word', [role, event({}, 'stop'), done], { failureClass: 'invalid-response' }],
    ['the filter', [role, event({}, 'content_filter'), done], { failureClass: 'content-refused' }],
    [
      'half an event',
      [role, 'data: {"choices":[{"delta":{"content":"a"'],
      { failureClass: 'invalid-response' },
    ],
    ['a cut', [role, new Error('cut')], { failureClass: 'network' }],
    [
      'comments without end',
      [...Array.from({ length: 300 }, () => `: ${'x'.repeat(1_000)}\n\n`), 3_600_000],
      { failureClass: 'invalid-response' },
    ],
    [
      'one event without end',
      [...Array.from({ length: 5 }, () => 'x'.repeat(8 * 1024 * 1024)), 3_600_000],
      { failureClass: 'invalid-response' },
    ],
  ])('fails with %s', async (_what, script, expected) => {
    const made = streamWorld(script);
    expect(await made.run(true)).toMatchObject({ kind: 'failure', ...expected });
    expect(made.clock.pending).toBe(0);
    expect(made.clock.monotonic()).toBe(0);
    if (script.includes(3_600_000)) expect(made.requests[0]?.signal.aborted).toBe(true);
  });

  it('times out without content, whatever else arrives', async () => {
    const made = streamWorld(Array.from({ length: 100 }, () => [': still here\n\n', 1_000]).flat());
    expect(await made.run(true)).toMatchObject({ kind: 'failure', failureClass: 'timeout' });
    expect(made.clock.monotonic()).toBe(20_000);
    expect(made.requests[0]?.signal.aborted).toBe(true);
  });

  it('may take longer than the idle timeout', async () => {
    const made = await committed([role, 15_000, event({ content: 'a' }), event({}, 'stop'), done]);
    expect(await readRest(made)).toContain('"a"');
  });

  it('turns a whole response to a streaming request into a stream', async () => {
    for (const made of [world(() => json(good)), streamWorld([JSON.stringify(good)])]) {
      const outcome = await made.run(true);
      expect(outcome).toMatchObject({
        kind: 'response',
        contentType: 'text/event-stream; charset=utf-8',
        tokens: { prompt: 3, completion: 1 },
      });
      const [first = '', last] = 'body' in outcome ? Buffer.from(outcome.body).toString().split('\n\n') : [];
      expect(JSON.parse(first.replace('data: ', ''))).toMatchObject({
        choices: [{ delta: { content: 'hello' }, finish_reason: 'stop' }],
      });
      expect(last).toBe('data: [DONE]');
    }
  });

  it('reads an exhausted quota from the headers of a stream', async () => {
    const headers = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '30' };
    const made = await committed([event({ content: 'a' }), event({}, 'stop')], { headers });
    expect(made.outcome.quotaExhaustedUntil).toMatchObject({ source: 'x-ratelimit-reset' });
  });
});

bothWays('a streamed call, after its first content (callbacks: %s)', (callbacks) => {
  beforeAll(() => void (usesCallbacks = callbacks));
  afterAll(() => void (usesCallbacks = false));

  const a = event({ content: 'aaaa' });
  const second = `data: ${JSON.stringify({ choices: [{ index: 1, delta: { content: 'b' } }] })}\n\n`;
  const usage = 'data: {"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":6}}\n\n';

  it('reports its token usage', async () => {
    const made = await committed([a, event({}, 'stop'), usage, done]);
    await readRest(made);
    expect(await made.outcome.ended).toEqual({
      failureClass: null,
      tokens: { prompt: 5, completion: 6, cacheRead: 0, cacheWrite: 0, reasoning: 0, isEstimated: false },
      streamMs: 0,
    });
  });

  it('is timed by the provider, not by how fast it is read', async () => {
    const script = [a, 3_000, event({ content: 'b' }), event({ content: 'c' }), event({}, 'stop'), done];
    for (const readerMs of [0, 10_000]) {
      const made = await committed(script);
      await made.clock.run(passOn(made.outcome, () => made.clock.sleep(readerMs)));
      expect(await made.outcome.ended).toMatchObject({ failureClass: null, streamMs: 3_000 });
    }
  });

  it('cut after its last content is complete, with estimated usage', async () => {
    const made = await committed([a, event({}, 'stop'), new Error('cut before usage and [DONE]')]);
    expect(await readRest(made)).toBe(a + event({}, 'stop'));
    expect(await made.outcome.ended).toMatchObject({
      failureClass: null,
      tokens: { completion: 1, isEstimated: true },
    });
  });

  it.each<[string, Script]>([
    ['with [DONE] alone', [a, done]],
    ['without [DONE]', [a, event({}, 'stop')]],
    ['without a blank line', [a, event({}, 'stop'), 'data: [DONE]']],
    ['by a cut after the last word', [a, event({}, 'stop'), new Error('cut')]],
    ['by a connection that stays open', [a, event({}, 'stop'), done, 3_600_000]],
    ['by silence after the last word', [a, event({}, 'stop'), 3_600_000]],
    ['by silence after usage', [a, event({ content: 'b' }, 'stop'), usage, 3_600_000]],
    ['in one piece', [a + event({}, 'stop') + done]],
  ])('completes %s', async (_what, script) => {
    const made = await committed(script);
    const sent = script.filter((step) => typeof step === 'string').join('');
    expect(await readRest(made)).toBe(sent);
    expect(await made.outcome.ended).toMatchObject({ failureClass: null });
    await made.clock.advance(1_000);
    expect(made.clock.pending).toBe(0);
  });

  it.each<[string, Script]>([
    ['silence', [3_600_000]],
    ['a cut', [new Error('cut')]],
    ['a cut in the middle of an event', ['data: {"choi', new Error('cut')]],
    ['comments without end', Array.from({ length: 100 }, () => [400, ': still here\n\n']).flat()],
  ])('in another API has its last events although its end is %s', async (_what, end) => {
    const made = streamWorld([a, event({}, 'stop'), ...end]);
    const body = { max_tokens: 9, messages: [{ role: 'user', content: 'hello' }], stream: true };
    const outcome = await made.clock.run(made.call(body, { operation: 'messages' }));
    if (!isStream(outcome)) throw new Error('no stream');
    const text = await readRest({ clock: made.clock, outcome });
    expect(text).toContain('"stop_reason":"end_turn"');
    expect(text.match(/event: message_stop/g)).toHaveLength(1);
    expect(await outcome.ended).toMatchObject({ failureClass: null });
  });

  it.each<[string, Script]>([
    ['silent', [3_600_000]],
    ['not at an end', Array.from({ length: 100 }, () => [400, ': still here\n\n']).flat()],
  ])('waits a second for usage and [DONE] when it is complete and %s', async (_, after) => {
    const made = await committed([a, 3_000, event({}, 'stop'), 900, usage, ...after]);
    expect(await readRest(made)).toContain(usage);
    expect(made.clock.monotonic()).toBe(4_000);
    expect(made.requests[0]?.signal.aborted).toBe(true);
    // Its time ends at its last byte, here the usage; the wait after it does not count.
    expect(await made.outcome.ended).toMatchObject({
      failureClass: null,
      tokens: { isEstimated: false },
      streamMs: 3_900,
    });
    expect(made.clock.pending).toBe(0);
  });

  it('continues after a finish reason in a chunk with content', async () => {
    const script = [event({ content: 'a' }, 'stop'), 4_000, event({ content: 'b' }, 'stop'), 4_000, done];
    const made = await committed(script);
    expect(await readRest(made)).toContain('"b"');
    expect(await made.outcome.ended).toMatchObject({ failureClass: null });
  });

  it('is complete when every requested choice has finished', async () => {
    const body = { messages: [{}], stream: true, n: 2 };
    const other = (delta: object, finish: string | null) =>
      `data: ${JSON.stringify({ choices: [{ index: 1, delta, finish_reason: finish }] })}\n\n`;
    for (const [script, failureClass] of [
      [[a, event({}, 'stop'), new Error('cut')], 'network'],
      [[a, event({}, 'stop')], 'network'],
      [
        [a, event({}, 'stop'), 3_000, other({ content: 'b' }, null), other({}, 'stop'), new Error('cut')],
        null,
      ],
      [[a, event({}, 'stop'), done], null],
    ] as const) {
      const made = streamWorld(script);
      const outcome = await made.clock.run(made.call(body));
      if (!isStream(outcome)) throw new Error('no stream');
      await readRest({ clock: made.clock, outcome }).catch(() => undefined);
      expect(await outcome.ended).toMatchObject({ failureClass });
    }
  });

  it.each<[string, Script, string]>([
    ['the end', [a, event({ content: 'b' })], 'network'],
    ['a cut', [a, new Error('cut')], 'network'],
    ['a cut in the middle of an event', [a, 'data: {"choi', new Error('cut')], 'network'],
    ['silence', [a, 3_600_000], 'timeout'],
    ['the end after an empty reason', [a, event({}, '')], 'network'],
    [
      'an error event',
      [a, 'data: {"error":{"code":429,"message":"no"}}\n\n', event({ content: 'b' })],
      'rate-limit',
    ],
    [
      'an error event in the same piece',
      [`${a}data: {"error":{"message":"secret text"}}\n\n`],
      'server-error',
    ],
    ['garbage', [a, 'data: {"choices\n\n'], 'invalid-response'],
    ['a cut while another choice continues', [a, second, event({}, 'stop'), new Error('cut')], 'network'],
  ])('is interrupted by %s, after whole events only', async (_what, script, failureClass) => {
    const made = await committed(script);
    let text = Buffer.concat(made.outcome.head).toString();
    const reading = passOn(made.outcome, (piece) => void (text += Buffer.from(piece).toString()));
    await expect(made.clock.run(reading)).rejects.toMatchObject({
      code: 'GATEWAY_STREAM_INTERRUPTED',
      details: { failureClass },
    });
    expect(await made.outcome.ended).toMatchObject({ failureClass, tokens: { isEstimated: true } });
    expect(text).toMatch(/^(data: \{"choices".*\n\n)+$/);
    expect(made.clock.pending).toBe(0);
  });

  it('interrupted by a rate limit has a retry hint', async () => {
    const words = { code: 429, message: 'Rate limit reached. Please try again in 42s.' };
    const made = await committed([a, `data: ${JSON.stringify({ error: words })}\n\n`]);
    await expect(readRest(made)).rejects.toMatchObject({ code: 'GATEWAY_STREAM_INTERRUPTED' });
    expect(await made.outcome.ended).toMatchObject({
      failureClass: 'rate-limit',
      retryHint: { retryAfterMs: 42_000 },
    });
  });

  it.each([
    ['comments', ': still here\n\n'],
    ['empty pieces', event({})],
    ['an event that does not end', 'x'],
  ])('times out when only %s arrive for ten idle timeouts', async (_, mumble) => {
    const mumbling = Array.from({ length: 30 }, () => [4_000, mumble]).flat();
    const made = await committed([a, 4_000, event({ content: 'b' }), ...mumbling, event({}, 'stop'), done]);
    await expect(readRest(made)).rejects.toMatchObject({ details: { failureClass: 'timeout' } });
    expect(made.clock.monotonic()).toBe(4_000 + 10 * timeouts.idleMs);
    expect(await made.outcome.ended).toMatchObject({
      failureClass: 'timeout',
      streamMs: 4_000 + 10 * timeouts.idleMs,
    });
    expect(made.clock.pending).toBe(0);
  });

  it('may send no content for several idle timeouts while comments arrive', async () => {
    const thinking = Array.from({ length: 10 }, () => [4_000, ': still here\n\n']).flat();
    const made = await committed([a, ...thinking, event({ content: 'b' }), ...thinking, done]);
    expect(await readRest(made)).toContain(done);
  });

  it('reports that this server is stopping', async () => {
    const made = streamWorld([a, 3_600_000]);
    const stopping = new AbortController();
    const outcome = await made.clock.run(made.chat(true, { signal: stopping.signal }));
    if (!isStream(outcome)) throw new Error('no stream');
    stopping.abort(new CoreError('SHUTTING_DOWN', 'stopping'));
    await expect(readRest({ clock: made.clock, outcome })).rejects.toMatchObject({
      code: 'GATEWAY_STREAM_INTERRUPTED',
      isRetryable: true,
      message: expect.stringContaining('(this server is stopping)') as unknown,
    });
    expect(await outcome.ended).toMatchObject({ failureClass: 'canceled' });
  });

  it('does not time out because of a slow reader', async () => {
    const made = await committed([
      a,
      event({ content: 'b' }),
      event({ content: 'c' }),
      event({}, 'stop'),
      done,
    ]);
    const pieces = made.outcome.rest[Symbol.asyncIterator]();
    await made.clock.run(pieces.next());
    await made.clock.advance(60_000);
    expect(await made.clock.run(pieces.next())).toMatchObject({ done: false });
  });

  it('waits for a model that is slow but not idle', async () => {
    const script = [
      a,
      ...Array.from({ length: 20 }, () => [4_000, event({ content: 'b' })]).flat(),
      event({}, 'stop'),
      done,
    ];
    expect(await readRest(await committed(script))).toContain('"b"');
  });

  it('aborts the provider call when the reader stops', async () => {
    const made = await committed([a, event({ content: 'b' }), 1_000, event({ content: 'c' })]);
    for await (const _ of made.outcome.rest) break;
    expect(made.requests[0]?.signal.aborted).toBe(true);
    expect(await made.outcome.ended).toMatchObject({ failureClass: 'canceled' });
    expect(made.clock.pending).toBe(0);
  });

  it.each([true, false])('ends when the caller’s signal aborts (while reading: %s)', async (isReading) => {
    const made = streamWorld([a, 3_600_000, event({}, 'stop'), done]);
    const leaving = new AbortController();
    const outcome = await made.clock.run(made.chat(true, { signal: leaving.signal }));
    if (!isStream(outcome)) throw new Error('no stream');
    const pieces = outcome.rest[Symbol.asyncIterator]();
    const pending = isReading ? pieces.next() : undefined;
    const failing = pending && expect(pending).rejects.toMatchObject({ code: 'GATEWAY_STREAM_INTERRUPTED' });
    await made.clock.advance(100);
    leaving.abort(new Error('left'));
    expect(made.requests[0]?.signal.aborted).toBe(true);
    await failing;
    expect(await outcome.ended).toMatchObject({ failureClass: 'canceled' });
    await expect(pieces.next()).rejects.toMatchObject({ code: 'GATEWAY_STREAM_INTERRUPTED' });
    expect(made.clock.pending).toBe(0);
  });

  it('removes its listener from the caller’s signal at the end', async () => {
    const made = streamWorld([a, event({}, 'stop'), done]);
    const { signal } = new AbortController();
    const outcome = await made.clock.run(made.chat(true, { signal }));
    if (!isStream(outcome)) throw new Error('no stream');
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    await readRest({ clock: made.clock, outcome });
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });
});

describe('a call over a real socket', () => {
  let server: Server;
  let closed: PromiseWithResolvers<void>;
  // Virtual time: the timeout must not run out while a busy machine is still connecting.
  const clock = new VirtualClock();
  const transport = createUndiciTransport({ clock });
  beforeAll(async () => {
    server = createServer(({ url }, response) => {
      const dripping = setInterval(() => response.write('\n'), 20);
      const { resolve } = closed;
      response.on('close', () => {
        clearInterval(dripping);
        resolve();
      });
      response.writeHead(Number(url?.split('/')[1]), { 'content-type': 'text/event-stream' });
      response.write(': a comment, no data\n\n');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterAll(async () => {
    await transport.close();
    server.closeAllConnections();
    server.close();
  });

  it.each([
    { stream: true, status: 200, failed: { failureClass: 'timeout', status: null } },
    { stream: false, status: 200, failed: { failureClass: 'timeout', status: null } },
    { stream: true, status: 429, failed: { failureClass: 'rate-limit', status: 429 } },
    { stream: false, status: 429, failed: { failureClass: 'rate-limit', status: 429 } },
  ])(
    'is closed when no data arrives within the timeout; only an error status counts (stream $stream, status $status)',
    async (given) => {
      closed = Promise.withResolvers<void>();
      const headers = Promise.withResolvers<void>();
      const { port } = server.address() as AddressInfo;
      const client = createProviderClient({
        transport: {
          request: async (request) => {
            const response = await transport.request(request);
            headers.resolve();
            return response;
          },
          close: () => transport.close(),
        },
        clock,
        ids: systemIds,
        redactor: new Redactor(),
        maxResponseBytes: 10_000_000,
      });
      const outcome = client.call({
        model,
        baseUrl: `http://127.0.0.1:${port}/${given.status}`,
        key: { id: 'k', secret },
        request: parseRequest('chat', Buffer.from(JSON.stringify({ messages: [{}], stream: given.stream }))),
        timeouts: { connectMs: 5_000, firstTokenMs: 300, idleMs: 10_000 },
        signal: new AbortController().signal,
      });
      await headers.promise;
      expect(await clock.run(outcome)).toMatchObject({ kind: 'failure', ...given.failed });
      await closed.promise;
    },
  );
});
