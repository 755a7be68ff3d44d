// OpenAI's shapes, as far as the document of our API needs them. Bodies are not checked against these: see gateway/dialects.
import { z } from 'zod';

const model = z
  .string()
  .optional()
  .describe('`auto` (default), a name, or names separated by commas.')
  .meta({ examples: ['auto'] });

export const chatBody = z
  .looseObject({
    model,
    messages: z.array(z.looseObject({ role: z.string() })).min(1),
    stream: z.boolean().optional(),
  })
  .meta({
    id: 'ChatRequest',
    description: "OpenAI's chat request; fields not named here travel on untouched.",
  });

export const chatAnswer = z
  .looseObject({
    id: z.string(),
    choices: z.array(z.looseObject({ index: z.number() })),
    usage: z.looseObject({}).optional(),
  })
  .meta({
    id: 'ChatAnswer',
    description: "The model's own answer, or with `stream` its server-sent events.",
  });

export const embeddingsBody = z
  .looseObject({ model, input: z.union([z.string(), z.array(z.unknown())]) })
  .meta({ id: 'EmbeddingsRequest' });

export const embeddingsAnswer = z
  .looseObject({ data: z.array(z.looseObject({ index: z.number() })) })
  .meta({ id: 'EmbeddingsAnswer', description: "The model's own answer." });

export const openAiModel = z
  .object({ id: z.string(), object: z.literal('model'), created: z.number(), owned_by: z.string() })
  .meta({ id: 'OpenAiModel', description: 'A model that can be asked.' });

export const openAiModels = z
  .object({ object: z.literal('list'), data: z.array(openAiModel) })
  .meta({ id: 'OpenAiModels', description: 'Models that can be asked.' });

export const steeringHeaders = z.object({
  'x-headworks-fallback': z.string().optional().describe('`none`: ask only the models that are named.'),
  'x-headworks-timeout': z.string().optional().describe('Seconds for all tries and waits together.'),
  'x-headworks-wait': z
    .string()
    .optional()
    .describe('Seconds to wait for the soonest model when none is available.'),
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
    tries: z.number().int(),
    status: z.number().int().nullable(),
    available_at: z.string().nullable(),
  })
  .meta({ id: 'TriedModel' });

const openAiErrorAnswer = z
  .object({
    error: z.object({
      message: z.string(),
      type: z.string(),
      param: z.string().nullable(),
      code: z.string().describe("OpenAI's word where there is one."),
      headworks_code: z.string().describe('Our own code, as everywhere else in this API.'),
      request_id: z.string(),
      retry_after_seconds: z.number().optional(),
      models: z
        .array(triedModel)
        .optional()
        .describe('Every model that was considered, and why it did not answer.'),
    }),
  })
  .meta({ id: 'OpenAiError', description: "Why the request was not answered, in OpenAI's shape." });

export const openAiErrorAnswers = { '4xx': openAiErrorAnswer, '5xx': openAiErrorAnswer } as const;
