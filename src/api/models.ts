// Models and how they perform. Field names and paths are those of the founding document.
import { z } from 'zod';
import { after, count, id, instant, next, pageSize, queryFlag } from './fields.ts';
import type { OutputOf } from './operation.ts';
import { operation } from './operation.ts';

const capabilities = z.strictObject({
  streaming: z.boolean().describe('Streams completions.'),
  tools: z.boolean().describe('Accepts tools and tool calls.'),
  json: z.boolean().describe('Accepts `response_format` for JSON.'),
  vision: z.boolean().describe('Accepts images.'),
  reasoning: z.boolean().describe('Accepts the fields that control reasoning.'),
  embeddings: z.boolean().describe('Creates embeddings instead of completions.'),
  endpoints: z
    .array(
      z.enum([
        'rerank',
        'moderations',
        'images/generations',
        'images/edits',
        'audio/speech',
        'audio/transcriptions',
        'audio/translations',
      ]),
    )
    .describe('Further endpoints below /v1 that it serves instead of completions.'),
  context_tokens: z
    .number()
    .int()
    .min(1)
    .nullable()
    .describe('Prompt and completion together; null: unknown.'),
  max_output_tokens: z.number().int().min(1).nullable().describe('Longest completion; null: unknown.'),
});

const apis = z
  .array(z.enum(['chat', 'responses', 'messages', 'gemini', 'completions']))
  .describe(
    'APIs of its server: a request in one of them passes through, others are translated to the first that has what they need.',
  );
const keyHeader = z.enum(['authorization', 'x-api-key', 'x-goog-api-key', 'api-key']);

const dollars = z.number().meta({ minimum: 0 });
const seconds = z.number().meta({ minimum: 0.1 });

const price = z
  .strictObject({
    input_per_million: dollars.describe('US dollars per million prompt tokens.'),
    output_per_million: dollars.describe('US dollars per million completion tokens.'),
    cache_read_per_million: dollars
      .optional()
      .describe('The same for prompt tokens read from the cache. Default: as other prompt tokens.'),
    cache_write_per_million: dollars
      .optional()
      .describe('The same for prompt tokens written to the cache. Default: as other prompt tokens.'),
  })
  .nullable();

const timeouts = z.strictObject({
  connect_seconds: seconds.optional().describe('Timeout for the connection, in seconds.'),
  first_token_seconds: seconds.optional().describe('Timeout for the first content of a stream, in seconds.'),
  response_seconds: seconds.optional().describe('Timeout for a whole response, in seconds.'),
  idle_seconds: seconds.optional().describe('Timeout between two chunks of a response, in seconds.'),
});

const quotasOf = <Count extends z.ZodType>(limit: Count) =>
  z.strictObject({
    requests_per_minute: limit.describe('Requests per minute and key; default: unlimited.'),
    requests_per_day: limit.describe('Requests per day and key; default: unlimited.'),
    tokens_per_minute: limit.describe('Tokens per minute and key; default: unlimited.'),
    tokens_per_day: limit.describe('Tokens per day and key; default: unlimited.'),
  });

const decisionReason = z
  .string()
  .describe('Whether recent or all requests decide the effective score, and why.');

