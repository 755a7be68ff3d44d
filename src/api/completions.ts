// The founding document's endpoint for one prompt, and the APIs of OpenAI and Anthropic, as far as our documentation needs
// them. Bodies are not checked against these schemas: gateway/dialects parses them.
import { z } from 'zod';
import { operation } from './operation.ts';
import { count, ErrorResponse } from './fields.ts';
import type { OutputOf } from './operation.ts';

const model = z
  .string()
  .optional()
  .describe('`auto` (default), a name, or names separated by commas.')
  .meta({ examples: ['auto'] });

const ChatRequest = z
  .looseObject({
    model,
    messages: z
      .array(z.looseObject({ role: z.string() }))
      .min(1)
      .describe('The conversation, oldest message first.'),
    stream: z.boolean().optional().describe('Send the completion as server-sent events. Default: false.'),
  })
  .meta({
    id: 'ChatRequest',
    description: "OpenAI's chat request; other fields are passed to the model unchanged.",
  });

const ChatResponse = z
  .looseObject({
    id: z.string(),
    choices: z.array(z.looseObject({ index: z.number() })),
    usage: z.looseObject({}).optional().describe('Numbers of tokens, as reported by the model.'),
  })
  .meta({
    id: 'ChatResponse',
    description: "The model's response unchanged, or with `stream` its server-sent events.",
  });

const EmbeddingsRequest = z
  .looseObject({
    model,
    input: z
      .union([z.string(), z.array(z.unknown())])
      .describe('A text, or a list of texts or token arrays.'),
  })
  .meta({ id: 'EmbeddingsRequest' });

const EmbeddingsResponse = z
  .looseObject({ data: z.array(z.looseObject({ index: z.number() })).describe('One vector per input.') })
  .meta({ id: 'EmbeddingsResponse', description: "The model's response unchanged." });

const ResponsesRequest = z
  .looseObject({
    model,
    input: z
      .union([z.string(), z.array(z.looseObject({}))])
      .optional()
      .describe('A text, or the items of the conversation.'),
    stream: z.boolean().optional().describe('Send the response as server-sent events. Default: false.'),
    previous_response_id: z
      .string()
      .nullish()
      .describe('Continue after this response, which was created here with the same key.'),
    store: z.boolean().nullish().describe('Keep the response for later requests. Default: true.'),
  })
  .meta({ id: 'ResponsesRequest', description: "OpenAI's Responses request." });

const ResponsesResponse = z
  .looseObject({ id: z.string(), output: z.array(z.looseObject({ type: z.string() })) })
  .meta({ id: 'ResponsesResponse', description: 'A response, or with `stream` its server-sent events.' });

const MessagesRequest = z
  .looseObject({
    model,
    messages: z
      .array(z.looseObject({ role: z.string() }))
      .min(1)
      .describe('The conversation.'),
    max_tokens: z.number().int().optional().describe('Longest completion.'),
    stream: z.boolean().optional().describe('Send the message as server-sent events. Default: false.'),
  })
  .meta({ id: 'MessagesRequest', description: "Anthropic's Messages request." });

const MessagesResponse = z
  .looseObject({ id: z.string(), content: z.array(z.looseObject({ type: z.string() })) })
  .meta({ id: 'MessagesResponse', description: 'A message, or with `stream` its server-sent events.' });

const CompletionsRequest = z
  .looseObject({
    model,
    prompt: z.union([z.string(), z.array(z.unknown())]).describe('The text to continue.'),
    stream: z.boolean().optional().describe('Send the completion as server-sent events. Default: false.'),
  })
  .meta({ id: 'CompletionsRequest', description: "OpenAI's legacy completion request." });

const OpenAiModel = z
  .object({
    id: z.string(),
    object: z.literal('model'),
    created: z.number().describe('Unix time in seconds.'),
    owned_by: z.string().describe('Name of the provider.'),
  })
  .meta({ id: 'OpenAiModel', description: 'A callable model.' });

const OpenAiModels = z
  .object({ object: z.literal('list'), data: z.array(OpenAiModel) })
  .meta({ id: 'OpenAiModels', description: 'The callable models.' });

export const routingHeaders = z.object({
  'x-headworks-fallback': z.string().optional().describe('`none`: call only the models that are named.'),
  'x-headworks-timeout': z.string().optional().describe('Seconds for all attempts and waits together.'),
  'x-headworks-wait': z
    .string()
    .optional()
    .describe('Seconds to wait for the first model to become available when none is.'),
});

export const triedModel = z
  .object({
    model: z.string(),
    provider: z.string(),
    outcome: z
      .string()
      .describe(
        'The class of its last failure, or `cooling-down`, `not-tried`, `unavailable` when it was not called.',
      ),
    attempts: z.number().int().describe('Number of calls.'),
    status: z.number().int().nullable().describe('HTTP status of its last response; null: none.'),
    available_at: z.string().nullable().describe('When its cooldown ends; null: not cooling down.'),
  })
  .meta({ id: 'TriedModel' });

