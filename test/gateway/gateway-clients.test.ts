// Unmodified client libraries against the gateway.
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { ChatOpenAI, OpenAIEmbeddings } from '@langchain/openai';
import type { ToolSet } from 'ai';
import { embed, generateObject, generateText, jsonSchema, streamText } from 'ai';
import OpenAI, { AuthenticationError, BadRequestError, NotFoundError } from 'openai';
import { describe, expect, it } from 'vitest';
import type { GatewayOptions } from '../../src/gateway/options.ts';
import { gatewayWorld } from '../support/gateway/gateway-world.ts';
import type { GatewayWorld } from '../support/gateway/gateway-world.ts';

const weather = {
  name: 'weather',
  description: 'The weather of a city.',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
} as const;
const pixel =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** A gateway key, and a rate-limited first choice: every client gets a transparent fallback. */
async function world(
  options: Partial<GatewayOptions> = {},
): Promise<GatewayWorld & { readonly key: string }> {
  const made = await gatewayWorld({
    options,
    providers: [
      {
        name: 'alpha',
        models: [{ name: 'first', script: [{ fault: 429, hint: 'retry-after', seconds: 60 }] }],
      },
      { name: 'beta', models: [{ name: 'second' }, { name: 'embed', kind: 'embeddings', dimensions: 8 }] },
    ],
  });
  const { key } = await made.gateway.keys.create({ name: 'client', expiresAt: null });
  return { ...made, key };
}

