// Parsing of requests, and rejection of invalid ones.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { maxTaskMs, repeatedTaskMs } from '../../../test/support/longest-task.ts';
import { parseRequest } from './parse-request.ts';
import { spliceModel } from './wire.ts';

const bytes = (body: unknown) => Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
const chat = (more: object = {}) =>
  parseRequest('chat', bytes({ model: 'm', messages: [{ role: 'user', content: 'hi' }], ...more }));
const embed = (input: unknown) => parseRequest('embeddings', bytes({ model: 'm', input }));
const image = (url: unknown) => ({
  messages: [{ role: 'user', content: [{ type: 'image_url', image_url: url }] }],
});

describe('a chat request', () => {
  it('is parsed into model, stream and requirements', () => {
    expect(chat()).toMatchObject({ operation: 'chat', model: 'm', isStream: false, vectorCount: 0 });
    expect(chat().requires).toEqual({ tools: false, json: false, vision: false });
    expect(chat({ stream: true }).isStream).toBe(true);
    expect(chat({ stream: null }).isStream).toBe(false);
    expect(chat({ tools: [{ type: 'function' }] }).requires.tools).toBe(true);
    expect(chat({ functions: [{ name: 'f' }] }).requires.tools).toBe(true);
    expect(chat({ tools: [] }).requires.tools).toBe(false);
    expect(chat({ response_format: { type: 'json_object' } }).requires.json).toBe(true);
    expect(chat({ response_format: { type: 'json_schema', json_schema: {} } }).requires.json).toBe(true);
    expect(chat({ response_format: { type: 'text' } }).requires.json).toBe(false);
    expect(chat(image({ url: 'https://example.com/cat.png' })).requires.vision).toBe(true);
    expect(
      chat({ messages: [{ role: 'user', content: [{ type: 'text', text: 'image_url' }] }] }).requires.vision,
    ).toBe(false);
  });

  it('may name models in up to 2,000 characters', () => {
    const model = 'm'.repeat(2_000);
    expect(chat({ model }).model).toBe(model);
  });

  it('without a model uses auto', () => {
    expect(parseRequest('chat', bytes({ messages: [{}] }))).toMatchObject({ model: 'auto', modelSpans: [] });
  });

  it('is estimated from its characters and the requested completion length', () => {
    const text = chat({ messages: [{ role: 'user', content: 'я'.repeat(4_000) }] });
    expect(text.estimatedPromptTokens).toBeGreaterThan(1_000);
    expect(text.estimatedPromptTokens).toBeLessThan(1_050);
    expect(chat({ max_tokens: 30 }).estimatedTokens).toBe(
      chat({ max_tokens: 30 }).estimatedPromptTokens + 30,
    );
    expect(chat({ max_completion_tokens: 70, max_tokens: 5 }).estimatedTokens).toBe(
      chat({ max_completion_tokens: 70, max_tokens: 5 }).estimatedPromptTokens + 70,
    );
  });

  it('reserves a default completion length when it sets no limit', () => {
    for (const more of [{}, { max_tokens: null }, { max_tokens: 'lots' }]) {
      const { estimatedTokens, estimatedPromptTokens } = chat(more);
      expect(estimatedTokens - estimatedPromptTokens).toBe(500);
    }
    const embedded = parseRequest('embeddings', bytes({ input: 'hello' }));
    expect(embedded.estimatedTokens).toBe(embedded.estimatedPromptTokens);
  });

  it('does not count the base64 of images as text', () => {
    const picture = chat(image({ url: `data:image/png;base64,${'A'.repeat(1_000_000)}` }));
    expect(picture.estimatedPromptTokens).toBeLessThan(1_500);
    expect(picture.estimatedPromptTokens).toBeGreaterThan(500);
  });
});

describe('an embeddings request', () => {
  it.each<[unknown, number]>([
    ['text', 1],
    [['a', 'b', 'c'], 3],
    [[1, 2, 3], 1],
    [[[1, 2], [3]], 2],
  ])('%j requests %i vectors', (input, vectors) => {
    expect(embed(input)).toMatchObject({ vectorCount: vectors, isStream: false });
  });
});

