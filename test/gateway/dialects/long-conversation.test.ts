// Fifty turns with tools and reasoning through the clients of OpenAI and Anthropic, each turn with a model of another API: no
// request may break the rules of its API, and none may lose a turn.
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startAnyApiProvider } from '../../support/gateway/any-api-provider.ts';
import { gatewayWorld } from '../../support/gateway/gateway-world.ts';

type Json = Readonly<Record<string, unknown>>;
const objects = (value: unknown): readonly Json[] => value as readonly Json[];
const upstreams = ['chat', 'responses', 'messages', 'gemini'] as const;
const turns = 50;
const tools = ['read', 'write'].map((name) => ({
  name,
  schema: { type: 'object' as const, properties: { path: { type: 'string' } } },
}));

/** Rules that real servers enforce with a 400. */
const rules: Readonly<Record<(typeof upstreams)[number], (body: Json) => void>> = {
  chat: ({ messages }) => {
    const open = new Set<unknown>();
    for (const { role, content, tool_calls, tool_call_id } of objects(messages)) {
      if (role === 'tool') expect(open.delete(tool_call_id), 'a result follows its call').toBe(true);
      else expect(open.size, 'results follow their calls directly').toBe(0);
      for (const { id } of objects(tool_calls ?? [])) open.add(id);
      if (role === 'assistant') expect(content !== '' || tool_calls !== undefined).toBe(true);
    }
    expect(open.size).toBe(0);
  },
  responses: ({ input }) => {
    const calls = new Set<unknown>();
    for (const { type, call_id, encrypted_content, content } of objects(input)) {
      if (type === 'function_call') calls.add(call_id);
      if (type === 'function_call_output') expect(calls.delete(call_id)).toBe(true);
      if (type === 'reasoning') expect(encrypted_content).toBe('ENC');
      if (type === undefined || type === 'message') expect(content).not.toHaveLength(0);
    }
    expect(calls.size).toBe(0);
  },
  messages: ({ messages }) => {
    let calls: readonly unknown[] = [];
    for (const [index, { role, content }] of objects(messages).entries()) {
      expect(role).toBe(index % 2 === 0 ? 'user' : 'assistant');
      const blocks: readonly Json[] =
        typeof content === 'string' ? [{ type: 'text', text: content }] : objects(content);
      expect(blocks).not.toHaveLength(0);
      const results = blocks.slice(0, calls.length);
      expect(results.map(({ tool_use_id }) => tool_use_id)).toEqual(calls);
      for (const { type, text, signature } of blocks) {
        if (type === 'text') expect(text).not.toBe('');
        if (type === 'thinking') expect(signature).toBe('SIG');
      }
      calls = blocks.flatMap(({ type, id }) => (type === 'tool_use' ? [id] : []));
    }
    expect(calls).toEqual([]);
  },
  gemini: ({ contents }) => {
    let calls: readonly unknown[] = [];
    for (const [index, { role, parts }] of objects(contents).entries()) {
      expect(role).toBe(index % 2 === 0 ? 'user' : 'model');
      const answered = objects(parts).flatMap(({ functionResponse }) =>
        functionResponse ? [(functionResponse as Json)['name']] : [],
      );
      expect(answered).toEqual(calls);
      calls = objects(parts).flatMap(({ functionCall }) =>
        functionCall ? [(functionCall as Json)['name']] : [],
      );
    }
    expect(calls).toEqual([]);
  },
};

interface At {
  readonly url: string;
  readonly key: string;
}

/** One turn of a conversation, streamed: the prompt, two calls, their results, the answer. */
type Conversation = (at: At) => (model: string, prompt: string) => Promise<string>;

const chat: Conversation = ({ url, key }) => {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 });
  const messages: OpenAI.ChatCompletionMessageParam[] = [];
  const send = async (model: string) => {
    const made = await client.chat.completions
      .stream({
        model,
        messages,
        reasoning_effort: 'low',
        tools: tools.map(({ name, schema }) => ({
          type: 'function' as const,
          function: { name, parameters: schema },
        })),
      })
      .finalChatCompletion();
    const message = made.choices[0]?.message;
    if (message) messages.push(message);
    return message;
  };
  return async (model, prompt) => {
    messages.push({ role: 'user', content: prompt });
    const calls = (await send(model))?.tool_calls ?? [];
    for (const { id } of calls) messages.push({ role: 'tool', tool_call_id: id, content: `${prompt} done` });
    return String((await send(model))?.content);
  };
};

const responses: Conversation = ({ url, key }) => {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 });
  const input: OpenAI.Responses.ResponseInput = [];
  const send = async (model: string) => {
    const made = await client.responses
      .stream({
        model,
        input,
        store: false,
        reasoning: { effort: 'low' },
        include: ['reasoning.encrypted_content'],
        tools: tools.map(({ name, schema }) => ({
          type: 'function' as const,
          name,
          parameters: schema,
          strict: false,
        })),
      })
      .finalResponse();
    input.push(...(made.output as OpenAI.Responses.ResponseInput));
    return made;
  };
  return async (model, prompt) => {
    input.push({ role: 'user', content: prompt });
    for (const item of (await send(model)).output)
      if (item.type === 'function_call')
        input.push({ type: 'function_call_output', call_id: item.call_id, output: `${prompt} done` });
    return (await send(model)).output_text;
  };
};

const messages: Conversation = ({ url, key }) => {
  const client = new Anthropic({ baseURL: url, apiKey: key, maxRetries: 0 });
  const list: Anthropic.MessageParam[] = [];
  const send = async (model: string) => {
    const { content } = await client.messages
      .stream({
        model,
        max_tokens: 4_000,
        thinking: { type: 'enabled', budget_tokens: 1_024 },
        messages: list,
        tools: tools.map(({ name, schema }) => ({ name, input_schema: schema })),
      })
      .finalMessage();
    list.push({ role: 'assistant', content });
    return content;
  };
  return async (model, prompt) => {
    list.push({ role: 'user', content: prompt });
    const content = (await send(model)).flatMap((block) =>
      block.type === 'tool_use'
        ? [{ type: 'tool_result' as const, tool_use_id: block.id, content: `${prompt} done` }]
        : [],
    );
    list.push({ role: 'user', content });
    return (await send(model)).map((block) => (block.type === 'text' ? block.text : '')).join('');
  };
};

describe.each(Object.entries({ chat, responses, messages }))(
  'fifty turns through the %s API',
  (_api, begin) => {
    it('reach models of every API in turn as their rules demand, and whole', async () => {
      const provider = await startAnyApiProvider();
      onTestFinished(() => provider.stop());
      const at = await gatewayWorld({
        providers: [{ name: 'up', models: upstreams.map((name) => ({ name })) }],
        models: Object.fromEntries(
          upstreams.map((name) => [
            `up/${name}`,
            { baseUrl: provider.url, apis: [name], capabilities: { reasoning: true } },
          ]),
        ),
      });
      const { key } = await at.gateway.keys.create({ name: 'client', expiresAt: null });
      const turn = begin({ url: at.url, key });
      for (let number = 0; number < turns; number++) {
        const upstream = upstreams[number % upstreams.length] ?? 'chat';
        expect(await turn(`up/${upstream}`, `turn-${number}`)).toContain(`turn-${number} done`);
        for (const { body } of provider.requests.slice(-2)) rules[upstream](body);
      }
      expect(provider.requests).toHaveLength(2 * turns);
      const last = JSON.stringify(provider.requests.at(-1)?.body);
      for (let number = 0; number < turns; number++) {
        expect(last).toContain(`"turn-${number}"`);
        expect(last).toContain(`turn-${number} done`);
      }
    });
  },
);
