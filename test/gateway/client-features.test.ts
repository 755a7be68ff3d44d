// Unmodified client libraries × features × the API of the model behind the gateway. The results are the table of
// docs/reference/clients.md: `npm test -- client-features -u` writes it.
import Anthropic from '@anthropic-ai/sdk';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { ChatOpenAI, OpenAIEmbeddings } from '@langchain/openai';
import { tool as langchainTool } from '@langchain/core/tools';
import { HumanMessage, ToolMessage } from '@langchain/core/messages';
import { OpenAI as LlamaIndexOpenAI, OpenAIEmbedding, OpenAIResponses } from '@llamaindex/openai';
import { Agent, OpenAIProvider, Runner, setTracingDisabled, tool as agentTool } from '@openai/agents';
import type { LanguageModel } from 'ai';
import { embed, generateText, jsonSchema, Output, stepCountIs, streamText, tool as aiTool } from 'ai';
import OpenAI, { NotFoundError } from 'openai';
import { zodResponseFormat, zodTextFormat } from 'openai/helpers/zod';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { ChatApi } from '../../src/gateway/index.ts';
import type { AnyApiProvider } from '../support/gateway/any-api-provider.ts';
import { startAnyApiProvider } from '../support/gateway/any-api-provider.ts';
import type { GatewayWorld } from '../support/gateway/gateway-world.ts';
import { gatewayWorld } from '../support/gateway/gateway-world.ts';

const upstreams = ['chat', 'responses', 'messages', 'gemini'] as const satisfies readonly ChatApi[];
const features = ['text', 'stream', 'tools', 'JSON schema', 'image', 'embeddings', 'conversation'] as const;
type Feature = (typeof features)[number];

/** A client: what it calls for each feature, with a model of the gateway. Absent: the client has no such call. */
interface Client {
  readonly name: string;
  readonly api: string;
  readonly calls: Partial<
    Record<Feature, (at: { url: string; key: string; model: string }) => Promise<void>>
  >;
}

const prompt = 'hello';
const reply = 'You wrote: hello';
const toolReply = 'The tool returned: 3 degrees';
const pixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const weatherSchema = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
} as const;
const Weather = z.object({ city: z.string(), degrees: z.number() });
const oslo = { city: 'Oslo', degrees: 3 };

/* ---- openai ---- */

const openai = ({ url, key }: { url: string; key: string }) =>
  new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 });