describe('an invalid request', () => {
  const nested = (depth: number) => `{"messages":[{}],"x":${'['.repeat(depth)}${']'.repeat(depth)}}`;

  it.each<[string, string | Buffer, string]>([
    ['empty', '', 'body'],
    ['no JSON', '{"messages":', 'body'],
    ['two objects', '{}{}', 'body'],
    ['a list', '[]', 'body'],
    ['null', 'null', 'body'],
    ['text', '"model"', 'body'],
    ['a byte order mark', '\uFEFF{"messages":[{}]}', 'body'],
    ['not UTF-8', Buffer.from('7b226d65737361676573223a5b22ff225d7d', 'hex'), 'body'],
    ['too deep', nested(64), 'body'],
    ['far too deep', nested(100_000), 'body'],
    ['never closed', '['.repeat(1_000_000), 'body'],
    ['a number as model', '{"model":1,"messages":[{}]}', 'model'],
    ['null as model', '{"model":null,"messages":[{}]}', 'model'],
    ['no name as model', '{"model":" ","messages":[{}]}', 'model'],
    ['a book as model', JSON.stringify({ model: 'm'.repeat(2_001), messages: [{}] }), 'model'],
    ['no messages', '{"model":"m"}', 'messages'],
    ['empty messages', '{"messages":[]}', 'messages'],
    ['text as messages', '{"messages":"hi"}', 'messages'],
    ['text as a message', '{"messages":[{},"hi"]}', 'messages[1]'],
    ['text as stream', '{"messages":[{}],"stream":"yes"}', 'stream'],
  ])('is rejected with the name of the field: %s', (_what, body, field) => {
    expect(() => parseRequest('chat', Buffer.from(body))).toThrow(
      expect.objectContaining({ code: 'INPUT_INVALID', details: { field } }),
    );
  });

  it.each([
    ['messages', { messages: [{ role: 'user' }] }, 'messages[0].content'],
    ['messages', { messages: [{ role: 'user', content: 5 }] }, 'messages[0].content'],
    ['messages', { messages: [{ role: 'user', content: ['hi'] }] }, 'messages[0].content[0]'],
    ['messages', { messages: [{ role: 'user', content: 'hi' }], system: {} }, 'system'],
    ['responses', { input: [{ role: 'user' }] }, 'input[0].content'],
    ['responses', { input: [{ role: 'user', content: [5] }] }, 'input[0].content[0]'],
    ['responses', { input: [{ type: 'function_call_output', call_id: 'c', output: 5 }] }, 'input[0].output'],
  ] as const)('of the API %s is rejected instead of losing content: %j', (kind, body, field) => {
    expect(() => parseRequest(kind, Buffer.from(JSON.stringify(body)))).toThrow(
      expect.objectContaining({ code: 'INPUT_INVALID', details: { field } }),
    );
  });

  it.each([
    [{ top_logprobs: 2 }, 'top_logprobs'],
    [{ include: ['message.output_text.logprobs'] }, 'include (message.output_text.logprobs)'],
  ])('of the API responses names %j as what only that API has', (more, feature) => {
    const body = Buffer.from(JSON.stringify({ input: 'hi', ...more }));
    expect(parseRequest('responses', body).decode().conversation.nativeFeatures).toEqual([feature]);
  });

  it.each([[undefined], [null], [''], [[]], [5], [{}], [['a', 1]], [[['a']]], [[[]]], [[null]]])(
    'is rejected with %j as embeddings input',
    (input) => {
      expect(() => embed(input)).toThrow(
        expect.objectContaining({ code: 'INPUT_INVALID', details: { field: 'input' } }),
      );
    },
  );

  it('is not repeated in the error message', () => {
    expect(() => parseRequest('chat', Buffer.from('{"secret prompt'))).not.toThrow(/secret/);
  });

  it('is not one that is nested up to the limit', () => {
    expect(parseRequest('chat', Buffer.from(nested(63))).model).toBe('auto');
  });

  it('always fails with INPUT_INVALID, whatever the bytes', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('chat' as const, 'embeddings' as const),
        fc.oneof(
          fc.uint8Array(),
          fc.json().map((json) => Buffer.from(json)),
        ),
        (operation, body) => {
          try {
            parseRequest(operation, body);
          } catch (error) {
            expect(error).toMatchObject({ code: 'INPUT_INVALID' });
          }
        },
      ),
    );
  });
});