const OpenAiError = z
  .object({
    error: z.object({
      message: z.string(),
      type: z.string(),
      param: z.string().nullable(),
      code: z.string().describe("OpenAI's code where it has one."),
      headworks_code: z.string().describe('Our own code, as everywhere else in this API.'),
      request_id: z.string(),
      retry_after_seconds: z.number().optional().describe('Seconds until a retry can succeed.'),
      limit: z
        .object({
          name: z.string().describe('`requests_per_minute`, `tokens_per_day` or `usd_per_day`.'),
          value: z.number(),
          used: z.number(),
          resets_at: z.iso.datetime().describe('When a request is accepted again.'),
        })
        .optional()
        .describe('The limit of the gateway key that was reached.'),
      models: z
        .array(triedModel)
        .optional()
        .describe('Every model that was considered, and why it did not respond.'),
    }),
  })
  .meta({ id: 'OpenAiError', description: "Why the request failed, in OpenAI's format." });

const AnthropicError = z
  .object({
    type: z.literal('error'),
    error: z.looseObject({
      type: z.string().describe("Anthropic's type of the error."),
      message: z.string(),
      headworks_code: z.string().describe('Our own code, as everywhere else in this API.'),
    }),
    request_id: z.string(),
  })
  .meta({ id: 'AnthropicError', description: "Why the request failed, in Anthropic's format." });

/** No audit row per completion: attempts and usage record them. */
const completion = {
  access: 'gateway',
  isStream: true,
  audit: false,
  anyTextIn: 'everywhere',
  headers: routingHeaders,
  errors: { '4xx': OpenAiError, '5xx': OpenAiError },
} as const;

const responseHeaders =
  'The headers `x-headworks-model`, `x-headworks-provider`, `x-headworks-attempts` and `x-headworks-fallback` name the model that responded.';

const storedId = z.object({ id: z.string().min(1).max(200).describe('Id of the response.') });

const anthropicErrors = { '4xx': AnthropicError, '5xx': AnthropicError } as const;

const translated =
  'A model whose provider has this API gets the request unchanged; for others it is translated, and what only ' +
  'this API has is rejected with 400 and its name.';

/** For unmodified clients of OpenAI and Anthropic: they are the typed clients of these operations. */
export const completionsApi = {
  chat: operation('POST /v1/chat/completions', {
    ...completion,
    id: 'openai.create-chat-completion',
    summary: 'Create a chat completion with the best available model, optionally streamed',
    description:
      '`model` is `auto`, one name (tried first, then the rest), or names separated by commas; ' +
      '`x-headworks-fallback: none` disables the rest. All other fields are passed to the model unchanged. ' +
      responseHeaders,
    body: ChatRequest,
    output: ChatResponse,
  }),
  embeddings: operation('POST /v1/embeddings', {
    ...completion,
    id: 'openai.create-embeddings',
    summary: 'Create embeddings',
    description: `Falls back only to other providers of the same model: vectors of different models never mix. ${responseHeaders}`,
    body: EmbeddingsRequest,
    output: EmbeddingsResponse,
  }),
  responses: operation('POST /v1/responses', {
    ...completion,
    id: 'openai.create-response',
    summary: "Create a response in OpenAI's Responses API, optionally streamed",
    description: `${translated} ${responseHeaders}`,
    body: ResponsesRequest,
    output: ResponsesResponse,
  }),
  getResponse: operation('GET /v1/responses/:id', {
    id: 'openai.get-response',
    summary: 'Get a stored response',
    access: 'gateway',
    params: storedId,
    output: ResponsesResponse,
    errors: completion.errors,
  }),
  deleteResponse: operation('DELETE /v1/responses/:id', {
    id: 'openai.delete-response',
    summary: 'Delete a stored response',
    access: 'gateway',
    audit: false,
    params: storedId,
    output: z
      .object({ id: z.string(), object: z.literal('response'), deleted: z.literal(true) })
      .meta({ id: 'DeletedResponse' }),
    errors: completion.errors,
  }),
  messages: operation('POST /v1/messages', {
    ...completion,
    id: 'anthropic.create-message',
    summary: "Create a message in Anthropic's Messages API, optionally streamed",
    description: `${translated} ${responseHeaders}`,
    body: MessagesRequest,
    output: MessagesResponse,
    errors: anthropicErrors,
  }),
  countTokens: operation('POST /v1/messages/count_tokens', {
    ...completion,
    id: 'anthropic.count-tokens',
    summary: 'Count the tokens of a message',
    description:
      'By the provider where it has the Messages API; otherwise an estimate, with the header ' +
      '`x-headworks-estimated: true`.',
    body: MessagesRequest,
    output: z
      .object({ input_tokens: count.describe('Tokens of messages, system prompt and tools.') })
      .meta({ id: 'TokenCount' }),
    errors: anthropicErrors,
  }),
  completions: operation('POST /v1/completions', {
    ...completion,
    id: 'openai.create-completion',
    summary: "Create a completion in OpenAI's legacy API, optionally streamed",
    description: `${translated} ${responseHeaders}`,
    body: CompletionsRequest,
    output: ChatResponse,
  }),
  models: operation('GET /v1/models', {
    id: 'openai.list-models',
    summary: 'List callable models: active ones with a key, and "auto"',
    access: 'gateway',
    output: OpenAiModels,
    errors: completion.errors,
  }),
  model: operation('GET /v1/models/*', {
    id: 'openai.get-model',
    summary: 'Get a callable model',
    access: 'gateway',
    output: OpenAiModel,
    errors: completion.errors,
  }),
} as const;

