// Requests and responses that are made to take long: none blocks the main thread (B1).
import { describe, expect, it } from 'vitest';
import { exampleModel } from '../../../test/support/gateway/examples.ts';
import { maxTaskMs, repeatedTaskMs } from '../../../test/support/longest-task.ts';
import type { RequestKind } from '../dialects/parse-request.ts';
import { parseRequest } from '../dialects/parse-request.ts';
import type { ChatApi, Model } from '../types.ts';
import type { Exchange } from './exchange.ts';
import { exchangeFor } from './exchange.ts';

const json = (value: unknown): string => JSON.stringify(value);
const names = (count: number) => `{${Array.from({ length: count }, (_, index) => `"k${index}":1`).join()}}`;
const list = (item: string, count: number) => `[${`${item},`.repeat(count - 1)}${item}]`;
const numbered = (count: number, item: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => item(index));

const modelWith = (api: ChatApi): Model => ({
  ...exampleModel('m', { apis: [api] }),
  id: 1,
  isActive: true,
  origin: 'custom',
  createdAt: new Date(0),
  missedLists: 0,
  retiredAt: null,
});
const context = { createId: () => 'id', now: () => 0 };
const messages = [{ role: 'user', content: 'a' }];
const bodies: Partial<Record<RequestKind, object>> = {
  chat: { messages },
  messages: { messages, max_tokens: 9 },
  responses: { input: 'a' },
  embeddings: { input: 'a' },
  rerank: { query: 'a', documents: ['b'] },
};

function exchange(kind: RequestKind, api: ChatApi, more: object = {}): Exchange {
  const body = Buffer.from(json({ model: 'm', ...bodies[kind], ...more }));
  return exchangeFor(parseRequest(kind, body), modelWith(api), context);
}