describe('the body sent to a provider', () => {
  const sent = (body: string, model = 'up/stream') =>
    Buffer.from(spliceModel(parseRequest('chat', Buffer.from(body)), model)).toString();

  it.each<[string, string, string]>([
    ['a plain one', '{"model":"m","messages":[{}]}', '{"model":"up/stream","messages":[{}]}'],
    [
      'white space',
      ' {\n "model" :\t"m" , "messages":[{}] } ',
      ' {\n "model" :\t"up/stream" , "messages":[{}] } ',
    ],
    ['the last member', '{"messages":[{}],"model":"m"}', '{"messages":[{}],"model":"up/stream"}'],
    [
      'the last member with a blank',
      '{"messages":[{}],"model":"m" }',
      '{"messages":[{}],"model":"up/stream" }',
    ],
    [
      'twice',
      '{"model":"a","messages":[{}],"model":"b"}',
      '{"model":"up/stream","messages":[{}],"model":"up/stream"}',
    ],
    ['an escaped name', '{"\\u006dodel":"m","messages":[{}]}', '{"\\u006dodel":"up/stream","messages":[{}]}'],
    ['quotes in it', '{"model":"a\\\\\\"b","messages":[{}]}', '{"model":"up/stream","messages":[{}]}'],
    [
      'others inside',
      '{"messages":[{"model":"x"}],"model":"m","a":{"model":1}}',
      '{"messages":[{"model":"x"}],"model":"up/stream","a":{"model":1}}',
    ],
    [
      'the word as a value',
      '{"a":"model","model":"m","messages":[{}]}',
      '{"a":"model","model":"up/stream","messages":[{}]}',
    ],
    ['none', ' { "messages":[{}]}', ' {"model":"up/stream", "messages":[{}]}'],
    [
      'numbers as they are written',
      '{"model":"m","messages":[{}],"seed":12345678901234567890,"t":1.0}',
      '{"model":"up/stream","messages":[{}],"seed":12345678901234567890,"t":1.0}',
    ],
  ])('differs only in the model: %s', (_what, body, expected) => {
    expect(sent(body)).toBe(expected);
  });

  it('can contain any model name', () => {
    expect(JSON.parse(sent('{"model":"m","messages":[{}]}', 'a"b\\c\n'))).toMatchObject({
      model: 'a"b\\c\n',
    });
  });

  it('parses to the same JSON with another model and keeps all other bytes', () => {
    const value = fc.oneof(
      fc.jsonValue({ maxDepth: 4 }),
      fc.constantFrom('model', '"model":', '\\', '\\"', '{"model":"x"}', '\u2028', '😀', 'я'),
      fc.record({ model: fc.string() }),
    );
    const key = fc.oneof(
      fc.constantFrom('model', 'modelx', 'Model', 'm"odel', '\\model', 'модель'),
      fc.string(),
    );
    const member = fc.tuple(key, value, fc.constantFrom('', ' ', '\n\t'), fc.boolean());
    fc.assert(
      fc.property(
        fc.array(member, { maxLength: 6 }),
        fc.string({ minLength: 1 }),
        fc.boolean(),
        (members, name, isLast) => {
          const own = `"model":${JSON.stringify(`m${name}`)}`;
          const others = members.map(([label, item, blank, isEscaped]) => {
            const written = isEscaped ? escaped(label) : JSON.stringify(label);
            return `${blank}${written}${blank}:${blank}${JSON.stringify(item)}${blank}`;
          });
          const all = isLast ? [...others, '"messages":[{}]', own] : [own, ...others, '"messages":[{}]'];
          const body = `{${all.join(',')}}`;
          const parsed = JSON.parse(body) as Record<string, unknown>;
          if (typeof parsed['model'] !== 'string' || parsed['model'].trim() === '') return;
          const request = parseRequest('chat', Buffer.from(body));
          expect(request.model).toBe(parsed['model']);
          const result = Buffer.from(spliceModel(request, name)).toString();
          expect(JSON.parse(result)).toEqual({ ...parsed, model: name });
          const spansOut = request.modelSpans.reduce((sum, [start, end]) => sum + end - start, 0);
          const spansIn = request.modelSpans.length * Buffer.byteLength(JSON.stringify(name));
          expect(Buffer.byteLength(result)).toBe(Buffer.byteLength(body) - spansOut + spansIn);
        },
      ),
      { numRuns: 1_000 },
    );
  });
});