export const Model = z
  .object({
    id: count,
    name: z.string().describe('Name that callers use.'),
    provider: z.string(),
    api_endpoint: z.string().describe('URL that requests are sent to.'),
    apis,
    upstream_model: z.string().describe('Name of the model at the provider.'),
    env_var: z.string().nullable().describe('Environment variable that holds its key; null: it needs none.'),
    key_header: keyHeader.describe('Header for its key.'),
    is_local: z.boolean().describe('It runs on this machine or network and gets no automatic cooldowns.'),
    origin: z
      .enum(['built-in', 'config', 'custom', 'discovered'])
      .describe("`custom`: created over this API; `discovered`: from its provider's list."),
    capabilities: capabilities.describe('What the model supports.'),
    quotas: quotasOf(z.number().int().min(1).optional()).describe('Limits of one key; default: unlimited.'),
    price: price.describe('US dollars per million tokens; null: unknown.'),
    timeouts: timeouts.describe("Its own timeouts instead of the gateway's."),
    is_active: z.boolean().describe('False: disabled by an operator, or retired.'),
    retired_at: instant
      .nullable()
      .describe(
        "When it was retired, because its provider's list no longer has it; null: it is not retired.",
      ),
    is_configured: z.boolean().describe('Its key is set, or it needs none.'),
    key_count: count.describe('Number of keys that requests are distributed over.'),
    key_source: z
      .string()
      .nullable()
      .describe('Environment variable its keys were read from; null when it has none or needs none.'),
    needs: z
      .string()
      .nullable()
      .describe('Environment variables to set before it can be called; null when it is configured.'),
    state: z
      .enum(['retired', 'disabled', 'no-key', 'cooling-down', 'quota-exhausted', 'failing', 'available'])
      .describe('`failing`: most of its last calls failed; it is still called, after others.'),
    health: z
      .object({
        is_failing: z
          .boolean()
          .describe('Its last three calls failed, or most of its last ten without three successes since.'),
        request_count: count.describe('Requests of the last 15 minutes, each counted once.'),
        success_rate: z
          .number()
          .nullable()
          .describe('Successful part of those requests, 0 to 1; null without any.'),
        last_failure: z.string().nullable().describe('Outcome of its last call; null when that succeeded.'),
        backoff_until: instant
          .nullable()
          .describe(
            'Until then the model is ranked last, after several failures in a row; null: not backing off.',
          ),
      })
      .describe('How it works now, over all servers and workers.'),
    available_at: instant
      .nullable()
      .describe('When its cooldowns have ended and its quotas have capacity; null: now.'),
    cooldowns: z
      .array(
        z.object({
          key_id: z.string().describe("Short hash of the provider's key, or * for every key of the model."),
          until: instant.describe('End of the cooldown.'),
          cause: z
            .string()
            .describe('A failure class, `quota` (also when only our own count is exhausted) or `manual`.'),
          source: z
            .string()
            .describe(
              'Where the duration came from: a header, the body, `default`, `rejections`, `quota` or `admin`.',
            ),
          reason: z.string().nullable().describe('As given with the cooldown; null: none was given.'),
        }),
      )
      .describe('Keys that are cooling down.'),
    success_count: count.describe('Successful requests, over all stored attempts.'),
    failure_count: count.describe('Failed requests, over all stored attempts.'),
    request_count: count.describe(
      'Successful and failed requests; each counts once, however many attempts it took.',
    ),
    success_rate: z.number().describe('Successful part of all requests, 0 to 1.'),
    average_response_time: z.number().describe('Average duration of successful attempts, in seconds.'),
    reliability_score: z.number().describe('0 to 1, over all attempts.'),
    recent_success_rate: z
      .number()
      .nullable()
      .describe('As without `recent_`, over `window_days`; null unless `include_recent`.'),
    recent_request_count: count
      .nullable()
      .describe('As without `recent_`, over `window_days`; null unless `include_recent`.'),
    recent_reliability_score: z
      .number()
      .nullable()
      .describe('As without `recent_`, over `window_days`; null unless `include_recent`.'),
    effective_reliability_score: z.number().describe('0 to 1; routing prefers higher ones.'),
    decision_reason: decisionReason,
  })
  .meta({ id: 'Model', description: 'A model and how it performs.' });
export type Model = z.infer<typeof Model>;

const params = z.object({
  id: z.coerce.number().int().min(1).max(Number.MAX_SAFE_INTEGER).describe('Id of the model.'),
});

/** A whole number from 1 on. The gateway checks that together with everything else that is wrong. */
const givenCount = z.number().meta({ type: 'integer', minimum: 1 });

/** The route names this schema in the OpenAPI document and adds the checks of the gateway. */
export const ModelRequest = z.strictObject({
  name: z.string().describe('Name that callers use.'),
  base_url: z.string().describe('URL up to, and without, /chat/completions.'),
  model: z
    .string()
    .optional()
    .describe(
      'Name of the model at the provider. Default: the whole name; with `provider` P and a name P/X: X.',
    ),
  provider: z
    .string()
    .optional()
    .describe(
      'Name of the provider. Default: the part of the name before the first slash; without one, the host of base_url.',
    ),
  env_var: z
    .string()
    .nullish()
    .describe(
      'Environment variable that holds its key; the key itself is never stored. Its name must end in _API_KEY or ' +
        '_API_TOKEN, or be one of a built-in provider.',
    ),
  apis: apis.optional(),
  key_header: keyHeader
    .optional()
    .describe('Header for its key. Default: where the first of its APIs expects it.'),
  capabilities: capabilities
    .extend({
      context_tokens: givenCount.nullable().describe('Prompt and completion together; default: unknown.'),
      max_output_tokens: givenCount.nullable().describe('Longest completion; default: unknown.'),
    })
    .partial()
    .optional()
    .describe('What the model supports.'),
  quotas: quotasOf(givenCount.optional()).optional().describe('Limits of one key; default: unlimited.'),
  price: price.optional().describe('US dollars per million tokens; default: unknown.'),
  timeouts: timeouts.optional().describe("Its own timeouts instead of the gateway's."),
});

/** 31 days, in seconds. */
const maxCooldownSeconds = 2_678_400;
const cooldownRange = `must be a number of seconds from 0 to ${maxCooldownSeconds}`;