const passThrough = <Endpoint extends string>(endpoint: Endpoint, summary: string) =>
  operation(`POST /v1/${endpoint}`, {
    ...completion,
    id: `openai.${endpoint.replace('/', '-')}`,
    summary,
    description:
      'Served by models that declare it in `capabilities.endpoints`. The body, JSON or multipart/form-data, and the ' +
      `response pass through, except for \`model\`. ${responseHeaders}`,
    body: z.looseObject({ model }),
    output: z.unknown(),
  });

/** Endpoints that pass through, by their path below /v1. */
export const passThroughApi = {
  rerank: passThrough('rerank', 'Rank documents by their relevance for a query'),
  moderations: passThrough('moderations', 'Classify text and images by a content policy'),
  'images/generations': passThrough('images/generations', 'Create images from a text'),
  'images/edits': passThrough('images/edits', 'Edit images'),
  'audio/speech': passThrough('audio/speech', 'Create speech from a text'),
  'audio/transcriptions': passThrough('audio/transcriptions', 'Transcribe speech'),
  'audio/translations': passThrough('audio/translations', 'Translate speech to English text'),
} as const;

export const PromptExhausted = z
  .object({
    error: z.string().describe('Stable: all_rate_limited or service_unavailable.'),
    message: z.string().describe('What happened, and what to do.'),
    retry_after: z.number().nullable().describe('Seconds until the first model is available again.'),
    attempts: count.describe('Calls to models, all retries included.'),
    providers_tried: count.describe('Providers that were called.'),
    providers_available: count.describe('Providers of the models that were considered.'),
    models: z.array(triedModel).describe('Every model that was considered, and why it did not respond.'),
    request_id: z.string(),
  })
  .meta({ id: 'PromptExhausted', description: 'No model completed: 429 when all are limited, else 503.' });
export type PromptExhausted = z.infer<typeof PromptExhausted>;

export const promptsApi = {
  process: operation('POST /api/v1/prompts/process', {
    id: 'prompts.process',
    summary: 'Complete a prompt with the best available model',
    access: 'gateway',
    isStream: true,
    // No audit rows: one per prompt would hide all others; attempts and usage have the caller of each.
    audit: false,
    anyTextIn: 'everywhere',
    headers: routingHeaders.loose(),
    body: z
      .strictObject({
        prompt: z.string().min(1).max(10_000).describe('1 to 10,000 characters.'),
        model_name: z.string().min(1).max(500).nullish().describe('Name of the model to try first.'),
        system_prompt: z.string().min(1).max(5_000).nullish().describe('1 to 5,000 characters.'),
        response_format: z
          .looseObject({ type: z.string() })
          .nullish()
          .describe("As in OpenAI's chat request."),
        tags: z.array(z.string().min(1).max(100)).max(20).nullish().describe('Accepted and ignored.'),
      })
      .meta({ id: 'PromptRequest' }),
    output: z
      .object({
        prompt: z.string().describe('As sent.'),
        response: z.string().describe('The completion.'),
        selected_model: z.string().describe('Name of the model that responded.'),
        provider: z.string(),
        response_time_seconds: z
          .number()
          .describe('Duration of the successful call, without failed attempts.'),
        success: z.literal(true),
        attempts: count.describe('Calls to models, the successful one included.'),
        fallback_used: z.boolean().describe('Another model than the first choice responded.'),
      })
      .meta({ id: 'PromptResponse' }),
    errors: { 429: PromptExhausted, 503: PromptExhausted, '4xx': ErrorResponse, '5xx': ErrorResponse },
  }),
} as const;

export type PromptCompletion = OutputOf<typeof promptsApi.process>;
