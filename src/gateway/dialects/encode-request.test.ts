// Requests to providers: what one API allows and another rejects.
import { describe, expect, it } from 'vitest';
import { maxTaskMs, repeatedTaskMs } from '../../../test/support/longest-task.ts';
import type { ChatApi } from '../types.ts';
import type { EncodeTarget } from './dialect.ts';
import type { JsonObject } from './json.ts';
import { objectsIn } from './json.ts';
import { dialectOf } from './parse-request.ts';

const target: EncodeTarget = { upstreamModel: 'm', maxOutputTokens: 32_000, supportsReasoning: true };
const tool = { type: 'function', function: { name: 'read', parameters: { type: 'object' } } };

function sent(more: object, upstreamModel = 'm', api: ChatApi = 'messages') {
  const chat = { messages: [{ role: 'user', content: 'hi' }], ...more };
  return dialectOf(api).encodeRequest(dialectOf('chat').decodeRequest(chat), { ...target, upstreamModel });
}

describe('a request to the Messages API', () => {
  it('has no thinking where a tool is forced, which the API rejects', () => {
    for (const tool_choice of ['required', { type: 'function', function: { name: 'read' } }]) {
      const body = sent({ reasoning_effort: 'high', tools: [tool], tool_choice });
      expect(body).not.toHaveProperty('thinking');
      expect(body).toHaveProperty('tool_choice');
    }
    const free = sent({ reasoning_effort: 'high', tools: [tool] });
    expect(free).toMatchObject({ thinking: { type: 'adaptive' }, output_config: { effort: 'high' } });
  });

  it('has either temperature or top_p, and neither they nor top_k beside thinking', () => {
    const sampling = { temperature: 0.2, top_p: 0.5, top_k: 40 };
    const body = sent(sampling);
    expect(body).toMatchObject({ temperature: 0.2, top_k: 40 });
    expect(body).not.toHaveProperty('top_p');
    expect(sent({ top_p: 0.5 })).toMatchObject({ top_p: 0.5 });
    const thinking = sent({ ...sampling, reasoning_effort: 'low' });
    for (const name of Object.keys(sampling)) expect(thinking).not.toHaveProperty(name);
    expect(sent({ ...sampling, reasoning_effort: 'none' })).toMatchObject({ temperature: 0.2 });
  });
});

