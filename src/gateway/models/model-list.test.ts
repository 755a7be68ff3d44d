// Lists of models in the shapes that providers document.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { maxTaskMs, repeatedTaskMs } from '../../../test/support/longest-task.ts';
import { readListPage } from './model-list.ts';

const read = (json: unknown) => {
  const page = readListPage(Buffer.from(JSON.stringify(json)));
  if (!page) throw new Error('It is no list.');
  return page;
};
const unknown = {
  aliases: [],
  kind: 'chat',
  createdAt: null,
  contextTokens: null,
  maxOutputTokens: null,
  features: {},
  price: null,
  isDeprecated: false,
} as const;
const kinds = (json: unknown) => Object.fromEntries(read(json).models.map(({ id, kind }) => [id, kind]));

describe('a list of models', () => {
  it('of OpenAI has names and times; names tell what is neither chat nor embeddings', () => {
    const page = read({
      object: 'list',
      data: [
        { id: 'gpt-4o-mini', object: 'model', created: 1_721_172_741, owned_by: 'system' },
        { id: 'text-embedding-3-small', object: 'model', created: 1_705_948_997, owned_by: 'system' },
        { id: 'whisper-1', object: 'model', created: 1_677_532_384, owned_by: 'openai-internal' },
        { id: 'gpt-4o-realtime-preview', object: 'model', created: 1, owned_by: 'system' },
        { id: 'gpt-image-1', object: 'model', created: 1, owned_by: 'system' },
        { id: 'omni-moderation-latest', object: 'model', created: 1, owned_by: 'system' },
      ],
    });
    expect(page.models[0]).toEqual({ ...unknown, id: 'gpt-4o-mini', createdAt: 1_721_172_741_000 });
    expect(page.models.map(({ kind }) => kind)).toEqual([
      'chat',
      'embeddings',
      'other',
      'other',
      'other',
      'other',
    ]);
    expect(page.next).toBeNull();
  });

  it('of Groq has context and output, and leaves out inactive models', () => {
    const { models } = read({
      data: [
        {
          id: 'llama-3.3-70b-versatile',
          active: true,
          context_window: 131_072,
          max_completion_tokens: 32_768,
        },
        { id: 'gone', active: false, context_window: 8_192 },
      ],
    });
    expect(models).toEqual([
      { ...unknown, id: 'llama-3.3-70b-versatile', contextTokens: 131_072, maxOutputTokens: 32_768 },
    ]);
  });

  it('of OpenRouter has prices per token, modalities and parameters', () => {
    const { models } = read({
      data: [
        {
          id: 'openai/gpt-4o-mini',
          created: 1_721_260_800,
          context_length: 128_000,
          architecture: { input_modalities: ['text', 'image'], output_modalities: ['text'] },
          pricing: {
            prompt: '0.00000015',
            completion: '0.0000006',
            image: '0.000217',
            input_cache_read: '0.000000075',
            input_cache_write: '0',
          },
          top_provider: { context_length: 128_000, max_completion_tokens: 16_384 },
          supported_parameters: ['max_tokens', 'response_format', 'tools'],
        },
        {
          id: 'openrouter/auto',
          context_length: 2_000_000,
          architecture: { input_modalities: ['text'], output_modalities: ['text'] },
          pricing: { prompt: '-1', completion: '-1' },
          supported_parameters: ['reasoning'],
        },
        {
          id: 'google/some-painter',
          architecture: { input_modalities: ['text'], output_modalities: ['image'] },
          pricing: { prompt: '0', completion: '0' },
        },
      ],
    });
    expect(models[0]).toEqual({
      ...unknown,
      id: 'openai/gpt-4o-mini',
      createdAt: 1_721_260_800_000,
      contextTokens: 128_000,
      maxOutputTokens: 16_384,
      features: { tools: true, json: true, vision: true, reasoning: false },
      price: { inputPerMillion: 0.15, outputPerMillion: 0.6, cacheReadPerMillion: 0.075 },
    });
    expect(models[1]).toMatchObject({ price: null, features: { tools: false, reasoning: true } });
    expect(models[2]).toMatchObject({ kind: 'other' });
  });

  it('of Gemini has limits and methods, and pages', () => {
    const page = read({
      models: [
        {
          name: 'models/gemini-2.5-flash',
          baseModelId: 'gemini-2.5-flash',
          inputTokenLimit: 1_048_576,
          outputTokenLimit: 65_536,
          supportedGenerationMethods: ['generateContent', 'countTokens'],
          thinking: true,
        },
        {
          name: 'models/gemini-embedding-001',
          inputTokenLimit: 2_048,
          supportedGenerationMethods: ['embedContent'],
        },
        { name: 'models/imagen-4.0-generate-001', supportedGenerationMethods: ['predict'] },
        { name: 'models/gemini-2.5-flash-preview-tts', supportedGenerationMethods: ['generateContent'] },
      ],
      nextPageToken: 'abc=',
    });
    expect(page.next).toEqual({ name: 'pageToken', value: 'abc=' });
    expect(page.models[0]).toEqual({
      ...unknown,
      id: 'gemini-2.5-flash',
      contextTokens: 1_048_576,
      maxOutputTokens: 65_536,
      features: { reasoning: true },
    });
    expect(page.models.map(({ kind }) => kind)).toEqual(['chat', 'embeddings', 'other', 'other']);
  });

  it('of Anthropic has times, limits and capabilities, and pages', () => {
    const page = read({
      data: [
        {
          type: 'model',
          id: 'claude-sonnet-4-6',
          display_name: 'Claude Sonnet 4.6',
          created_at: '2026-02-17T00:00:00Z',
          max_input_tokens: 200_000,
          max_tokens: 64_000,
          capabilities: {
            image_input: { supported: true },
            structured_outputs: { supported: true },
            thinking: { supported: true, types: { adaptive: { supported: true } } },
          },
        },
        { type: 'model', id: 'claude-old', display_name: 'Old', created_at: '1970-01-01T00:00:00Z' },
      ],
      has_more: true,
      first_id: 'claude-sonnet-4-6',
      last_id: 'claude-old',
    });
    expect(page.next).toEqual({ name: 'after_id', value: 'claude-old' });
    expect(page.models[0]).toEqual({
      ...unknown,
      id: 'claude-sonnet-4-6',
      createdAt: Date.parse('2026-02-17T00:00:00Z'),
      contextTokens: 200_000,
      maxOutputTokens: 64_000,
      features: { json: true, vision: true, reasoning: true },
    });
    expect(page.models[1]).toMatchObject({ kind: 'chat', createdAt: 0, contextTokens: null });
    expect(read({ data: [], has_more: false, last_id: 'x' }).next).toBeNull();
  });

  it('of Mistral has capabilities, context and aliases', () => {
    const { models } = read({
      object: 'list',
      data: [
        {
          id: 'mistral-small-2506',
          created: 1_750_000_000,
          capabilities: { completion_chat: true, function_calling: true, vision: true, fine_tuning: false },
          name: 'mistral-small-2506',
          max_context_length: 131_072,
          aliases: ['mistral-small-latest'],
          type: 'base',
        },
        {
          id: 'mistral-embed',
          capabilities: { completion_chat: false, function_calling: false, vision: false },
          max_context_length: 8_192,
          aliases: [],
        },
        {
          id: 'codestral-fim',
          capabilities: { completion_chat: false, completion_fim: true },
          max_context_length: 32_768,
          deprecation: '2026-12-01T12:00:00Z',
        },
      ],
    });
    expect(models.map(({ isDeprecated }) => isDeprecated)).toEqual([false, false, true]);
    expect(models[0]).toEqual({
      ...unknown,
      id: 'mistral-small-2506',
      createdAt: 1_750_000_000_000,
      aliases: ['mistral-small-latest'],
      contextTokens: 131_072,
      features: { tools: true, vision: true },
    });
    expect(models.map(({ kind }) => kind)).toEqual(['chat', 'embeddings', 'other']);
  });

  it('of Together is an array with types and prices per million tokens', () => {
    const { models } = read([
      {
        id: 'meta-llama/Llama-3.3-70B-Instruct-Turbo',
        created: 1_733_466_629,
        type: 'chat',
        context_length: 131_072,
        pricing: { hourly: 0, input: 0.88, output: 0.88, base: 0, finetune: 0 },
      },
      {
        id: 'BAAI/bge-base-en-v1.5',
        type: 'embedding',
        context_length: 512,
        pricing: { input: 0.01, output: 0 },
      },
      { id: 'black-forest/some-model', type: 'image', pricing: { input: 0, output: 0 } },
      { id: 'some/base', type: 'language', pricing: { input: 0, output: 0 } },
    ]);
    expect(models[0]?.price).toEqual({ inputPerMillion: 0.88, outputPerMillion: 0.88 });
    expect(models[1]?.price).toEqual({ inputPerMillion: 0.01, outputPerMillion: 0 });
    expect(models[2]?.price).toBeNull();
    expect(models.map(({ kind }) => kind)).toEqual(['chat', 'embeddings', 'other', 'other']);
  });

  it('of HuggingFace has what all live servers of a model support', () => {
    const { models } = read({
      data: [
        {
          id: 'meta-llama/Llama-3.3-70B-Instruct',
          architecture: { input_modalities: ['text'], output_modalities: ['text'] },
          providers: [
            { provider: 'a', status: 'live', context_length: 131_072, supports_tools: true },
            { provider: 'b', status: 'live', context_length: 16_384, supports_tools: false },
            { provider: 'c', status: 'staging', context_length: 1, supports_tools: true },
          ],
        },
      ],
    });
    expect(models).toMatchObject([
      { contextTokens: 16_384, features: { tools: false, vision: false }, price: null },
    ]);
  });

  it('of GitHub is an array with limits, capabilities and modalities', () => {
    const { models } = read([
      {
        id: 'openai/gpt-4.1',
        name: 'OpenAI GPT-4.1',
        capabilities: ['streaming', 'tool-calling'],
        limits: { max_input_tokens: 1_048_576, max_output_tokens: 32_768 },
        supported_input_modalities: ['text', 'image', 'audio'],
        supported_output_modalities: ['text'],
      },
      {
        id: 'cohere/cohere-vectors',
        supported_input_modalities: ['text'],
        supported_output_modalities: ['embeddings'],
      },
    ]);
    expect(models[0]).toEqual({
      ...unknown,
      id: 'openai/gpt-4.1',
      contextTokens: 1_048_576,
      maxOutputTokens: 32_768,
      features: { tools: true, vision: true },
    });
    expect(models[1]).toMatchObject({ kind: 'embeddings' });
  });

  it('of Cohere has endpoints, and pages', () => {
    const page = read({
      models: [
        {
          name: 'command-a-03-2025',
          is_deprecated: false,
          endpoints: ['chat', 'generate'],
          context_length: 288_000,
          supports_vision: false,
          features: ['tools', 'json_mode'],
        },
        { name: 'vectors-v4.0', endpoints: ['embed'], context_length: 128_000, is_deprecated: true },
        { name: 'ranker-v3.5', endpoints: ['rerank'], context_length: 4_096 },
      ],
      next_page_token: 'more',
    });
    expect(page.next).toEqual({ name: 'page_token', value: 'more' });
    expect(page.models[0]).toMatchObject({
      kind: 'chat',
      contextTokens: 288_000,
      features: { tools: true, json: true, vision: false },
    });
    expect(page.models[1]).toMatchObject({ kind: 'embeddings', isDeprecated: true });
    expect(page.models[2]).toMatchObject({ kind: 'other' });
  });

  it('of Cloudflare has tasks and properties, and counted pages', () => {
    const json = {
      success: true,
      result: [
        {
          id: '429b9e8b-d99e-44de-91ad-706cf8183658',
          name: '@cf/meta/llama-3.3-70b-instruct-fp8-fast',
          task: { id: 'c329a1f9', name: 'Text Generation' },
          properties: [
            { property_id: 'context_window', value: '24000' },
            { property_id: 'function_calling', value: 'true' },
            {
              property_id: 'price',
              value: [
                { unit: 'per M input tokens', price: 0.293, currency: 'USD' },
                { unit: 'per M output tokens', price: 2.253, currency: 'USD' },
              ],
            },
          ],
        },
        { id: 'a', name: '@cf/baai/bge-m3', task: { name: 'Text Embeddings' }, properties: [] },
        { id: 'b', name: '@cf/some/classifier', task: { name: 'Text Classification' } },
      ],
      result_info: { page: 1, per_page: 100, count: 100, total_count: 120 },
    };
    const page = read(json);
    expect(page.next).toEqual({ name: 'page', value: '2' });
    expect(page.models[0]).toEqual({
      ...unknown,
      id: '@cf/meta/llama-3.3-70b-instruct-fp8-fast',
      contextTokens: 24_000,
      features: { tools: true },
      price: { inputPerMillion: 0.293, outputPerMillion: 2.253 },
    });
    expect(page.models.map(({ kind }) => kind)).toEqual(['chat', 'embeddings', 'other']);
    expect(read({ ...json, result_info: { page: 2, per_page: 100, total_count: 120 } }).next).toBeNull();
  });

  it('of xAI and Novita has prices in their units', () => {
    expect(
      read({
        models: [
          {
            id: 'grok-3',
            created: 1_743_724_800,
            input_modalities: ['text'],
            output_modalities: ['text'],
            prompt_text_token_price: 30_000,
            cached_prompt_text_token_price: 7_500,
            completion_text_token_price: 150_000,
            aliases: ['grok-3-latest'],
          },
        ],
      }).models[0],
    ).toMatchObject({
      aliases: ['grok-3-latest'],
      features: { vision: false },
      price: { inputPerMillion: 3, outputPerMillion: 15, cacheReadPerMillion: 0.75 },
    });
    expect(
      read({
        data: [
          {
            id: 'a/b',
            context_size: 32_768,
            input_token_price_per_m: 3_900,
            output_token_price_per_m: 5_700,
          },
        ],
      }).models[0],
    ).toMatchObject({ contextTokens: 32_768, price: { inputPerMillion: 0.39, outputPerMillion: 0.57 } });
  });

  it('of local servers has their context where they tell it', () => {
    expect(
      read({ data: [{ id: 'Qwen/Qwen3-8B', max_model_len: 40_960, owned_by: 'vllm' }] }).models,
    ).toMatchObject([{ contextTokens: 40_960 }]);
    expect(
      read({ models: [{ name: 'x' }], data: [{ id: 'm.gguf', meta: { n_ctx_train: 8_192 } }] }).models,
    ).toMatchObject([{ id: 'm.gguf', contextTokens: 8_192 }]);
    // What the running server takes, before what the model was trained for.
    const llamaCpp = { id: 'm.gguf', meta: { n_ctx: 4_096, n_ctx_train: 131_072 } };
    const lmStudio = { id: 'q', type: 'llm', loaded_context_length: 8_192, max_context_length: 131_072 };
    expect(read({ data: [llamaCpp, lmStudio] }).models).toMatchObject([
      { contextTokens: 4_096 },
      { contextTokens: 8_192 },
    ]);
    expect(kinds({ data: [{ id: 'llama3.2:latest' }, { id: 'nomic-embed-text:latest' }] })).toEqual({
      'llama3.2:latest': 'chat',
      'nomic-embed-text:latest': 'embeddings',
    });
  });

  it.each([
    ['an error', { error: { message: 'no' } }],
    ['text', 'models'],
    ['null', null],
    ['an object without a list', { data: { id: 'x' } }],
  ])('is not %s', (_name, json) => {
    expect(readListPage(Buffer.from(JSON.stringify(json)))).toBeUndefined();
  });

  it('is no other bytes, and no list with very many values', () => {
    expect(readListPage(Buffer.from('<html>'))).toBeUndefined();
    expect(readListPage(Buffer.from(`[${'[],'.repeat(1_100_000)}[]]`))).toBeUndefined();
  });

  it('has only entries with a name, and values that can be', () => {
    const { models } = read({
      data: [
        5,
        null,
        {},
        { id: '' },
        { id: 7 },
        { id: 'x'.repeat(201) },
        {
          id: 'ok',
          context_length: -5,
          max_output_tokens: 'many',
          created: 'never',
          pricing: { prompt: 'x' },
        },
      ],
    });
    expect(models).toEqual([{ ...unknown, id: 'ok' }]);
  });

  it('is read or rejected whatever it contains', () => {
    fc.assert(
      fc.property(fc.json(), (json) => {
        for (const { id } of readListPage(Buffer.from(json))?.models ?? []) expect(id).not.toBe('');
      }),
    );
  });
});

it.each([
  ['names', `{"data":[{${Array.from({ length: 980_000 }, (_, index) => `"k${index}":1`).join()}}]}`],
  ['models', `{"data":[${Array.from({ length: 450_000 }, (_, index) => `{"id":"m${index}"}`).join()}]}`],
])('a list with very many %s is read without blocking (B1)', async (_, text) => {
  const body = Buffer.from(text);
  expect(await repeatedTaskMs(() => readListPage(body))).toBeLessThan(maxTaskMs);
});