const outcomes = {
  requests: count.describe('Requests, each counted once.'),
  successes: count.describe('Successful requests.'),
  average_seconds: z.number().describe('Average duration of successful attempts, in seconds.'),
};
const tally = z.object({
  ...outcomes,
  typical_seconds: z
    .number()
    .describe('Average time of successful attempts for up to 200 completion tokens, which the score uses.'),
});

const responseTimeQuery = z.object({
  response_time: z.coerce
    .number('must be a number of seconds')
    .min(0)
    .max(86_400)
    .optional()
    .describe('Duration of the attempt in seconds. Without it the average stays unchanged.'),
});

const provider = z.string().min(1).max(100);

export const Discovery = z
  .object({
    id: id.describe('Of a dry run: not stored.'),
    at: instant,
    provider: z.string(),
    trigger: z.enum(['schedule', 'manual', 'repair']).describe('What started it.'),
    outcome: z
      .enum(['completed', 'empty', 'failed'])
      .describe('`empty`: the list has no usable model. Neither that nor a failure retires any.'),
    message: z.string().nullable().describe('Why it failed; null otherwise.'),
    listed: count.describe('Chat and embedding models in the list.'),
    changes: z
      .array(
        z.object({
          model: z.string().describe('Name of the model.'),
          change: z
            .enum(['added', 'changed', 'missing', 'retired', 'returned'])
            .describe('`missing`: not listed for the first time; the second time in a row it is retired.'),
          detail: z.string().describe('What changed, or why.'),
        }),
      )
      .describe('What the list changed.'),
  })
  .meta({ id: 'Discovery', description: "One reading of a provider's list of models." });
export type Discovery = z.infer<typeof Discovery>;

