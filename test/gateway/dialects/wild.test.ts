// Streams as broken as users of gateways reported them in 2025 and 2026, and worse: callers get a stream that follows the
// rules of their API, or an error.
import Anthropic from '@anthropic-ai/sdk';
import * as fc from 'fast-check';
import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { readSignature, writeSignature } from '../../../src/gateway/dialects/conversation.ts';
import { parseRequest } from '../../../src/gateway/dialects/parse-request.ts';
import { exchangeFor } from '../../../src/gateway/providers/exchange.ts';
import { modelOf } from '../../support/gateway/routing-world.ts';
import { events } from '../../support/gateway/scripted-upstream.ts';
import { streamReaders } from '../../support/gateway/stream-rules.ts';
import { answers, requests } from './examples.ts';

type CallerApi = keyof typeof streamReaders;
type UpstreamApi = keyof typeof answers;
type Event = Readonly<Record<string, unknown>> | string;

const callers = Object.keys(streamReaders) as CallerApi[];

const readerOf = (caller: CallerApi, upstream: UpstreamApi, more: object = {}) => {
  const body = { ...requests[caller], stream: true, stream_options: { include_usage: true }, ...more };
  const model = {
    ...modelOf({ name: 'up', upstream: 'up-1', capabilities: { reasoning: true } }, 1),
    apis: [upstream],
  };
  const request = parseRequest(caller, Buffer.from(JSON.stringify(body)));
  return exchangeFor(request, model, { createId: () => 'ID', now: () => 0 }).createReader();
};

/** What a caller receives; undefined when the stream is reported as failed or cut. */
function translate(
  caller: CallerApi,
  upstream: UpstreamApi,
  list: readonly Event[],
  isNamed = true,
  more: object = {},
): string | undefined {
  const reader = readerOf(caller, upstream, more);
  let text = Buffer.from(reader.push(Buffer.from(events(list, isNamed))) ?? '').toString();
  text += Buffer.from(reader.end() ?? '').toString();
  return reader.failure || !reader.isComplete ? undefined : text;
}

function received(caller: CallerApi, upstream: UpstreamApi, list: readonly Event[], isNamed = true) {
  const text = translate(caller, upstream, list, isNamed);
  expect(text).toBeDefined();
  return streamReaders[caller](text ?? '', caller === upstream);
}

/** The bytes of chat streams pass through as they are. */
const callersOf = (upstream: UpstreamApi): readonly CallerApi[] =>
  callers.filter((caller) => caller !== upstream || caller !== 'chat');
const message = {
  type: 'message_start',
  message: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [],
    usage: { input_tokens: 5 },
  },
};
const start = (index: number, content_block: object) => ({
  type: 'content_block_start',
  index,
  content_block,
});
const delta = (index: number, given: object) => ({ type: 'content_block_delta', index, delta: given });
const stop = (index: number) => ({ type: 'content_block_stop', index });
const end = (reason: string, usage: object = { output_tokens: 7 }) => [
  { type: 'message_delta', delta: { stop_reason: reason, stop_sequence: null }, usage },
  { type: 'message_stop' },
];
const text = (given: string) => ({ type: 'text_delta', text: given });

