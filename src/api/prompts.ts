// One prompt, one completion: the founding document's own endpoint, in its shapes.
import { z } from 'zod';
import { count, ErrorResponse } from './fields.ts';
import { routingHeaders, triedModel } from './openai.ts';
import type { OutputOf } from './operation.ts';
import { operation } from './operation.ts';

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
        model_name: z.string().min(1).max(500).nullish().describe('Tried first, before all others.'),
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
