// Checks of 2xx response bodies.
import { describe, expect, it } from 'vitest';
import { checkBody } from './dialect.ts';
import { checkEmbeddings } from './embeddings.ts';
import { checkChatResponse } from './openai-chat-output.ts';

const check = (
  body: unknown,
  operation: 'chat' | 'embeddings' = 'chat',
  vectorCount = 0,
  dimensions: number | null = null,
) =>
  checkBody(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)), (json) =>
    operation === 'chat' ? checkChatResponse(json) : checkEmbeddings(json, { vectorCount, dimensions }),
  );
const chat = (message: object, finish: string | null = 'stop', more: object = {}) => ({
  choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: finish }],
  ...more,
});

describe('a chat response', () => {
  it.each<[string, unknown]>([
    ['text', chat({ content: 'hello' })],
    ['parts', chat({ content: [{ type: 'text', text: 'hello' }] })],
    ['a call of a tool without content', chat({ content: null, tool_calls: [{ id: '1' }] }, 'tool_calls')],
    ['a call of a function', chat({ content: null, function_call: { name: 'f' } }, 'function_call')],
    ['reasoning', chat({ content: '', reasoning_content: 'hm' })],
    ['a refusal by the model', chat({ content: null, refusal: 'no' })],
    ['nothing, cut off by max_tokens', chat({ content: '' }, 'length')],
    ['text that was filtered half way', chat({ content: 'hel' }, 'content_filter')],
    [
      'a second choice with text',
      { choices: [...chat({ content: '' }).choices, ...chat({ content: 'x' }).choices] },
    ],
    ['text beside an empty error', chat({ content: 'x' }, 'stop', { error: null })],
  ])('is valid: %s', (_what, body) => {
    expect(check(body)).toMatchObject({ state: 'valid' });
  });

  it.each<[string, unknown]>([
    ['empty', ''],
    ['not JSON', '{"choices":[{"mess'],
    ['a web page', '<html>hello</html>'],
    ['null', 'null'],
    ['a list', '[1]'],
    ['no choices', {}],
    ['choices that are none', { choices: 'x' }],
    ['an empty list of choices', { choices: [] }],
    ['a choice that is none', { choices: [null] }],
    ['no content', chat({ content: '' })],
    ['no message', { choices: [{ finish_reason: 'stop' }] }],
    ['an empty list of tools', chat({ content: null, tool_calls: [] }, 'tool_calls')],
    [
      'so many values that parsing it would block',
      `{"x":[${'1,'.repeat(500_000)}1],${JSON.stringify(chat({ content: 'x' })).slice(1)}`,
    ],
  ])('is invalid: %s', (_what, body) => {
    expect(check(body)).toEqual({ state: 'invalid', failureClass: 'invalid-response' });
  });

  it('emptied by the content filter is content-refused', () => {
    expect(check(chat({ content: '' }, 'content_filter'))).toEqual({
      state: 'invalid',
      failureClass: 'content-refused',
    });
  });

  it.each<[string, unknown]>([
    ['an error', { error: { message: 'no', code: 502 } }],
    ['an error in a list', [{ error: { message: 'no' } }]],
    ['an error as text', { error: 'no' }],
    [
      'an error in its choice',
      { choices: [{ error: { code: 502, message: 'no' }, finish_reason: 'error' }] },
    ],
    ["Cloudflare's errors", { success: false, errors: [{ code: 3040, message: 'no' }] }],
  ])('is an error: %s', (_what, body) => {
    expect(check(body)).toMatchObject({ state: 'error', body: expect.stringContaining('no') as string });
  });

  it('reports the token usage of the provider', () => {
    const usage = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 };
    expect(check(chat({ content: 'four' }, 'stop', { usage }))).toMatchObject({
      state: 'valid',
      usage: { prompt: 7, completion: 3 },
      characters: 4,
    });
    expect(check(chat({ content: 'four' }, 'stop', { usage: { prompt_tokens: 'many' } }))).toMatchObject({
      usage: undefined,
    });
    expect(check(chat({ content: 'x' }, 'stop', { usage: null }))).toMatchObject({ usage: undefined });
  });
});

describe('embeddings', () => {
  const data = (...vectors: unknown[]) => ({
    data: vectors.map((embedding, index) => ({ index, embedding })),
  });

  it('are valid as numbers and in base64', () => {
    expect(check(data([1, 2], [3, 4]), 'embeddings', 2)).toMatchObject({ state: 'valid' });
    expect(check(data('AACAPw==', 'AAAAQA=='), 'embeddings', 2)).toMatchObject({ state: 'valid' });
    const usage = { prompt_tokens: 5, total_tokens: 5 };
    expect(check({ ...data([1]), usage }, 'embeddings', 1)).toMatchObject({
      usage: { prompt: 5, completion: 0 },
    });
  });

  it('must have the requested dimensions, as numbers and in base64', () => {
    const isValid = (embedding: unknown, dimensions: number) =>
      check(data(embedding), 'embeddings', 1, dimensions).state === 'valid';
    const base64 = (...values: number[]) => Buffer.from(Float32Array.from(values).buffer).toString('base64');
    for (const vector of [[1, 2, 3], base64(1, 2, 3), base64(1, 2, 3).replace(/=+$/, '')]) {
      expect(isValid(vector, 3)).toBe(true);
      for (const other of [2, 4, 12, 16]) expect(isValid(vector, other)).toBe(false);
    }
    expect(isValid(base64(1), 1)).toBe(true);
  });

  it.each<[string, unknown, number]>([
    ['too few', data([1]), 2],
    ['too many', data([1], [2]), 1],
    ['none', { data: [] }, 1],
    ['no list', {}, 1],
    ['an empty vector', data([]), 1],
    ['text among numbers', data([1, 'x']), 1],
    ['null among numbers', data([1, null]), 1],
    ['an empty text', data(''), 1],
    ['no base64', data('not base64!'), 1],
    ['vectors of different length', data([1, 2], [1]), 2],
    ['a chat answer', chat({ content: 'hello' }), 1],
  ])('are invalid: %s', (_what, body, vectors) => {
    expect(check(body, 'embeddings', vectors)).toEqual({
      state: 'invalid',
      failureClass: 'invalid-response',
    });
  });
});