describe.each(callersOf('messages'))('a Messages stream for a caller of the %s API', (caller) => {
  it('with thinking_delta inside a text block keeps thinking and text apart', () => {
    const read = received(caller, 'messages', [
      message,
      start(0, { type: 'text', text: '' }),
      delta(0, { type: 'thinking_delta', thinking: 'hm' }),
      delta(0, text('Hello')),
      stop(0),
      ...end('end_turn'),
    ]);
    expect(read).toMatchObject({ reasoning: 'hm', text: 'Hello' });
  });

  it('with two message_start is one message', () => {
    const again = { ...message, message: { ...message.message, id: 'msg_2' } };
    const list = [message, again, start(0, { type: 'text', text: '' }), delta(0, text('Hi')), stop(0)];
    expect(received(caller, 'messages', [...list, ...end('end_turn')])).toMatchObject({ text: 'Hi' });
  });

  it('keeps the arguments of a tool call that follow in the block of a text', () => {
    const read = received(caller, 'messages', [
      message,
      start(0, { type: 'text', text: '' }),
      delta(0, text('Let me see.')),
      start(1, { type: 'tool_use', id: 'toolu_1', name: 'read', input: {} }),
      delta(0, { type: 'input_json_delta', partial_json: '{"path":' }),
      delta(1, { type: 'input_json_delta', partial_json: '"a"}' }),
      stop(1),
      ...end('tool_use'),
    ]);
    expect(read).toMatchObject({
      text: 'Let me see.',
      calls: [{ id: 'toolu_1', name: 'read', input: { path: 'a' } }],
    });
  });

  it('with the whole input in content_block_start has a call with that input', () => {
    const read = received(caller, 'messages', [
      message,
      start(0, { type: 'tool_use', id: 'toolu_1', name: 'read', input: { path: 'a' } }),
      stop(0),
      ...end('tool_use'),
    ]);
    expect(read.calls).toEqual([{ id: 'toolu_1', name: 'read', input: { path: 'a' } }]);
  });

  it('with a delta for a block that was not started has its text', () => {
    const list = [message, delta(3, text('Hel')), delta(3, text('lo')), stop(3), ...end('end_turn')];
    expect(received(caller, 'messages', list)).toMatchObject({ text: 'Hello' });
  });

  it.each([
    ['without cache fields', { input_tokens: 5, output_tokens: 7 }],
    ['of zeros', { input_tokens: 0, output_tokens: 0, cache_read_input_tokens: 0 }],
    ['of null', null],
  ])('with usage %s reports complete usage', (_what, usage) => {
    const given = { ...message, message: { ...message.message, usage } };
    const list = [given, start(0, { type: 'text', text: '' }), delta(0, text('Hello')), stop(0)];
    const last = { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage };
    const read = received(caller, 'messages', [...list, last, { type: 'message_stop' }]);
    const [prompt, completion] = Object.entries(read.usage)
      .filter(([name]) => /^(prompt|input|completion|output)_tokens$/.test(name))
      .map(([, count]) => count as number);
    expect(prompt).toBeGreaterThan(0);
    expect(completion).toBeGreaterThan(0);
  });

  it('with zeros at its end keeps what its start reported', () => {
    const usage = { input_tokens: 25, output_tokens: 1, cache_read_input_tokens: 0 };
    const given = { ...message, message: { ...message.message, usage } };
    const list = [given, start(0, { type: 'text', text: '' }), delta(0, text('Hello')), stop(0)];
    const zeros = { input_tokens: 0, output_tokens: 7, cache_read_input_tokens: 0 };
    const last = { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: zeros };
    const read = received(caller, 'messages', [...list, last, { type: 'message_stop' }]);
    expect(Object.values(read.usage)).toEqual(expect.arrayContaining([25, 7]));
  });

  it('with a tool call without input, finished as text, has a call that can be executed', () => {
    const call = start(0, { type: 'tool_use', id: 'toolu_1', name: 'read', input: {} });
    const read = received(caller, 'messages', [message, call, stop(0), ...end('end_turn')]);
    expect(read.calls).toEqual([{ id: 'toolu_1', name: 'read', input: {} }]);
    const finish = { chat: 'tool_calls', messages: 'tool_use', responses: 'completed' };
    expect(read.finish).toBe(finish[caller]);
  });
});

const created = { type: 'response.created', response: { id: 'resp_1', model: 'm', output: [] } };
const added = (index: number, item: object) => ({
  type: 'response.output_item.added',
  output_index: index,
  item,
});
const done = (index: number, item: object) => ({
  type: 'response.output_item.done',
  output_index: index,
  item,
});
const messageItem = { id: 'msg_1', type: 'message', role: 'assistant', content: [] };
const callItem = { id: 'fc_1', type: 'function_call', call_id: 'call_1', name: 'read', arguments: '' };
const textDelta = (
  given: string,
  more: object = { output_index: 0, content_index: 0, item_id: 'msg_1' },
) => ({
  type: 'response.output_text.delta',
  delta: given,
  ...more,
});
const argumentsDelta = (given: string, more: object = { output_index: 0, item_id: 'fc_1' }) => ({
  type: 'response.function_call_arguments.delta',
  delta: given,
  ...more,
});
const completed = (output?: readonly object[]) => ({
  type: 'response.completed',
  response: { id: 'resp_1', model: 'm', status: 'completed', ...(output && { output }) },
});
const readCall = { id: 'call_1', name: 'read', input: { path: 'a' } };