const openAiChat: Client = {
  name: 'openai',
  api: 'chat',
  calls: {
    text: async (at) => {
      const made = await openai(at).chat.completions.create({
        model: at.model,
        messages: [{ role: 'user', content: prompt }],
      });
      expect(made.choices[0]?.message.content).toBe(reply);
      expect(made.usage?.total_tokens).toBe(15);
    },
    stream: async (at) => {
      const stream = openai(at).chat.completions.stream({
        model: at.model,
        messages: [{ role: 'user', content: prompt }],
        stream_options: { include_usage: true },
      });
      let text = '';
      for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
      expect(text).toBe(reply);
      expect(await stream.totalUsage()).toMatchObject({ prompt_tokens: 10, completion_tokens: 5 });
    },
    tools: async (at) => {
      const runner = openai(at).chat.completions.runTools({
        model: at.model,
        stream: true,
        messages: [{ role: 'user', content: prompt }],
        tools: [
          {
            type: 'function',
            function: {
              name: 'weather',
              description: 'The weather.',
              parameters: { ...weatherSchema, required: ['city'] },
              parse: (text: string) => JSON.parse(text) as { city: string },
              function: (given: { city: string }) => (given.city === 'Oslo' ? '3 degrees' : 'wrong'),
            },
          },
        ],
      });
      expect(await runner.finalContent()).toBe(toolReply);
    },
    'JSON schema': async (at) => {
      const made = await openai(at).chat.completions.parse({
        model: at.model,
        messages: [{ role: 'user', content: prompt }],
        response_format: zodResponseFormat(Weather, 'weather'),
      });
      expect(made.choices[0]?.message.parsed).toEqual(oslo);
    },
    image: async (at) => {
      const made = await openai(at).chat.completions.create({
        model: at.model,
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: prompt },
              { type: 'image_url', image_url: { url: `data:image/png;base64,${pixel}` } },
            ],
          },
        ],
      });
      expect(made.choices[0]?.message.content).toBe('I see 1 image.');
    },
    embeddings: async (at) => {
      const made = await openai(at).embeddings.create({ model: 'up/embed', input: ['a', 'bb'] });
      expect(made.data.map(({ embedding }) => embedding.length)).toEqual([8, 8]);
      expect(made.data[0]?.embedding[0]).toBeCloseTo(0.1);
    },
    conversation: async (at) => {
      const tools = [{ type: 'function' as const, function: { name: 'weather', parameters: weatherSchema } }];
      const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: prompt }];
      const send = async () => {
        const made = await openai(at).chat.completions.create({
          model: at.model,
          messages,
          tools,
          reasoning_effort: 'low',
        });
        const message = made.choices[0]?.message;
        if (message) messages.push(message);
        return message;
      };
      for (let turn = 0; turn < 3; turn++) {
        const call = (await send())?.tool_calls?.[0];
        messages.push({ role: 'tool', tool_call_id: call?.id ?? '', content: '3 degrees' });
        expect((await send())?.content).toBe(toolReply);
        messages.push({ role: 'user', content: prompt });
      }
    },
  },
};

const openAiResponses: Client = {
  name: 'openai',
  api: 'Responses',
  calls: {
    text: async (at) => {
      const made = await openai(at).responses.create({ model: at.model, input: prompt });
      expect(made.output_text).toBe(reply);
      expect(made.usage?.total_tokens).toBe(15);
    },
    stream: async (at) => {
      const stream = openai(at).responses.stream({ model: at.model, input: prompt });
      let text = '';
      for await (const event of stream) if (event.type === 'response.output_text.delta') text += event.delta;
      expect(text).toBe(reply);
      expect((await stream.finalResponse()).output_text).toBe(reply);
    },
    tools: async (at) => {
      const tools = [
        {
          type: 'function' as const,
          name: 'weather',
          parameters: weatherSchema,
          strict: true,
          description: '',
        },
      ];
      const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: prompt }];
      const first = await openai(at).responses.create({ model: at.model, input, tools });
      const call = first.output.find((item) => item.type === 'function_call');
      expect(JSON.parse(call?.arguments ?? '')).toEqual({ city: 'Oslo' });
      const output = {
        type: 'function_call_output' as const,
        call_id: call?.call_id ?? '',
        output: '3 degrees',
      };
      const items = [...input, ...(first.output as OpenAI.Responses.ResponseInput), output];
      const second = await openai(at).responses.create({ model: at.model, input: items, tools });
      expect(second.output_text).toBe(toolReply);
    },
    'JSON schema': async (at) => {
      const made = await openai(at).responses.parse({
        model: at.model,
        input: prompt,
        text: { format: zodTextFormat(Weather, 'weather') },
      });
      expect(made.output_parsed).toEqual(oslo);
    },
    image: async (at) => {
      const made = await openai(at).responses.create({
        model: at.model,
        input: [
          {
            role: 'user',
            content: [
              { type: 'input_text', text: prompt },
              { type: 'input_image', image_url: `data:image/png;base64,${pixel}`, detail: 'auto' },
            ],
          },
        ],
      });
      expect(made.output_text).toBe('I see 1 image.');
    },
    conversation: async (at) => {
      const first = await openai(at).responses.create({ model: at.model, input: 'My name is Ada.' });
      const second = await openai(at).responses.create({
        model: at.model,
        input: prompt,
        previous_response_id: first.id,
      });
      expect(second.output_text).toBe(reply);
      expect(await openai(at).responses.retrieve(first.id)).toMatchObject({ id: first.id });
      await openai(at).responses.delete(first.id);
      await expect(openai(at).responses.retrieve(first.id)).rejects.toThrow(NotFoundError);
    },
  },
};

