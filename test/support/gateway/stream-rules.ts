// The rules of each API's streams, as strict clients apply them. A rule that is broken is an assertion error.
import { expect } from 'vitest';
import { SseSplitter } from '../../../src/gateway/dialects/wire.ts';

type Json = Readonly<Record<string, unknown>>;

export interface ReadStream {
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly { readonly id: string; readonly name: string; readonly input: unknown }[];
  readonly finish: string;
  readonly usage: Json;
}

interface Event {
  readonly name: string;
  readonly json: Json;
}

function eventsIn(stream: string): { readonly events: readonly Event[]; readonly hasDone: boolean } {
  const splitter = new SseSplitter();
  const split = splitter.push(Buffer.from(stream));
  expect(splitter.pendingBytes, 'the stream ends with a whole event').toBe(0);
  const data = split.filter((event) => event.data !== undefined);
  const hasDone = data.at(-1)?.data === '[DONE]';
  const events = (hasDone ? data.slice(0, -1) : data).map((event) => ({
    name: event.name,
    json: JSON.parse(event.data ?? '') as Json,
  }));
  return { events, hasDone };
}

const asJson = (value: unknown): Json => value as Json;
const textIn = (value: unknown): string => (typeof value === 'string' ? value : '');
const list = (value: unknown): readonly Json[] => value as readonly Json[];

/** Arguments that are no JSON stay text: what a model writes there is its own matter. */
function inputOf(json: string): unknown {
  try {
    return JSON.parse(json === '' ? '{}' : json);
  } catch {
    return json;
  }
}

/**
 * Anthropic's: one message, blocks one after the other, each delta of the kind of its open block. `isOwn`: of a provider with
 * the same API, which may leave out what clients do not need.
 */
export function readMessagesStream(stream: string, isOwn = false): ReadStream {
  const events = eventsIn(stream).events.filter(({ name }) => name !== 'ping');
  const types = events.map(({ json }) => json['type']);
  for (const { name, json } of events) expect(name).toBe(json['type']);
  expect(types[0]).toBe('message_start');
  expect(types.filter((type) => type === 'message_start')).toHaveLength(1);
  expect(types.slice(-2)).toEqual(['message_delta', 'message_stop']);
  if (!isOwn) expect(types.filter((type) => type === 'message_delta')).toHaveLength(1);
  const message = asJson(events[0]?.json['message']);
  expect(message['id']).toMatch(/^msg_/);
  expect(message['content']).toEqual([]);
  const result = { text: '', reasoning: '', calls: [] as ReadStream['calls'][number][] };
  const open = new Map<unknown, { readonly block: Json; json: string }>();
  let blocks = 0;
  for (const { json } of events.slice(1, -2)) {
    if (isOwn && json['type'] === 'message_delta') continue;
    const { index } = json;
    if (json['type'] === 'content_block_start') {
      if (!isOwn) expect(open.size, 'no block begins inside another').toBe(0);
      expect(index).toBe(blocks);
      const block = asJson(json['content_block']);
      if (block['type'] === 'tool_use' && !isOwn) expect(block['input']).toEqual({});
      if (block['type'] === 'text') expect(block['text']).toBe('');
      if (block['type'] === 'thinking') expect(block['thinking']).toBe('');
      open.set(index, { block, json: '' });
      blocks += 1;
      continue;
    }
    const known = open.get(index);
    expect(known, `${String(json['type'])} follows content_block_start`).toBeDefined();
    if (!known) continue;
    const { type } = known.block;
    if (json['type'] === 'content_block_delta') {
      const delta = asJson(json['delta']);
      expect([type, delta['type']]).toEqual(allowedDelta(type, delta['type']));
      if (delta['type'] === 'text_delta') result.text += String(delta['text']);
      if (delta['type'] === 'thinking_delta') result.reasoning += String(delta['thinking']);
      if (delta['type'] === 'input_json_delta') known.json += String(delta['partial_json']);
      continue;
    }
    expect(json['type']).toBe('content_block_stop');
    open.delete(index);
    if (type === 'tool_use')
      result.calls.push({
        id: String(known.block['id']),
        name: String(known.block['name']),
        input: known.json === '' ? known.block['input'] : inputOf(known.json),
      });
  }
  expect(open.size, 'every block ends').toBe(0);
  const end = events.at(-2)?.json ?? {};
  const usage = { ...(isOwn && asJson(message['usage'])), ...asJson(end['usage']) };
  for (const field of [
    'input_tokens',
    'output_tokens',
    'cache_creation_input_tokens',
    'cache_read_input_tokens',
  ])
    expect(usage[field], field).toBeTypeOf('number');
  return { ...result, finish: String(asJson(end['delta'])['stop_reason']), usage };
}

function allowedDelta(block: unknown, delta: unknown): readonly unknown[] {
  const allowed: Readonly<Record<string, readonly string[]>> = {
    text: ['text_delta', 'citations_delta'],
    thinking: ['thinking_delta', 'signature_delta'],
    tool_use: ['input_json_delta'],
    server_tool_use: ['input_json_delta'],
  };
  return [block, allowed[String(block)]?.includes(String(delta)) === true ? delta : 'another delta'];
}