describe.each(callersOf('responses'))('a Responses stream for a caller of the %s API', (caller) => {
  it('without types in its events is read by their names', () => {
    const list = [created, added(0, messageItem), textDelta('Hello'), done(0, messageItem), completed([])];
    const untyped = list.map(({ type, ...rest }) => `event: ${type}\ndata: ${JSON.stringify(rest)}\n\n`);
    expect(received(caller, 'responses', untyped)).toMatchObject({ text: 'Hello' });
  });

  it('without output_index and content_index has its text and calls', () => {
    const read = received(caller, 'responses', [
      created,
      { type: 'response.output_item.added', item: messageItem },
      textDelta('Hello', {}),
      { type: 'response.output_item.done', item: messageItem },
      { type: 'response.output_item.added', item: callItem },
      argumentsDelta('{"path":"a"}', {}),
      { type: 'response.output_item.done', item: callItem },
      completed(),
    ]);
    expect(read).toMatchObject({ text: 'Hello', calls: [readCall] });
  });

  it('with text deltas before output_item.added has its text once', () => {
    const list = [created, textDelta('Hel'), added(0, messageItem), textDelta('lo'), done(0, messageItem)];
    expect(received(caller, 'responses', [...list, completed([])])).toMatchObject({ text: 'Hello' });
    const whole = { ...messageItem, content: [{ type: 'output_text', text: 'Hello' }] };
    const late = [created, textDelta('Hello'), added(0, messageItem), done(0, whole), completed([whole])];
    expect(received(caller, 'responses', late)).toMatchObject({ text: 'Hello' });
  });

  it('with the same output_index for all items has each once', () => {
    const calls = ['call_1', 'call_2'].map((call_id, index) => ({
      ...callItem,
      id: `fc_${index}`,
      call_id,
      arguments: '{"path":"a"}',
    }));
    const list = calls.flatMap((call) => [
      added(0, { ...call, arguments: '' }),
      argumentsDelta(call.arguments, { output_index: 0, item_id: call.id }),
      done(0, call),
    ]);
    const read = received(caller, 'responses', [created, ...list, completed(calls)]);
    expect(read.calls).toEqual([readCall, { ...readCall, id: 'call_2' }]);
  });

  it('without function_call_arguments.done and output_item.done has its calls', () => {
    const list = [
      created,
      added(0, callItem),
      argumentsDelta('{"path"'),
      argumentsDelta(':"a"}'),
      completed(),
    ];
    expect(received(caller, 'responses', list).calls).toEqual([readCall]);
  });

  it('with arguments only in the done event has them', () => {
    const last = {
      type: 'response.function_call_arguments.done',
      output_index: 0,
      arguments: '{"path":"a"}',
    };
    const list = [created, added(0, callItem), last, completed()];
    expect(received(caller, 'responses', list).calls).toEqual([readCall]);
    const whole = { ...callItem, arguments: '{"path":"a"}' };
    expect(received(caller, 'responses', [created, done(0, whole), completed()]).calls).toEqual([readCall]);
  });

  it('with empty items at their end has what was streamed', () => {
    const last = completed([callItem, messageItem]);
    const usage = { input_tokens: 5, output_tokens: 7, total_tokens: 12 };
    const list = [
      created,
      added(0, callItem),
      argumentsDelta('{"path":"a"}'),
      done(0, callItem),
      added(1, messageItem),
      textDelta('Hello', { output_index: 1, content_index: 0, item_id: 'msg_1' }),
      done(1, messageItem),
      { ...last, response: { ...last.response, usage } },
    ];
    expect(received(caller, 'responses', list)).toMatchObject({ text: 'Hello', calls: [readCall] });
    const stream = translate(caller, 'responses', list) ?? '';
    if (caller === 'responses')
      expect(stream.slice(stream.lastIndexOf('event:'))).toMatch(/\{\\"path\\":\\"a\\"\}.*Hello/);
  });

  it.each([
    ['without id, model and output', { type: 'response.completed', response: { status: 'completed' } }],
    ['without a response', { type: 'response.completed' }],
  ])('with response.completed %s is complete', (_what, last) => {
    const list = [created, added(0, messageItem), textDelta('Hello'), done(0, messageItem), last];
    expect(received(caller, 'responses', list)).toMatchObject({ text: 'Hello' });
  });

  it('without response.completed is complete if its items are, and cut if they are not', () => {
    const list = [created, added(0, messageItem), textDelta('Hello'), done(0, messageItem)];
    expect(received(caller, 'responses', list)).toMatchObject({ text: 'Hello' });
    expect(translate(caller, 'responses', list.slice(0, 3))).toBeUndefined();
  });

  it('with everything in response.completed alone has it', () => {
    const items = [
      { ...messageItem, content: [{ type: 'output_text', text: 'Hello' }] },
      { ...callItem, arguments: '{"path":"a"}' },
    ];
    expect(received(caller, 'responses', [created, completed(items)])).toMatchObject({
      text: 'Hello',
      calls: [readCall],
    });
  });

  it('that fails is a failure', () => {
    const failed = { type: 'response.failed', response: { error: { code: 'server_error', message: 'no' } } };
    expect(translate(caller, 'responses', [created, failed])).toBeUndefined();
  });
});