/* ---- Anthropic ---- */

const anthropic = ({ url, key }: { url: string; key: string }) =>
  new Anthropic({ baseURL: url, apiKey: key, maxRetries: 0 });

const anthropicMessages: Client = {
  name: '@anthropic-ai/sdk',
  api: 'Messages',
  calls: {
    text: async (at) => {
      const made = await anthropic(at).messages.create({
        model: at.model,
        max_tokens: 100,
        messages: [{ role: 'user', content: prompt }],
      });
      expect(made.content).toMatchObject([{ type: 'text', text: reply }]);
      expect(made.usage).toMatchObject({ input_tokens: 10, output_tokens: 5 });
      const counted = await anthropic(at).messages.countTokens({
        model: at.model,
        messages: [{ role: 'user', content: prompt }],
      });
      expect(counted.input_tokens).toBeGreaterThan(0);
    },
    stream: async (at) => {
      const stream = anthropic(at).messages.stream({
        model: at.model,
        max_tokens: 4_000,
        thinking: { type: 'enabled', budget_tokens: 1_024 },
        messages: [{ role: 'user', content: prompt }],
      });
      expect(await stream.finalText()).toBe(reply);
      const message = await stream.finalMessage();
      expect(message.content[0]).toMatchObject({ type: 'thinking', thinking: 'I think about it.' });
      expect(message.usage).toMatchObject({ input_tokens: 10, output_tokens: 5 });
    },
    tools: async (at) => {
      const tools = [{ name: 'weather', description: 'The weather.', input_schema: weatherSchema }];
      const messages: Anthropic.MessageParam[] = [{ role: 'user', content: prompt }];
      const first = await anthropic(at)
        .messages.stream({ model: at.model, max_tokens: 100, messages, tools: tools as never })
        .finalMessage();
      const call = first.content.find((block) => block.type === 'tool_use');
      expect([first.stop_reason, call?.input]).toEqual(['tool_use', { city: 'Oslo' }]);
      const second = await anthropic(at).messages.create({
        model: at.model,
        max_tokens: 100,
        tools: tools as never,
        messages: [
          ...messages,
          { role: 'assistant', content: first.content },
          {
            role: 'user',
            content: [{ type: 'tool_result', tool_use_id: call?.id ?? '', content: '3 degrees' }],
          },
        ],
      });
      expect(second.content).toMatchObject([{ type: 'text', text: toolReply }]);
    },
    'JSON schema': async (at) => {
      const made = await anthropic(at).messages.create({
        model: at.model,
        max_tokens: 100,
        messages: [{ role: 'user', content: prompt }],
        output_config: { format: { type: 'json_schema', schema: z.toJSONSchema(Weather) } },
      });
      expect(made.content[0]?.type === 'text' && JSON.parse(made.content[0].text)).toEqual(oslo);
    },
    image: async (at) => {
      const made = await anthropic(at).messages.create({
        model: at.model,
        max_tokens: 100,
        messages: [
          {
            role: 'user',
            content: [
              { type: 'image', source: { type: 'base64', media_type: 'image/png', data: pixel } },
              { type: 'text', text: prompt },
            ],
          },
        ],
      });
      expect(made.content).toMatchObject([{ type: 'text', text: 'I see 1 image.' }]);
    },
    conversation: async (at) => {
      const tools = [{ name: 'weather', description: 'The weather.', input_schema: weatherSchema }];
      const messages: Anthropic.MessageParam[] = [{ role: 'user', content: prompt }];
      const send = async () => {
        const made = await anthropic(at)
          .messages.stream({
            model: at.model,
            max_tokens: 4_000,
            thinking: { type: 'enabled', budget_tokens: 1_024 },
            messages,
            tools: tools as never,
          })
          .finalMessage();
        messages.push({ role: 'assistant', content: made.content });
        return made.content;
      };
      for (let turn = 0; turn < 3; turn++) {
        const call = (await send()).find((block) => block.type === 'tool_use');
        const result = { type: 'tool_result' as const, tool_use_id: call?.id ?? '', content: '3 degrees' };
        messages.push({ role: 'user', content: [result] });
        expect(await send()).toMatchObject([
          { type: 'thinking', thinking: 'I think about it.' },
          { type: 'text', text: toolReply },
        ]);
        messages.push({ role: 'user', content: prompt });
      }
    },
  },
};