export const modelsApi = {
  list: operation('GET /api/v1/models', {
    id: 'models.list',
    summary: 'List models, highest score first',
    access: 'gateway',
    query: z.object({
      active_only: queryFlag(true).describe('Leave out disabled models.'),
      available_only: queryFlag(false).describe(
        'Leave out models that are failing, cooling down or out of quota.',
      ),
      configured_only: queryFlag(false).describe('Leave out models without a key.'),
      include_recent: queryFlag(false).describe('Fill the recent_… fields.'),
      window_days: z.coerce
        .number()
        .int()
        .min(1)
        .max(365)
        .default(7)
        .describe('Days that count as recent, 1 to 365.'),
    }),
    output: z.array(Model).meta({ id: 'Models', description: 'Models, highest score first.' }),
  }),

  create: operation('POST /api/v1/models', {
    id: 'models.create',
    summary: 'Create a model of any OpenAI-compatible server',
    body: ModelRequest,
    status: 201,
    output: Model,
  }),

  get: operation('GET /api/v1/models/:id', {
    id: 'models.get',
    summary: 'Get a model',
    access: 'gateway',
    params,
    output: Model,
  }),

  update: operation('PUT /api/v1/models/:id', {
    id: 'models.update',
    summary: 'Replace the definition of a custom model',
    description:
      'Name, scores and usage stay; cooldowns are cleared when its endpoint changes. Built-in models and models from ' +
      'the configuration cannot be updated (409).',
    params,
    body: ModelRequest,
    output: Model,
  }),

  delete: operation('DELETE /api/v1/models/:id', {
    id: 'models.delete',
    summary: 'Delete a custom model and return it',
    description:
      'Its usage stays. Built-in models and models from the configuration cannot be deleted (409); disable them.',
    params,
    output: Model,
  }),

  setCooldown: operation('PATCH /api/v1/models/:id/availability', {
    id: 'models.set-cooldown',
    summary: 'Set a cooldown on a model; 0 clears every cooldown',
    params,
    query: z.object({
      // Not coerced: an empty text would become 0, which clears.
      retry_after_seconds: z
        .string(cooldownRange)
        .regex(/^\d{1,7}(\.\d{1,3})?$/, cooldownRange)
        .refine((text) => Number(text) <= maxCooldownSeconds, cooldownRange)
        .transform(Number)
        .describe(`Seconds, 0 to ${maxCooldownSeconds}; 0 clears every cooldown of the model.`),
      reason: z.string().min(1).max(500).optional().describe('Shown with the model.'),
    }),
    output: Model,
  }),

  setActive: operation('PATCH /api/v1/models/:id/active', {
    id: 'models.set-active',
    summary: 'Enable or disable a model',
    params,
    body: z.strictObject({ is_active: z.boolean().describe('False disables the model.') }),
    output: Model,
  }),

  incrementSuccess: operation('POST /api/v1/models/:id/increment-success', {
    id: 'models.increment-success',
    summary: 'Record a successful attempt by hand',
    params,
    query: responseTimeQuery,
    output: Model,
  }),

  incrementFailure: operation('POST /api/v1/models/:id/increment-failure', {
    id: 'models.increment-failure',
    summary: 'Record a failed attempt by hand',
    params,
    query: responseTimeQuery,
    output: Model,
  }),

  explain: operation('GET /api/v1/models/:id/explain', {
    id: 'models.explain',
    summary: 'Explain the score of a model and its routing position',
    description: 'With a gateway key, `recent_attempts` are those of this key alone.',
    access: 'gateway',
    params,
    output: z
      .object({
        model: Model,
        score: z.object({
          long_term: tally.describe('All stored attempts.'),
          recent: tally.describe('The last `window_days`.'),
          window_days: z.number().describe('Days that count as recent.'),
          reliability_score: z.number().describe('0 to 1, over all stored attempts.'),
          recent_reliability_score: z.number().nullable().describe('0 to 1; null without recent requests.'),
          effective_score: z.number().describe('The score that routing uses: one of the other two.'),
          decision_reason: decisionReason,
        }),
        steps: z.array(z.string()).describe('The formulas with the numbers of this model.'),
        position: count
          .nullable()
          .describe('Position in the routing order, from 1; null: it would not be called now.'),
        position_reason: z.string().describe('Why it has this position, or none.'),
        recent_attempts: z
          .array(
            z.object({
              request_id: z.string(),
              at: instant,
              outcome: z.string().describe('`success`, or the class of the failure.'),
              status: z.number().nullable().describe('HTTP status of the provider; null: no response.'),
              duration_ms: z.number(),
              first_token_ms: z
                .number()
                .nullable()
                .describe('Time to the first content of a stream; null: a whole response, or no content.'),
              prompt_tokens: z.number(),
              completion_tokens: z.number(),
              caller: z.string().describe('`admin`, or `key:` and the id of a gateway key.'),
            }),
          )
          .describe('Newest first.'),
      })
      .meta({ id: 'ModelExplanation' }),
  }),

  getHistory: operation('GET /api/v1/models/:id/history', {
    id: 'models.get-history',
    summary: 'Get the performance of a model over time',
    params,
    query: z.strictObject({
      hours: z.coerce
        .number()
        .int()
        .min(1)
        .max(720)
        .default(24)
        .describe('Length of the period in hours, 1 to 720.'),
    }),
    output: z
      .object({
        since: instant.describe('Start of the period.'),
        until: instant.describe('End of the period.'),
        interval_ms: count.describe('Length of an interval.'),
        intervals: z
          .array(
            z.object({
              at: instant.describe('Start of the interval.'),
              ...outcomes,
            }),
          )
          .describe('Intervals with attempts, oldest first.'),
      })
      .meta({ id: 'ModelHistory' }),
  }),

  probe: operation('POST /api/v1/models/probe', {
    id: 'models.probe',
    summary: 'Send a minimal request to models now, within their quotas',
    isStream: true,
    body: z
      .strictObject({
        ids: z
          .array(z.number().int().min(1))
          .min(1)
          .max(1_000)
          .optional()
          .describe('Ids of the models; default: every configured model.'),
      })
      .nullish(),
    output: z
      .object({
        probes: z.array(
          z.object({
            model: z.string(),
            outcome: z.string().describe('`skipped`: cooling down, out of quota, disabled or without key.'),
            reason: z.string().nullable().describe('Why it was skipped or failed; null: it responded.'),
            duration_ms: z.number().nullable().describe('Null when it was skipped.'),
          }),
        ),
      })
      .meta({ id: 'Probes' }),
  }),

  discover: operation('POST /api/v1/models/discover', {
    id: 'models.discover',
    summary: 'Read the lists of models of configured providers now',
    description:
      'Adds new models, takes over sizes and prices, and retires what two lists in a row do not have. Models that were ' +
      'configured or created are never changed. An unknown provider is a 404; one without a key or a list a 400.',
    isStream: true,
    body: z
      .strictObject({
        provider: provider.optional().describe('Only this provider; default: every one that has a key.'),
        dry_run: z.boolean().optional().describe('True reports what would change and changes nothing.'),
      })
      .nullish(),
    output: z
      .object({
        dry_run: z.boolean(),
        discoveries: z.array(Discovery).describe('One per provider; empty: no provider has a key.'),
      })
      .meta({ id: 'DiscoveryReport' }),
  }),

  listDiscoveries: operation('GET /api/v1/models/discoveries', {
    id: 'models.list-discoveries',
    summary: 'List readings of the lists of models, newest first',
    query: z.strictObject({
      provider: provider.optional().describe('Only of this provider.'),
      limit: pageSize(500, 50),
      after,
    }),
    output: z.object({ discoveries: z.array(Discovery), next }).meta({ id: 'Discoveries' }),
  }),
} as const;

export type ModelExplanation = OutputOf<typeof modelsApi.explain>;
export type ModelHistory = OutputOf<typeof modelsApi.getHistory>;
export type Probes = OutputOf<typeof modelsApi.probe>;