describe('a stream for a caller of the same API', () => {
  const passed = (api: CallerApi, bytes: Buffer, size: number) => {
    const reader = readerOf(api, api);
    let text = '';
    for (let at = 0; at < bytes.length; at += size)
      text += Buffer.from(reader.push(bytes.subarray(at, at + size)) ?? '').toString();
    return text + Buffer.from(reader.end() ?? '').toString();
  };
  const unknown = [
    message,
    start(0, { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} }),
    delta(0, { type: 'input_json_delta', partial_json: '{"query":"é 😀"}' }),
    stop(0),
    start(1, { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [{ type: 'x' }] }),
    stop(1),
    { type: 'a_new_event', index: 7 },
    start(2, { type: 'text', text: '' }),
    delta(2, { type: 'citations_delta', citation: { type: 'web_search_result_location' } }),
    delta(2, text('Hello')),
    stop(2),
    ...end('pause_turn'),
  ];

  it.each<[string, CallerApi, readonly Event[]]>([
    ['of the messages API', 'messages', answers.messages.stream as readonly Event[]],
    ['of the messages API with blocks of the provider', 'messages', unknown],
    ['of the responses API', 'responses', answers.responses.stream as readonly Event[]],
  ])('that follows the rules %s keeps every byte', (_what, api, list) => {
    const complete = list.map((event) =>
      event === message
        ? {
            ...message,
            message: {
              ...message.message,
              usage: {
                input_tokens: 5,
                output_tokens: 1,
                cache_read_input_tokens: null,
                cache_creation_input_tokens: null,
              },
            },
          }
        : event,
    );
    const given = `: hello\n\n${events(complete, true).replaceAll('data: {', 'data: { "new": 1.0,')}`;
    for (const size of [given.length, 1, 50]) expect(passed(api, Buffer.from(given), size)).toBe(given);
    // Clients ignore an event without its blank line.
    expect(passed(api, Buffer.from(given.trimEnd()), 50)).toBe(given);
    // Bytes that do not end in time are completed.
    const cut = given.slice(0, given.lastIndexOf('event:'));
    const completed = passed(api, Buffer.from(cut), 100);
    expect(completed.startsWith(cut)).toBe(true);
    expect(completed.slice(cut.length)).toMatch(/^event: (message_stop|response\.completed)\n/);
  });

  const fetchOf = (stream: string) => async () =>
    new Response(stream, { headers: { 'content-type': 'text/event-stream' } });

  it.each(['with', 'without'])('%s names of events is read by the client of Anthropic', async (given) => {
    const broken = [
      message,
      message,
      start(0, { type: 'text', text: '' }),
      delta(0, { type: 'thinking_delta', thinking: 'hm' }),
      delta(0, text('Hello')),
      start(1, { type: 'tool_use', id: 'toolu_1', name: 'read', input: {} }),
      delta(0, { type: 'input_json_delta', partial_json: '{"path":"a"}' }),
      { type: 'message_delta', delta: { stop_reason: 'tool_use' } },
      { type: 'message_stop' },
    ];
    const stream = passed('messages', Buffer.from(events(broken, given === 'with')), 1_000);
    const client = new Anthropic({ apiKey: 'k', baseURL: 'http://127.0.0.1', fetch: fetchOf(stream) });
    const read = await client.messages
      .stream({ model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] })
      .finalMessage();
    expect(read).toMatchObject({
      content: [
        { type: 'thinking', thinking: 'hm' },
        { type: 'text', text: 'Hello' },
        { type: 'tool_use', id: 'toolu_1', input: { path: 'a' } },
      ],
      stop_reason: 'tool_use',
      usage: { input_tokens: 5 },
    });
  });

  it('is read by the client of OpenAI', async () => {
    const broken = [
      textDelta('Hel', {}),
      { type: 'response.output_item.added', item: messageItem },
      textDelta('lo', {}),
      { type: 'response.output_item.done', item: messageItem },
      { type: 'response.output_item.added', item: callItem },
      { type: 'response.function_call_arguments.done', arguments: '{"path":"a"}' },
      { type: 'response.completed', response: { status: 'completed' } },
    ];
    const stream = passed('responses', Buffer.from(events(broken, true)), 1_000);
    const client = new OpenAI({ apiKey: 'k', baseURL: 'http://127.0.0.1', fetch: fetchOf(stream) });
    const read = await client.responses.stream({ model: 'm', input: 'hi' }).finalResponse();
    expect(read.output_text).toBe('Hello');
    expect(read.output[1]).toMatchObject({ call_id: 'call_1', name: 'read', arguments: '{"path":"a"}' });
  });
});