/* ---- AI SDK ---- */

function aiSdk(
  name: string,
  api: string,
  modelOf: (at: { url: string; key: string; model: string }) => LanguageModel,
): Client {
  const weather = aiTool({
    description: 'The weather.',
    inputSchema: jsonSchema<{ city: string }>(weatherSchema),
    execute: async ({ city }) => (city === 'Oslo' ? '3 degrees' : 'wrong'),
  });
  return {
    name,
    api,
    calls: {
      text: async (at) => {
        const { text, usage } = await generateText({ model: modelOf(at), prompt, maxRetries: 0 });
        expect(text).toBe(reply);
        expect(usage.totalTokens).toBe(15);
      },
      stream: async (at) => {
        const { textStream } = streamText({ model: modelOf(at), prompt, maxRetries: 0 });
        let text = '';
        for await (const chunk of textStream) text += chunk;
        expect(text).toBe(reply);
      },
      tools: async (at) => {
        const made = streamText({
          model: modelOf(at),
          prompt,
          tools: { weather },
          stopWhen: stepCountIs(3),
          maxRetries: 0,
        });
        expect(await made.text).toBe(toolReply);
      },
      'JSON schema': async (at) => {
        const { output } = await generateText({
          model: modelOf(at),
          prompt,
          output: Output.object({ schema: Weather }),
          maxRetries: 0,
        });
        expect(output).toEqual(oslo);
      },
      image: async (at) => {
        const { text } = await generateText({
          model: modelOf(at),
          maxRetries: 0,
          messages: [
            {
              role: 'user',
              content: [
                { type: 'text', text: prompt },
                { type: 'image', image: Buffer.from(pixel, 'base64'), mediaType: 'image/png' },
              ],
            },
          ],
        });
        expect(text).toBe('I see 1 image.');
      },
      conversation: async (at) => {
        const first = await generateText({
          model: modelOf(at),
          messages: [{ role: 'user', content: 'My name is Ada.' }],
          maxRetries: 0,
        });
        const { text } = await generateText({
          model: modelOf(at),
          maxRetries: 0,
          messages: [
            { role: 'user', content: 'My name is Ada.' },
            ...first.response.messages,
            { role: 'user', content: prompt },
          ],
        });
        expect(text).toBe(reply);
      },
    },
  };
}

const compatible = ({ url, key }: { url: string; key: string }) =>
  createOpenAICompatible({
    name: 'gateway',
    baseURL: `${url}/v1`,
    apiKey: key,
    includeUsage: true,
    supportsStructuredOutputs: true,
  });
const aiSdkClients: readonly Client[] = [
  aiSdk('@ai-sdk/openai', 'Responses', ({ url, key, model }) =>
    createOpenAI({ baseURL: `${url}/v1`, apiKey: key })(model),
  ),
  aiSdk('@ai-sdk/anthropic', 'Messages', ({ url, key, model }) =>
    createAnthropic({ baseURL: `${url}/v1`, apiKey: key })(model),
  ),
  aiSdk('@ai-sdk/openai-compatible', 'chat', (at) => compatible(at)(at.model)),
];
(aiSdkClients[2] as { calls: Client['calls'] }).calls.embeddings = async (at) => {
  const { embedding } = await embed({
    model: compatible(at).textEmbeddingModel('up/embed'),
    value: 'a',
    maxRetries: 0,
  });
  expect(embedding).toHaveLength(8);
};