describe('the openai package', () => {
  const client = ({ url, key }: { url: string; key: string }) =>
    new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 });

  it('completes chats with tools, JSON and images', async () => {
    const at = await world();
    const openai = client(at);
    const send = (more: object, content: unknown = 'hello') =>
      openai.chat.completions.create({
        model: 'auto',
        messages: [{ role: 'user', content } as OpenAI.ChatCompletionUserMessageParam],
        ...more,
      } as OpenAI.ChatCompletionCreateParamsNonStreaming);
    const { data, response } = await openai.chat.completions
      .create({ model: 'alpha/first', messages: [{ role: 'user', content: 'hello' }] })
      .withResponse();
    expect(data.choices[0]?.message.content).toBe('This is second. You said: hello');
    expect(data.usage?.total_tokens).toBeGreaterThan(0);
    expect(response.headers.get('x-headworks-model')).toBe('beta/second');
    expect(response.headers.get('x-headworks-attempts')).toBe('2');
    expect(response.headers.get('x-headworks-fallback')).toBe('true');

    const called = await send({ tools: [{ type: 'function', function: weather }] });
    expect(called.choices[0]?.message.tool_calls?.[0]).toMatchObject({
      function: { name: 'weather', arguments: '{"city":"text"}' },
    });
    const json = await send({ response_format: { type: 'json_object' } });
    expect(JSON.parse(json.choices[0]?.message.content ?? '')).toHaveProperty('answer');
    const seen = await send({}, [
      { type: 'text', text: 'what is this?' },
      { type: 'image_url', image_url: { url: pixel } },
    ]);
    expect(seen.choices[0]?.message.content).toContain('I see 1 image');
  });

  it('streams with usage and with a tool call', async () => {
    const at = await world();
    const openai = client(at);
    const stream = await openai.chat.completions.create({
      model: 'auto',
      stream: true,
      stream_options: { include_usage: true },
      messages: [{ role: 'user', content: 'hello' }],
    });
    let text = '';
    let usage: OpenAI.CompletionUsage | null | undefined;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? '';
      usage = chunk.usage ?? usage;
    }
    expect(text).toBe('This is second. You said: hello');
    expect(usage?.completion_tokens).toBeGreaterThan(0);
    const calling = openai.chat.completions.stream({
      model: 'auto',
      messages: [{ role: 'user', content: 'hello' }],
      tools: [{ type: 'function', function: weather }],
    });
    const final = await calling.finalChatCompletion();
    expect(final.choices[0]?.message.tool_calls?.[0]).toMatchObject({
      function: { name: 'weather', arguments: '{"city":"text"}' },
    });
  });

  it('lists models, creates embeddings, and parses errors', async () => {
    const at = await world();
    const openai = client(at);
    const names = (await openai.models.list()).data.map(({ id }) => id);
    expect(names).toEqual(['auto', 'alpha/first', 'beta/second', 'beta/embed']);
    expect((await openai.models.retrieve('beta/second')).owned_by).toBe('beta');
    const { data } = await openai.embeddings.create({ model: 'embed', input: ['one', 'two'] });
    expect(data.map(({ embedding }) => embedding.length)).toEqual([8, 8]);

    const unknown = openai.chat.completions.create({
      model: 'nope',
      messages: [{ role: 'user', content: 'x' }],
    });
    await expect(unknown).rejects.toBeInstanceOf(NotFoundError);
    await expect(unknown).rejects.toMatchObject({ code: 'model_not_found', param: 'model' });
    const unauthenticated = new OpenAI({ baseURL: `${at.url}/v1`, apiKey: 'wrong', maxRetries: 0 });
    await expect(unauthenticated.models.list()).rejects.toBeInstanceOf(AuthenticationError);
    at.simulator.script('second', [{ fault: '400' }]);
    const refused = openai.chat.completions.create(
      { model: 'beta/second', messages: [{ role: 'user', content: 'x' }] },
      { headers: { 'x-headworks-fallback': 'none' } },
    );
    await expect(refused).rejects.toBeInstanceOf(BadRequestError);
  });

  it('aborts the provider call at once', async () => {
    const at = await world({ responseTimeoutSeconds: 30, idleTimeoutSeconds: 30 });
    at.simulator.script('second', [{ fault: 'hang' }, { fault: 'silent' }]);
    const openai = client(at);
    const messages = [{ role: 'user' as const, content: 'hello' }];
    const options = { headers: { 'x-headworks-fallback': 'none' } };
    for (const stream of [false, true]) {
      const leaving = new AbortController();
      const pending = (async () => {
        const answer = await openai.chat.completions.create(
          { model: 'beta/second', messages, stream },
          { ...options, signal: leaving.signal },
        );
        if (stream) for await (const _ of answer as AsyncIterable<unknown>);
      })();
      const done = pending.then(
        () => 'finished',
        () => 'aborted',
      );
      while (at.simulator.open() === 0) await pause(2);
      if (stream) await pause(100);
      leaving.abort();
      while (at.simulator.open() > 0) await pause(1);
      await done;
    }
    expect(at.simulator.aborted()).toBe(2);
  });
});

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe("the AI SDK's OpenAI-compatible provider", () => {
  it('generates text, streams, calls tools, generates objects and embeds', async () => {
    const at = await world();
    const provider = createOpenAICompatible({
      name: 'headworks',
      baseURL: `${at.url}/v1`,
      apiKey: at.key,
      includeUsage: true,
      supportsStructuredOutputs: true,
    });
    const model = provider('auto');
    const { text } = await generateText({ model, prompt: 'hello' });
    expect(text).toBe('This is second. You said: hello');
    const streamed = streamText({ model, prompt: 'hello again' });
    expect(await streamed.text).toBe('This is second. You said: hello again');
    expect((await streamed.usage).outputTokens).toBeGreaterThan(0);
    const tools = {
      weather: {
        description: weather.description,
        inputSchema: jsonSchema<{ city: string }>(weather.parameters),
      },
    } as unknown as ToolSet;
    const called = await generateText({ model, prompt: 'weather?', tools });
    expect(called.toolCalls[0]).toMatchObject({ toolName: 'weather', input: { city: 'text' } });
    const schema = jsonSchema<{ ok: boolean }>({
      type: 'object',
      properties: { ok: { type: 'boolean' } },
      required: ['ok'],
      additionalProperties: false,
    });
    expect((await generateObject({ model, schema, prompt: 'well?' })).object).toEqual({ ok: true });
    const { embedding } = await embed({ model: provider.embeddingModel('embed'), value: 'one' });
    expect(embedding).toHaveLength(8);
  });
});

describe("LangChain's OpenAI client", () => {
  it('invokes, streams, calls tools and embeds', async () => {
    const at = await world();
    const configuration = { baseURL: `${at.url}/v1` };
    const chat = new ChatOpenAI({ model: 'auto', apiKey: at.key, configuration, maxRetries: 0 });
    expect((await chat.invoke('hello')).content).toBe('This is second. You said: hello');
    let text = '';
    for await (const chunk of await chat.stream('hello')) text += chunk.text;
    expect(text).toBe('This is second. You said: hello');
    const called = await chat.bindTools([{ type: 'function', function: weather }]).invoke('weather?');
    expect(called.tool_calls?.[0]).toMatchObject({ name: 'weather', args: { city: 'text' } });
    const embeddings = new OpenAIEmbeddings({ model: 'embed', apiKey: at.key, configuration, maxRetries: 0 });
    expect(await embeddings.embedQuery('one')).toHaveLength(8);
  });
});