const chunk = (given: object, finish: string | null = null) => ({
  id: 'c1',
  object: 'chat.completion.chunk',
  model: 'm',
  choices: [{ index: 0, delta: given, finish_reason: finish }],
});
const call = (index: number, more: object) => ({ tool_calls: [{ index, ...more }] });

describe.each(callersOf('chat'))('a chat stream for a caller of the %s API', (caller) => {
  it('with signed reasoning of another API, whose id comes late, is one item that keeps both', () => {
    const detail = { id: 'rs_up', format: 'openai-responses-v1', index: 0 };
    const list = [
      { reasoning_details: [{ type: 'reasoning.summary', summary: 'hm', ...detail }] },
      { reasoning_details: [{ type: 'reasoning.encrypted', data: 'S1gned', ...detail }] },
      { content: 'Hello' },
    ].map((each) => ({ choices: [{ index: 0, delta: each, finish_reason: null }] }));
    const last = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
    const stream = translate(caller, 'chat', [...list, last, '[DONE]']);
    expect(streamReaders[caller](stream ?? '')).toMatchObject({ reasoning: 'hm', text: 'Hello' });
    if (caller !== 'responses') return;
    const content = [...(stream ?? '').matchAll(/"encrypted_content":"([^"]+)"/g)].at(-1)?.[1] ?? '';
    expect(readSignature(content, 'responses')).toEqual({ api: 'responses', data: 'S1gned', id: 'rs_up' });
  });

  it('with interleaved arguments of two calls has both', () => {
    const read = received(caller, 'chat', [
      chunk(call(0, { id: 'a', function: { name: 'read', arguments: '{"path":' } })),
      chunk(call(1, { id: 'b', function: { name: 'read', arguments: '{"path":' } })),
      chunk(call(0, { function: { arguments: '"x"}' } })),
      chunk(call(1, { function: { arguments: '"y"}' } })),
      chunk({}, 'stop'),
      'data: [DONE]\n\n',
    ]);
    expect(read.calls.map(({ input }) => input)).toEqual([{ path: 'x' }, { path: 'y' }]);
  });

  it('with a name after the first arguments, no ids, and content between calls has everything', () => {
    const read = received(caller, 'chat', [
      chunk(call(0, { function: { arguments: '{"path":"x"' } })),
      chunk(call(0, { function: { name: 'read', arguments: '}' } })),
      chunk({ content: 'And ' }),
      chunk(call(1, { function: { name: 'read', arguments: '{"path":"y"}' } })),
      chunk({ content: 'more' }),
      chunk({}, 'tool_calls'),
      'data: [DONE]\n\n',
    ]);
    expect(read.text).toBe('And more');
    expect(read.calls.map(({ input }) => input)).toEqual([{ path: 'x' }, { path: 'y' }]);
    expect(new Set(read.calls.map(({ id }) => id)).size).toBe(2);
  });

  it('that uses one index for two calls has both', () => {
    const read = received(caller, 'chat', [
      chunk(call(0, { id: 'a', function: { name: 'read', arguments: '{"path":"x"}' } })),
      chunk(call(0, { id: 'b', function: { name: 'read', arguments: '{"path":"y"}' } })),
      chunk({}, 'tool_calls'),
      'data: [DONE]\n\n',
    ]);
    expect(read.calls.map(({ id }) => id)).toEqual(['a', 'b']);
  });

  it('with reasoning in any of the fields that servers use has it', () => {
    for (const field of ['reasoning_content', 'reasoning']) {
      const list = [
        chunk({ [field]: 'hm' }),
        chunk({ content: 'Hi' }),
        chunk({}, 'stop'),
        'data: [DONE]\n\n',
      ];
      expect(received(caller, 'chat', list)).toMatchObject({ reasoning: 'hm', text: 'Hi' });
    }
  });
});