/* ---- LangChain ---- */

function langchain(api: 'chat' | 'Responses'): Client {
  const chat = ({ url, key, model }: { url: string; key: string; model: string }) =>
    new ChatOpenAI({
      model,
      apiKey: key,
      useResponsesApi: api === 'Responses',
      maxRetries: 0,
      configuration: { baseURL: `${url}/v1` },
    });
  const weather = langchainTool(
    async ({ city }: { city: string }) => (city === 'Oslo' ? '3 degrees' : 'wrong'),
    { name: 'weather', description: 'The weather.', schema: z.object({ city: z.string() }) },
  );
  return {
    name: '@langchain/openai',
    api,
    calls: {
      text: async (at) => expect((await chat(at).invoke(prompt)).text).toBe(reply),
      stream: async (at) => {
        let text = '';
        for await (const chunk of await chat(at).stream(prompt)) text += chunk.text;
        expect(text).toBe(reply);
      },
      tools: async (at) => {
        const model = chat(at).bindTools([weather]);
        const human = new HumanMessage(prompt);
        const first = await model.invoke([human]);
        const call = first.tool_calls?.[0];
        expect(call?.args).toEqual({ city: 'Oslo' });
        const result = new ToolMessage({
          tool_call_id: call?.id ?? '',
          content: await weather.invoke({ city: 'Oslo' }),
        });
        expect((await model.invoke([human, first, result])).text).toBe(toolReply);
      },
      'JSON schema': async (at) => {
        const model = chat(at).withStructuredOutput(Weather, { method: 'jsonSchema' });
        expect(await model.invoke(prompt)).toEqual(oslo);
      },
      image: async (at) => {
        const message = new HumanMessage({
          content: [
            { type: 'text', text: prompt },
            { type: 'image_url', image_url: { url: `data:image/png;base64,${pixel}` } },
          ],
        });
        expect((await chat(at).invoke([message])).text).toBe('I see 1 image.');
      },
      conversation: async (at) => {
        const human = new HumanMessage('My name is Ada.');
        const first = await chat(at).invoke([human]);
        if (api === 'chat') {
          expect((await chat(at).invoke([human, first, new HumanMessage(prompt)])).text).toBe(reply);
          return;
        }
        const { id } = first.response_metadata as { readonly id: string };
        const second = await chat(at).invoke(prompt, { previous_response_id: id });
        expect(second.text).toBe(reply);
      },
      ...(api === 'chat' && {
        embeddings: async ({ url, key }: { url: string; key: string }) => {
          const embeddings = new OpenAIEmbeddings({
            model: 'up/embed',
            apiKey: key,
            maxRetries: 0,
            configuration: { baseURL: `${url}/v1` },
          });
          expect(await embeddings.embedQuery('a')).toHaveLength(8);
        },
      }),
    },
  };
}

/* ---- OpenAI Agents ---- */