const escaped = (text: string): string =>
  `"${Array.from({ length: text.length }, (_, at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, '0')}`).join('')}"`;

describe('a Responses request', () => {
  const parse = (body: object) => parseRequest('responses', Buffer.from(JSON.stringify(body)));

  it.each([{}, { input: [] }, { input: null, instructions: '' }])(
    'without any input is rejected: %j',
    (body) => {
      expect(() => parse(body)).toThrow('The field "input" of the request must be text or a list');
    },
  );

  it.each([{ input: 'a' }, { instructions: 'a' }, { prompt: { id: 'p' } }, { conversation: 'c' }])(
    'with input of any kind is accepted: %j',
    (body) => {
      expect(parse(body).operation).toBe('chat');
    },
  );
});

describe('a request body of 5 MB', () => {
  const names = (count: number) => `{${Array.from({ length: count }, (_, index) => `"k${index}":1`).join()}}`;

  it.each([
    ['very many names', names(400_000)],
    ['very many escaped quotes', JSON.stringify('"'.repeat(2_500_000))],
    ['very many backslashes', JSON.stringify('\\'.repeat(2_500_000))],
  ])('with %s does not block the main thread (B1)', async (_, value) => {
    const body = Buffer.from(`{"model":"m","messages":[{"role":"user","content":"a"}],"metadata":${value}}`);
    expect(
      await repeatedTaskMs(() => {
        try {
          parseRequest('chat', body);
        } catch (error) {
          expect(error).toMatchObject({ code: 'INPUT_INVALID' });
        }
      }),
    ).toBeLessThan(maxTaskMs / 2);
  });

  it.each([
    ['empty names', '"":1,'],
    ['escaped names', String.raw`"\\":1,`],
    ['models', '"model":1,'],
  ])('of 20 MB with very many %s at its top does not block the main thread (B1)', async (_, member) => {
    const body = Buffer.from(`{${member.repeat(20_900_000 / member.length)}"messages":[]}`);
    const parse = () => expect(() => parseRequest('chat', body)).toThrow(/500,000 JSON values/);
    expect(await repeatedTaskMs(parse)).toBeLessThan(maxTaskMs);
  });

  it.each([
    ['parts', '--x'],
    ['parameters', `--x\r\nContent-Disposition: form-data${';'.repeat(8_000)}\r\n\r\na\r\n`],
  ])('of 20 MB that is a form with very many %s does not block the main thread (B1)', async (_, part) => {
    const body = Buffer.from(part.repeat(20_900_000 / part.length));
    const contentType = 'multipart/form-data; boundary=x';
    const parse = () =>
      expect(() => parseRequest('audio/transcriptions', body, { contentType })).toThrow(/1,000 parts/);
    expect(await repeatedTaskMs(parse)).toBeLessThan(maxTaskMs);
  });

  it('may have 90,000 names, and not 110,000: each takes longer to parse than five numbers', () => {
    const body = (count: number) => Buffer.from(`{"model":"m","input":"a","metadata":${names(count)}}`);
    expect(parseRequest('responses', body(90_000)).model).toBe('m');
    expect(() => parseRequest('responses', body(110_000))).toThrow(/500,000 JSON values/);
  });

  it('may have 300,000 token ids, or 45,000 messages', () => {
    const input = JSON.stringify([Array.from({ length: 300_000 }, (_, index) => index)]);
    expect(parseRequest('embeddings', Buffer.from(`{"model":"m","input":${input}}`)).model).toBe('m');
    const messages = JSON.stringify(Array.from({ length: 45_000 }, () => ({ role: 'user', content: 'a' })));
    expect(parseRequest('chat', Buffer.from(`{"model":"m","messages":${messages}}`)).model).toBe('m');
  });
});