describe('a request with', () => {
  const called = (given: string, result = 'x', id = 'a') => ({
    messages: [
      ...messages,
      {
        role: 'assistant',
        tool_calls: [{ id, type: 'function', function: { name: 'f', arguments: given } }],
      },
      { role: 'tool', tool_call_id: id, content: result },
    ],
  });

  it.each<[string, ChatApi, object]>([
    ['arguments of very many names', 'messages', called(names(1_200_000))],
    ['arguments of very many names', 'gemini', called(names(1_200_000))],
    ['a result of very many names', 'gemini', called('{}', names(1_200_000))],
    ['a result that is a list', 'gemini', called('{}', list('1', 5_000_000))],
    ['the id of a call of 19 MB', 'messages', called('{}', 'x', 'é'.repeat(9_500_000))],
  ])('%s is sent to the API %s without blocking', async (_, api, more) => {
    const body = Buffer.from(json({ model: 'm', ...more }));
    const send = () => {
      const request = parseRequest('chat', body);
      // As the router, which does not have too much JSON translated.
      if (request.decode().conversation.nativeFeatures.length === 0)
        exchangeFor(request, modelWith(api), context);
    };
    expect(await repeatedTaskMs(send)).toBeLessThan(maxTaskMs);
  });

  it('arguments that are nested deeply is translated with them as text', () => {
    const deep = `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
    for (const api of ['messages', 'gemini'] as const) {
      const body = Buffer.from(json({ model: 'm', ...called(deep, deep) }));
      const sent = exchangeFor(parseRequest('chat', body), modelWith(api), context).body;
      expect(Buffer.from(sent).includes('{"input":"{\\"a\\":[[[[')).toBe(true);
    }
  });

  it('arguments and results of usual size is translated, a larger one not', () => {
    const nativeFeatures = (more: object) =>
      parseRequest('chat', Buffer.from(json(more))).decode().conversation.nativeFeatures;
    expect(nativeFeatures(called(names(80_000), 'a, b, [c]: '.repeat(500_000)))).toEqual([]);
    expect(nativeFeatures(called(names(110_000)))).toEqual([expect.stringContaining('so large')]);
    expect(nativeFeatures(called(names(60_000), names(60_000)))).toHaveLength(1);
  });
});

describe('a response with', () => {
  const chat = (message: string, more = '') =>
    `{"choices":[{"index":0,"message":${message},"finish_reason":"stop"}]${more}}`;
  const call = (given: string) =>
    `{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":${json(given)}}}]}`;
  const message = (more: string) =>
    `{"type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"x"}],"stop_reason":"end_turn"${more}}`;

  it.each<[string, Exchange, string]>([
    ['500,000 names', exchange('chat', 'chat'), chat('{"content":"a"}', `,"x":${names(499_000)}`)],
    [
      '190,000 names, as a stream',
      exchange('chat', 'chat', { stream: true }),
      chat('{"content":"a"}', `,"x":${names(190_000)}`),
    ],
    [
      '500,000 names, as a stream',
      exchange('chat', 'chat', { stream: true }),
      chat('{"content":"a"}', `,"x":${names(499_000)}`),
    ],
    ['500,000 names, decoded', exchange('messages', 'messages'), message(`,"x":${names(499_000)}`)],
    [
      'very many blocks, as a stream',
      exchange('messages', 'messages', { stream: true }),
      message('').replace(/\[.*\]/, list('{"type":"text","text":"x"}', 160_000)),
    ],
    ['arguments of very many names', exchange('messages', 'chat'), chat(call(names(2_000_000)))],
    [
      'calls without a name',
      exchange('messages', 'chat'),
      chat(`{"content":"a","tool_calls":${list('{"id":"a"}', 80_000)}}`),
    ],
    [
      '8 MB of quotes for another API',
      exchange('responses', 'chat'),
      chat(`{"content":${json('"'.repeat(4_000_000))}}`),
    ],
    ['vectors and very many names', exchange('embeddings', 'chat'), `{"data":${names(2_000_000)}}`],
    ['vectors that are empty', exchange('embeddings', 'chat'), `{"data":${list('[]', 4_900_000)}}`],
    ['very many results', exchange('rerank', 'chat'), `{"results":${list('{"index":1}', 2_500_000)}}`],
  ])('%s is read without blocking', async (_, answered, text) => {
    const body = Buffer.from(text);
    expect(await repeatedTaskMs(() => answered.readResponse(body, 'application/json'))).toBeLessThan(
      maxTaskMs,
    );
  });

  it('more than 8 MB for another API, or 20 MB that are decoded, is invalid', () => {
    const quotes = (count: number) => json('"'.repeat(count));
    const stateOf = (read: Exchange, text: string) =>
      read.readResponse(Buffer.from(text), 'application/json').state;
    const chatWith = (count: number) => chat(`{"content":${quotes(count)}}`);
    expect(stateOf(exchange('responses', 'chat'), chatWith(4_000_000))).toBe('valid');
    expect(stateOf(exchange('responses', 'chat'), chatWith(4_400_000))).toBe('invalid');
    expect(stateOf(exchange('chat', 'chat'), chatWith(15_000_000))).toBe('valid');
    const own = exchange('messages', 'messages');
    expect(stateOf(own, message(`,"x":${quotes(10_000_000)}`))).toBe('valid');
    expect(stateOf(own, message(`,"x":${quotes(11_000_000)}`))).toBe('invalid');
  });

  it('log probabilities of 2,500 tokens, or three million numbers, is valid', () => {
    const top = { token: 'a', logprob: -0.25, bytes: [97] };
    const content = Array.from({ length: 2_500 }, () => ({
      ...top,
      top_logprobs: Array.from({ length: 20 }, () => top),
    }));
    const answer = chat('{"content":"a"}').replace('"index"', `"logprobs":${json({ content })},"index"`);
    expect(exchange('chat', 'chat').readResponse(Buffer.from(answer), 'application/json').state).toBe(
      'valid',
    );
    const vectors = json({ data: [{ embedding: Array(3_000_000).fill(0) }] });
    const read = exchange('embeddings', 'chat').readResponse(Buffer.from(vectors), 'application/json');
    expect(read.state).toBe('valid');
  });
});

const deepList = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;

it('a response that is nested deeply is invalid where it must be written again', () => {
  const answer = (more: string) => `{"choices":[{"message":{"content":"a"${more}},"finish_reason":"stop"}]}`;
  const calls = Buffer.from(answer(`,"tool_calls":${deepList}`));
  const invalid = { state: 'invalid', failureClass: 'invalid-response' };
  expect(exchange('chat', 'chat').readResponse(calls, 'application/json')).toEqual(invalid);
  const unknown = Buffer.from(answer(`,"unknown":${deepList}`));
  expect(exchange('chat', 'chat').readResponse(unknown, 'application/json').state).toBe('valid');
  const stream = exchange('chat', 'chat', { stream: true });
  expect(stream.readResponse(unknown, 'application/json')).toEqual(invalid);
  const reader = stream.createReader();
  reader.push(Buffer.from('data: {"choices":[{"delta":{"content":"a"}}]}\n\n'));
  reader.push(Buffer.from(`data: {"choices":[{"delta":{"tool_calls":${deepList}}}]}\n\n`));
  expect(reader.failure).toEqual({ failureClass: 'invalid-response' });
});

describe('a stream with', () => {
  it.each([
    ['10,000 calls', 10_000, '{"tool_calls":[CALL]}', undefined],
    ['10,001 calls', 10_001, '{"tool_calls":[CALL]}', 'invalid-response'],
    ['8 MB', 80, `{"content":"${'a'.repeat(100_000)}"}`, undefined],
    ['9 MB', 90, `{"content":"${'a'.repeat(100_000)}"}`, 'invalid-response'],
  ])('%s is translated only up to a limit', (_, count, delta, failureClass) => {
    const reader = exchange('responses', 'chat', { stream: true }).createReader();
    for (let index = 0; index < count; index++)
      reader.push(Buffer.from(chunk(delta.replace('CALL', callAt(index)))));
    expect(reader.failure).toEqual(failureClass && { failureClass });
  });

  it.each([
    [10_000, undefined],
    [10_001, { failureClass: 'invalid-response' }],
  ])('%i items in its last event is corrected only up to a limit', (count, failure) => {
    const reader = exchange('responses', 'responses', { stream: true }).createReader();
    const items = numbered(count, (index) => `{"id":"f${index}"}`).join();
    const response = `{"id":"r","model":"m","output":[${items}]}`;
    reader.push(Buffer.from(created + data(`{"type":"response.completed","response":${response}}`)));
    expect(reader.failure).toEqual(failure);
  });

  const data = (text: string) => `data: ${text}\n\n`;
  const chunk = (delta: string) => data(`{"choices":[{"index":0,"delta":${delta},"finish_reason":"stop"}]}`);
  const created = data('{"type":"response.created","response":{"id":"r","model":"m","output":[]}}');
  const callAt = (index: number) =>
    `{"index":${index},"id":"a${index}","function":{"name":"f","arguments":"1"}}`;

  it.each<[string, RequestKind, ChatApi, string]>([
    ['an event of very many lines', 'chat', 'chat', `data: x\n${'a\n'.repeat(10_000_000)}\n`],
    ['an event of very many names', 'messages', 'messages', data(`{"type":"ping","x":${names(499_000)}}`)],
    [
      'very many calls in one event',
      'messages',
      'chat',
      chunk(`{"tool_calls":[${numbered(25_000, callAt).join()}]}`),
    ],
    [
      'an event of 30 MB for another API',
      'responses',
      'chat',
      `${chunk(`{"content":"${'a'.repeat(30_000_000)}"}`)}data: [DONE]\n\n`,
    ],
    [
      '8 MB for another API',
      'responses',
      'chat',
      `${chunk(`{"content":${json('"'.repeat(3_000_000))}}`)}data: [DONE]\n\n`,
    ],
    [
      'very many items in its last event',
      'responses',
      'responses',
      `${created}${data(`{"type":"response.completed","response":{"id":"r","model":"m","output":[${numbered(60_000, (index) => `{"id":"f${index}"}`).join()}]}}`)}`,
    ],
    [
      'very many items',
      'responses',
      'responses',
      `${created}${numbered(60_000, (index) => data(`{"type":"response.output_item.added","item":{"id":"f${index}"}}`)).join('')}`,
    ],
    [
      'very many blocks',
      'messages',
      'messages',
      numbered(60_000, (index) =>
        data(`{"type":"content_block_start","index":${index},"content_block":{"type":"tool_use"}}`),
      ).join(''),
    ],
  ])('%s is read without blocking', async (_, kind, api, text) => {
    const bytes = Buffer.from(text);
    const read = async () => {
      const reader = exchange(kind, api, { stream: true }).createReader();
      for (let at = 0; at < bytes.length && !reader.failure; at += 65_536) {
        reader.push(bytes.subarray(at, at + 65_536));
        await new Promise(setImmediate);
      }
      reader.end();
    };
    expect(await repeatedTaskMs(read)).toBeLessThan(maxTaskMs);
  });
});