const agents: Client = {
  name: '@openai/agents',
  api: 'Responses',
  calls: {
    text: async (at) => {
      const agent = new Agent({ name: 'a', model: at.model });
      expect((await runnerFor(at).run(agent, prompt)).finalOutput).toBe(reply);
    },
    stream: async (at) => {
      const agent = new Agent({ name: 'a', model: at.model });
      const streamed = await runnerFor(at).run(agent, prompt, { stream: true });
      let text = '';
      for await (const chunk of streamed.toTextStream()) text += chunk;
      await streamed.completed;
      expect(text).toBe(reply);
    },
    tools: async (at) => {
      const weather = agentTool({
        name: 'weather',
        description: 'The weather.',
        parameters: z.object({ city: z.string() }),
        execute: async ({ city }) => (city === 'Oslo' ? '3 degrees' : 'wrong'),
      });
      const agent = new Agent({ name: 'a', model: at.model, tools: [weather] });
      expect((await runnerFor(at).run(agent, prompt)).finalOutput).toBe(toolReply);
    },
    'JSON schema': async (at) => {
      const agent = new Agent({ name: 'a', model: at.model, outputType: Weather });
      expect((await runnerFor(at).run(agent, prompt)).finalOutput).toEqual(oslo);
    },
    image: async (at) => {
      const agent = new Agent({ name: 'a', model: at.model });
      const content = [
        { type: 'input_text' as const, text: prompt },
        { type: 'input_image' as const, image: `data:image/png;base64,${pixel}` },
      ];
      const made = await runnerFor(at).run(agent, [{ role: 'user', content }]);
      expect(made.finalOutput).toBe('I see 1 image.');
    },
    conversation: async (at) => {
      const agent = new Agent({ name: 'a', model: at.model });
      const first = await runnerFor(at).run(agent, 'My name is Ada.');
      const options = { previousResponseId: first.lastResponseId ?? '' };
      expect((await runnerFor(at).run(agent, prompt, options)).finalOutput).toBe(reply);
    },
  },
};
const runnerFor = (at: { url: string; key: string }) =>
  new Runner({
    modelProvider: new OpenAIProvider({ openAIClient: openai(at) as never }),
    tracingDisabled: true,
  });

/* ---- LlamaIndex ---- */

interface At {
  readonly url: string;
  readonly key: string;
  readonly model: string;
}

interface Called {
  readonly id: string;
  readonly input: unknown;
}

function llamaIndex(api: 'chat' | 'Responses', modelOf: (at: At) => Pick<LlamaIndexOpenAI, 'chat'>): Client {
  const user = (content: string) => ({ role: 'user' as const, content });
  const weather = {
    metadata: { name: 'weather', description: 'The weather.', parameters: weatherSchema },
    call: () => '3 degrees',
  };
  return {
    name: '@llamaindex/openai',
    api,
    calls: {
      text: async (at: At) => {
        const { message } = await modelOf(at).chat({ messages: [user(prompt)] });
        expect(message.content).toBe(reply);
      },
      tools: async (at: At) => {
        const tools = [weather] as never;
        const first = await modelOf(at).chat({ messages: [user(prompt)], tools });
        const { toolCall = [] } = (first.message.options ?? {}) as { readonly toolCall?: readonly Called[] };
        const [call] = toolCall;
        const input = typeof call?.input === 'string' ? (JSON.parse(call.input) as unknown) : call?.input;
        expect(input).toEqual({ city: 'Oslo' });
        const toolResult = { id: call?.id ?? '', result: '3 degrees', isError: false };
        const result = { role: 'user' as const, content: '3 degrees', options: { toolResult } };
        const second = await modelOf(at).chat({ messages: [user(prompt), first.message, result], tools });
        expect(second.message.content).toBe(toolReply);
      },
      image: async (at: At) => {
        const content = [
          { type: 'text' as const, text: prompt },
          { type: 'image_url' as const, image_url: { url: `data:image/png;base64,${pixel}` } },
        ];
        const { message } = await modelOf(at).chat({ messages: [{ role: 'user', content }] });
        expect(message.content).toBe('I see 1 image.');
      },
      // In its Responses API the library repeats the last words of a stream, ignores schemas and leaves earlier answers out.
      ...(api === 'chat' && {
        stream: async (at: At) => {
          let text = '';
          for await (const chunk of await modelOf(at).chat({ messages: [user(prompt)], stream: true }))
            text += chunk.delta;
          expect(text).toBe(reply);
        },
        'JSON schema': async (at: At) => {
          const responseFormat = zodResponseFormat(Weather, 'weather') as object;
          const { message } = await modelOf(at).chat({ messages: [user(prompt)], responseFormat });
          expect(typeof message.content === 'string' && JSON.parse(message.content)).toEqual(oslo);
        },
        conversation: async (at: At) => {
          const first = await modelOf(at).chat({ messages: [user('My name is Ada.')] });
          const messages = [user('My name is Ada.'), first.message, user(prompt)];
          const { message } = await modelOf(at).chat({ messages });
          expect(message.content).toBe(reply);
        },
        embeddings: async ({ url, key }: At) => {
          const model = new OpenAIEmbedding({ model: 'up/embed', apiKey: key, baseURL: `${url}/v1` });
          expect(await model.getTextEmbedding('a')).toHaveLength(8);
        },
      }),
    },
  };
}
const llamaSettings = ({ url, key, model }: { url: string; key: string; model: string }) => ({
  model,
  apiKey: key,
  baseURL: `${url}/v1`,
  maxRetries: 0,
});