/** OpenAI's Responses: every event typed and numbered, items added before their deltas and done after them. */
export function readResponsesStream(stream: string, isOwn = false): ReadStream {
  const { events } = eventsIn(stream);
  for (const [index, { name, json }] of events.entries()) {
    expect(name).toBe(json['type']);
    if (!isOwn) expect(json['sequence_number']).toBe(index);
  }
  const begin = ['response.created', ...(isOwn ? [] : ['response.in_progress'])];
  expect(events.slice(0, begin.length).map(({ name }) => name)).toEqual(begin);
  const last = events.at(-1);
  expect(['response.completed', 'response.incomplete']).toContain(last?.name);
  const items = new Map<number, { id: unknown; type: unknown; text: string; isDone: boolean; item: Json }>();
  const result = { text: '', reasoning: '', calls: [] as ReadStream['calls'][number][] };
  for (const { json } of events.slice(begin.length, -1)) {
    if (json['type'] === 'response.in_progress') continue;
    const index = json['output_index'] as number;
    expect(index, String(json['type'])).toBeTypeOf('number');
    const item = asJson(json['item']);
    if (json['type'] === 'response.output_item.added') {
      expect(items.has(index)).toBe(false);
      expect(index).toBe(items.size);
      items.set(index, { id: item['id'], type: item['type'], text: '', isDone: false, item });
      continue;
    }
    const known = items.get(index);
    expect(known, `${String(json['type'])} follows output_item.added`).toBeDefined();
    expect(known?.isDone).toBe(false);
    if (!known) continue;
    if (json['type'] === 'response.output_item.done') {
      expect(item['id']).toBe(known.id);
      known.isDone = true;
      known.item = item;
      continue;
    }
    expect(json['item_id']).toBe(known.id);
    const type = String(json['type']);
    if (/content_part|output_text|refusal/.test(type)) expect(json['content_index']).toBe(0);
    if (/reasoning_summary/.test(type)) expect(json['summary_index']).toBe(0);
    if (type.endsWith('.delta')) known.text += String(json['delta']);
    if (type === 'response.output_text.done' && !isOwn) expect(json['text']).toBe(known.text);
    if (type === 'response.function_call_arguments.done' && known.text !== '' && !isOwn)
      expect(json['arguments']).toBe(known.text);
  }
  for (const { isDone } of items.values()) expect(isDone, 'every item is done').toBe(true);
  const response = asJson(last?.json['response']);
  expect(response['id']).toMatch(/^resp_/);
  expect(response['model']).toBeTypeOf('string');
  const streamed = [...items.values()].map(({ item }) => item);
  if (isOwn) expect(list(response['output']).map(({ id }) => id)).toEqual(streamed.map(({ id }) => id));
  else expect(response['output']).toEqual(streamed);
  for (const { item, type } of items.values()) {
    if (type === 'message') result.text += textIn(list(item['content'])[0]?.['text']);
    if (type === 'reasoning')
      result.reasoning += list(item['summary'])
        .map((part) => part['text'])
        .join('');
    if (type === 'function_call')
      result.calls.push({
        id: String(item['call_id']),
        name: String(item['name']),
        input: inputOf(String(item['arguments'])),
      });
  }
  const usage = asJson(response['usage']);
  for (const field of ['input_tokens', 'output_tokens', 'total_tokens'])
    expect(usage[field], field).toBeTypeOf('number');
  return { ...result, finish: String(response['status']), usage };
}

/** OpenAI's chat: tool calls by index with id and name first, one finish reason, usage if asked for, [DONE]. */
export function readChatStream(stream: string, isOwn = false): ReadStream {
  const { events, hasDone } = eventsIn(stream);
  expect(hasDone).toBe(true);
  const result = { text: '', reasoning: '' };
  const calls: { id: string; name: string; json: string }[] = [];
  let finish: string | undefined;
  let usage: Json = {};
  for (const { json } of events) {
    expect(json['object']).toBe('chat.completion.chunk');
    const [choice] = list(json['choices']);
    if (!choice) {
      usage = asJson(json['usage']);
      continue;
    }
    expect(finish, 'nothing follows the finish reason').toBeUndefined();
    const delta = asJson(choice['delta']);
    result.text += typeof delta['content'] === 'string' ? delta['content'] : '';
    result.reasoning += typeof delta['reasoning_content'] === 'string' ? delta['reasoning_content'] : '';
    for (const call of list(delta['tool_calls'] ?? [])) {
      const index = call['index'] as number;
      const { name, arguments: args } = asJson(call['function']);
      if (!calls[index]) {
        expect(index).toBe(calls.length);
        expect(call['id']).toBeTypeOf('string');
        expect(name).toBeTypeOf('string');
        calls[index] = { id: String(call['id']), name: String(name), json: '' };
      }
      calls[index].json += textIn(args);
    }
    finish = (choice['finish_reason'] as string | null) ?? undefined;
  }
  expect(finish).toBeTypeOf('string');
  for (const { json } of calls) if (!isOwn) expect(json, 'clients parse the arguments').not.toBe('');
  return {
    ...result,
    calls: calls.map(({ id, name, json }) => ({ id, name, input: inputOf(json) })),
    finish: finish ?? '',
    usage,
  };
}

export const streamReaders = {
  chat: readChatStream,
  responses: readResponsesStream,
  messages: readMessagesStream,
} as const;