it('for the Messages API has each id of a tool call once, as models may use the same in every turn', () => {
  const turn = (content: string) => [
    {
      role: 'assistant',
      tool_calls: [{ id: 'call_0', type: 'function', function: { name: 'read', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'call_0', content },
  ];
  const body = sent({ messages: [{ role: 'user', content: 'hi' }, ...turn('one'), ...turn('two')] });
  const blocks = objectsIn(body['messages']).flatMap(({ content }) => objectsIn(content));
  expect(blocks.map(({ id, tool_use_id }) => id ?? tool_use_id)).toEqual([
    undefined,
    'call_0',
    'call_0',
    expect.stringMatching(/^call_0_2_\w+$/),
    blocks.at(-2)?.['id'],
  ]);
});

describe('an effort for the Messages API', () => {
  it.each([
    'claude-haiku-4-5',
    'claude-sonnet-4-20250514',
    'claude-opus-4-1-20250805',
    'claude-3-7-sonnet-latest',
  ])('is a budget for %s, which has no adaptive thinking', (model) => {
    const body = sent({ reasoning_effort: 'high' }, model);
    expect(body).toMatchObject({ thinking: { type: 'enabled', budget_tokens: 16_000 } });
    expect(body).not.toHaveProperty('output_config');
    expect(sent({ reasoning_effort: 'low', max_tokens: 1_500 }, model)).not.toHaveProperty('thinking');
  });

  it.each(['claude-sonnet-4-6', 'claude-opus-4-10', 'claude-opus-5', 'claude-sonnet-4-6-20260201'])(
    'is adaptive thinking for %s',
    (model) => {
      expect(sent({ reasoning_effort: 'high' }, model)).toMatchObject({
        thinking: { type: 'adaptive' },
        output_config: { effort: 'high' },
      });
    },
  );
});

type CallerApi = 'chat' | 'messages' | 'responses';

describe('a tool call of Gemini', () => {
  const question = { role: 'user', content: 'q' };
  const answer = dialectOf('gemini').decodeResponse({
    candidates: [
      {
        content: { parts: [{ functionCall: { name: 'read', args: {} }, thoughtSignature: 'S1gned' }] },
        finishReason: 'STOP',
      },
    ],
  });

  it.each<[CallerApi, (response: JsonObject) => JsonObject]>([
    ['chat', (given) => ({ messages: [question, objectsIn(given['choices'])[0]?.['message']] })],
    ['messages', ({ content }) => ({ messages: [question, { role: 'assistant', content }] })],
    ['responses', ({ output }) => ({ input: [question, ...objectsIn(output)] })],
  ])('keeps its signature in the next turn of a caller of the API %s', (api, next) => {
    const dialect = dialectOf(api);
    const conversation = dialect.decodeRequest({ messages: [question], input: [question] });
    const context = { id: 'ID', createdAt: 0, estimatedPromptTokens: 1, request: {}, conversation };
    if (!answer) throw new Error('Gemini’s response is none.');
    const response = dialect.encodeResponse(answer, context);
    const request = dialectOf('gemini').encodeRequest(dialect.decodeRequest(next(response)), target);
    expect(JSON.stringify(request)).toContain('"thoughtSignature":"S1gned"');
  });
});

describe('an effort or a budget for Gemini', () => {
  it.each([
    [{ reasoning: { max_tokens: 31_999 } }, 'gemini-2.5-flash', 24_576],
    [{ reasoning_effort: 'xhigh' }, 'gemini-2.5-flash', 24_576],
    [{ reasoning_effort: 'low' }, 'gemini-2.5-flash', 1_024],
    [{ reasoning_effort: 'none' }, 'gemini-2.5-flash', 0],
    [{ reasoning_effort: 'none' }, 'gemini-2.5-pro', 128],
  ])('%j is within what %s accepts', (more, model, budget) => {
    const thinkingConfig: unknown = expect.objectContaining({ thinkingBudget: budget });
    expect(sent(more, model, 'gemini')).toMatchObject({ generationConfig: { thinkingConfig } });
  });
});

it.each([
  ['gpt-5-mini', 'max_completion_tokens'],
  ['openai/o3', 'max_completion_tokens'],
  ['gpt-4o', 'max_tokens'],
  ['olmo-2', 'max_tokens'],
])('the limit of a chat completion of %s is %s', (model, name) => {
  const body = { max_tokens: 100, messages: [{ role: 'user', content: 'hi' }] };
  const conversation = dialectOf('messages').decodeRequest(body);
  const encoded = dialectOf('chat').encodeRequest(conversation, { ...target, upstreamModel: model });
  expect(encoded).toMatchObject({ [name]: 100 });
});

it.each([
  ['chat', 'max_tokens'],
  ['messages', 'max_tokens'],
  ['responses', 'max_output_tokens'],
] as const)(
  'a translated request for the API %s allows no longer completion than the model has',
  (api, name) => {
    const encoded = (maxTokens: number) => {
      const body = { max_tokens: maxTokens, messages: [{ role: 'user', content: 'hi' }] };
      return dialectOf(api).encodeRequest(dialectOf('messages').decodeRequest(body), target);
    };
    expect(encoded(64_000)).toMatchObject({ [name]: 32_000 });
    expect(encoded(1_000)).toMatchObject({ [name]: 1_000 });
  },
);

describe('a long conversation', () => {
  it.each(['chat', 'messages', 'gemini'] as const)(
    'with 45,000 messages of the assistant in a row is encoded for %s without blocking (B1)',
    async (api) => {
      const answered = Array.from({ length: 45_000 }, () => ({ role: 'assistant', content: 'a' }));
      const conversation = dialectOf('chat').decodeRequest({
        messages: [{ role: 'user', content: 'hi' }, ...answered],
      });
      const encode = () => dialectOf(api).encodeRequest(conversation, target);
      expect(JSON.stringify(encode())).toContain(api === 'chat' ? 'a'.repeat(45_000) : '{"');
      expect(await repeatedTaskMs(encode)).toBeLessThan(maxTaskMs);
    },
  );
});