/* ---- the matrix ---- */

const clients: readonly Client[] = [
  openAiChat,
  openAiResponses,
  anthropicMessages,
  ...aiSdkClients,
  langchain('chat'),
  langchain('Responses'),
  agents,
  llamaIndex('chat', (at) => new LlamaIndexOpenAI(llamaSettings(at))),
  llamaIndex('Responses', (at) => new OpenAIResponses(llamaSettings(at)) as never),
];

describe('client libraries', () => {
  let provider: AnyApiProvider;
  let at: GatewayWorld;
  let key: string;
  const works = new Map<string, Set<string>>();

  beforeAll(async () => {
    setTracingDisabled(true);
    provider = await startAnyApiProvider();
  });
  afterAll(() => provider.stop());

  const open = async () => {
    const models = [...upstreams, 'embed'] as const;
    at = await gatewayWorld({
      providers: [{ name: 'up', models: models.map((name) => ({ name })) }],
      models: Object.fromEntries(
        models.map((name) => [
          `up/${name}`,
          {
            baseUrl: provider.url,
            ...(name === 'embed' ? {} : { apis: [name] }),
            capabilities: { vision: true, reasoning: true, embeddings: name === 'embed' },
          },
        ]),
      ),
    });
    ({ key } = await at.gateway.keys.create({ name: 'client', expiresAt: null }));
  };

  for (const client of clients)
    for (const feature of features) {
      const call = client.calls[feature];
      if (!call) continue;
      const behind = feature === 'embeddings' ? (['chat'] as const) : upstreams;
      it.each(behind)(
        `${client.name} (${client.api}): ${feature} with a model of the %s API`,
        async (upstream) => {
          await open();
          await call({ url: at.url, key, model: `up/${upstream}` });
          const name = `${client.name} ${client.api} ${feature}`;
          works.set(name, (works.get(name) ?? new Set()).add(upstream));
        },
      );
    }

  it('work as the table of the docs shows', async () => {
    const cell = (client: Client, feature: Feature): string => {
      if (!client.calls[feature]) return '–';
      const done = works.get(`${client.name} ${client.api} ${feature}`)?.size ?? 0;
      return done === (feature === 'embeddings' ? 1 : upstreams.length)
        ? 'yes'
        : `${done} of ${upstreams.length}`;
    };
    const rows = clients.map((client) => [
      `\`${client.name}\``,
      client.api,
      ...features.map((feature) => cell(client, feature)),
    ]);
    const header = ['client', 'API', ...features];
    const table = [header, header.map(() => '---'), ...rows]
      .map((row) => `| ${row.join(' | ')} |`)
      .join('\n');
    await expect(`${intro}${table}\n`).toMatchFileSnapshot('../../docs/reference/clients.md');
  });
});

const intro = `# Clients

Unmodified client libraries against the gateway, in their newest versions, each with four models behind it: one whose
provider has OpenAI's chat API, one with Responses, one with Anthropic's Messages, one with Gemini's. "yes": the call
works with all of them. "–": the library has no such call in this API, or it fails with every server
(LlamaIndex with Responses: stream, JSON schema, conversation). "conversation": further turns, by the id of the response where
the API has one. Written by \`test/gateway/client-features.test.ts\`.

`;
