// One prompt, one completion: the founding document's own endpoint, in its shapes.
import { z } from 'zod';
import { count, ErrorResponse } from './fields.ts';
import { routingHeaders, triedModel } from './openai.ts';
import type { OutputOf } from './operation.ts';
import { operation } from './operation.ts';

export const PromptExhausted = z
  .object({
    error: z.string().describe('Stable: all_rate_limited or service_unavailable.'),
    message: z.string(),
    retry_after: z.number().nullable().describe('Seconds until the first model is available again.'),
    attempts: count,
    providers_tried: count,
    providers_available: count,
    models: z.array(triedModel),
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
    // One row per prompt would hide all others; attempts and usage have the caller of each.
    audit: false,
    anyTextIn: 'everywhere',
    headers: routingHeaders.loose(),
    body: z
      .strictObject({
        prompt: z.string().min(1).max(10_000),
        model_name: z.string().min(1).max(500).nullish().describe('Tried first, before all others.'),
        system_prompt: z.string().min(1).max(5_000).nullish(),
        response_format: z
          .looseObject({ type: z.string() })
          .nullish()
          .describe("As in OpenAI's chat request."),
        tags: z.array(z.string().min(1).max(100)).max(20).nullish().describe('Accepted and ignored.'),
      })
      .meta({ id: 'PromptRequest' }),
    output: z
      .object({
        prompt: z.string(),
        response: z.string(),
        selected_model: z.string(),
        provider: z.string(),
        response_time_seconds: z
          .number()
          .describe('Duration of the successful call, without failed attempts.'),
        success: z.literal(true),
        attempts: count,
        fallback_used: z.boolean(),
      })
      .meta({ id: 'PromptResponse' }),
    errors: { 429: PromptExhausted, 503: PromptExhausted, '4xx': ErrorResponse, '5xx': ErrorResponse },
  }),
} as const;

export type PromptCompletion = OutputOf<typeof promptsApi.process>;