it('a call of a custom tool has the id and the input of its kind', () => {
  const input = JSON.stringify({ input: '*** Begin Patch' });
  const stream = translate('responses', 'chat', [
    chunk(call(0, { id: 'a', function: { name: 'patch', arguments: input } })),
    chunk({}, 'tool_calls'),
    'data: [DONE]\n\n',
  ]);
  expect(stream).toMatch(
    /output_item\.done","output_index":0,"item":\{"id":"ctc_[^"]+","call_id":"a","name":"patch","type":"custom_tool_call","input":"\*\*\* Begin Patch"/,
  );
});

describe('a request', () => {
  const sent = (caller: CallerApi, upstream: UpstreamApi, body: object) => {
    const model = {
      ...modelOf({ name: 'up', upstream: 'up-1', capabilities: { reasoning: true } }, 1),
      apis: [upstream],
    };
    const request = parseRequest(caller, Buffer.from(JSON.stringify({ ...requests[caller], ...body })));
    const exchange = exchangeFor(request, model, { createId: () => 'ID', now: () => 0 });
    return JSON.parse(Buffer.from(exchange.body).toString()) as Record<
      string,
      readonly Record<string, unknown>[]
    >;
  };

  it('with additional_tools and reasoning among its items keeps the tools and adds no empty message', () => {
    const tool = { type: 'function', name: 'extra', parameters: { type: 'object' } };
    const input = [
      { type: 'additional_tools', role: 'developer', tools: [tool] },
      { type: 'reasoning', id: 'rs_1', summary: [] },
      { role: 'user', content: 'hi' },
    ];
    const body = sent('responses', 'chat', { instructions: undefined, input });
    expect(body['messages']).toEqual([{ role: 'user', content: 'hi' }]);
    expect(body['tools']?.map(({ function: fn }) => (fn as { name: string }).name)).toContain('extra');
  });

  const translated = writeSignature({ api: 'gemini', data: 'GEM' }, 'messages');
  const madeUp = writeSignature(undefined, 'messages');
  const question = { role: 'user', content: 'hi' };

  it('with thinking of another model reaches a model of the Messages API without it', () => {
    const own = { type: 'thinking', thinking: 'Mine.', signature: 'SIGNED' };
    const call = { type: 'tool_use', id: 'a', name: 'read', input: {} };
    const result = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'x' }] };
    const turn = (...content: object[]) => ({ role: 'assistant', content });
    const body = {
      unknown: 12,
      messages: [
        question,
        turn(own, { type: 'text', text: 'One.' }),
        question,
        turn({ type: 'thinking', thinking: 'Cut off.', signature: madeUp }),
        question,
        turn({ type: 'redacted_thinking', data: translated }, call),
        result,
      ],
    };
    expect(sent('messages', 'messages', body)).toEqual({
      ...requests.messages,
      model: 'up-1',
      unknown: 12,
      messages: [question, body.messages[1], question, question, turn(call), result],
      // With a budget the API demands thinking before the calls of the last turn.
      thinking: undefined,
    });
    const signed = { messages: [...body.messages, question, turn(own, call), result] };
    expect(sent('messages', 'messages', signed)).toMatchObject({ thinking: requests.messages.thinking });
  });

  it('with reasoning of another model reaches a model of the Responses API without it', () => {
    const reasoning = (encrypted_content: string) => ({ type: 'reasoning', summary: [], encrypted_content });
    const input = [question, reasoning('OWN'), reasoning(translated), reasoning(madeUp), question];
    expect(sent('responses', 'responses', { input, unknown: 12 })).toEqual({
      ...requests.responses,
      model: 'up-1',
      unknown: 12,
      input: [question, reasoning('OWN'), question],
    });
    const quoting = sent('responses', 'responses', { input: 'What is "hw1.x"?' });
    expect(quoting['input']).toBe('What is "hw1.x"?');
  });

  it('with an item that other APIs do not have names it', () => {
    const request = parseRequest(
      'responses',
      Buffer.from(
        JSON.stringify({
          input: [
            { type: 'web_search_call', id: 'ws_1' },
            { role: 'user', content: 'x' },
          ],
        }),
      ),
    );
    expect(request.decode().conversation.nativeFeatures).toEqual(['input[0] (web_search_call)']);
  });

  it.each(['chat', 'messages', 'gemini'] as const)(
    'with results away from their calls, doubled, missing and without a call is put in order for %s',
    (upstream) => {
      const input = [
        { role: 'user', content: 'go' },
        { type: 'function_call', call_id: 'a', name: 'read', arguments: '{}' },
        { type: 'function_call', call_id: 'b', name: 'read', arguments: '{}' },
        { role: 'user', content: 'are you there?' },
        { type: 'function_call_output', call_id: 'a', output: 'late' },
        { type: 'function_call_output', call_id: 'ghost', output: 'boo' },
      ];
      const body = sent('responses', upstream, { instructions: undefined, input });
      const order = JSON.stringify(body['messages'] ?? body['contents']);
      const at = (part: string) => order.indexOf(part);
      expect(at('late')).toBeGreaterThan(0);
      expect(at('late')).toBeLessThan(at('The tool returned no result.'));
      expect(at('The tool returned no result.')).toBeLessThan(at('are you there?'));
      expect(at('are you there?')).toBeLessThan(at('boo'));
    },
  );

  it.each([
    ['messages', { type: 'thinking', thinking: 'Because.', signature: 'hw1.e30' }],
    [
      'responses',
      {
        type: 'reasoning',
        summary: [{ type: 'summary_text', text: 'Because.' }],
        encrypted_content: 'hw1.e30',
      },
    ],
  ] as const)('in the %s API returns reasoning_content to the chat model that wrote it', (caller, block) => {
    const assistant =
      caller === 'messages'
        ? {
            messages: [
              { role: 'user', content: 'hi' },
              { role: 'assistant', content: [block, { type: 'text', text: 'So.' }] },
              { role: 'user', content: 'on' },
            ],
          }
        : {
            input: [
              { role: 'user', content: 'hi' },
              block,
              { role: 'assistant', content: 'So.' },
              { role: 'user', content: 'on' },
            ],
          };
    const { messages } = sent(caller, 'chat', assistant);
    expect(messages?.find(({ role }) => role === 'assistant')).toMatchObject({
      content: 'So.',
      reasoning_content: 'Because.',
    });
  });
});

describe('a stream with events that are lost, doubled and in disorder', () => {
  const upstreams = Object.keys(answers) as UpstreamApi[];
  const pairs = callers.flatMap((caller) =>
    upstreams
      .filter((upstream) => callersOf(upstream).includes(caller))
      .map((upstream) => [upstream, caller] as const),
  );

  it.each(pairs)('from %s to %s follows the rules or fails', (upstream, caller) => {
    const list = answers[upstream].stream as readonly Event[];
    const changes = fc.array(
      fc.record({
        kind: fc.constantFrom('drop', 'double', 'move'),
        at: fc.nat(list.length - 1),
        to: fc.nat(list.length - 1),
      }),
      { minLength: 1, maxLength: 6 },
    );
    fc.assert(
      fc.property(changes, (given) => {
        const mangled = [...list];
        for (const { kind, at, to } of given) {
          const event = mangled[at % Math.max(1, mangled.length)];
          if (event === undefined) continue;
          if (kind !== 'double') mangled.splice(at % mangled.length, 1);
          if (kind !== 'drop') mangled.splice(to % (mangled.length + 1), 0, event);
        }
        const isNamed = upstream !== 'chat' && upstream !== 'gemini';
        const stream = translate(caller, upstream, mangled, isNamed);
        if (stream !== undefined) streamReaders[caller](stream, caller === upstream);
      }),
      { numRuns: 100 },
    );
  });
});
