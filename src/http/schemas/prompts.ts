// One prompt, one answer: the founding document's own endpoint.
import { z } from 'zod';
import { triedModel } from './openai.ts';

export const promptBody = z
  .strictObject({
    prompt: z.string().min(1).max(10_000),
    model_name: z.string().min(1).max(500).nullish().describe('Tried first; the rest after it.'),
    system_prompt: z.string().min(1).max(5_000).nullish(),
    response_format: z.looseObject({ type: z.string() }).nullish().describe("As in OpenAI's chat request."),
    tags: z.array(z.string().min(1).max(100)).max(20).nullish().describe('Accepted and ignored.'),
  })
  .meta({ id: 'PromptRequest' });

export const promptAnswer = z
  .object({
    prompt: z.string(),
    response: z.string(),
    selected_model: z.string(),
    provider: z.string(),
    response_time_seconds: z
      .number()
      .describe('Of the call that was answered; those that failed before it are not in it.'),
    success: z.literal(true),
    attempts: z.number().int(),
    fallback_used: z.boolean(),
  })
  .meta({ id: 'PromptAnswer', description: 'What the model said, and which one.' });

export const promptExhausted = z
  .object({
    error: z.string().describe('Stable: all_rate_limited or service_unavailable.'),
    message: z.string(),
    retry_after: z.number().nullable().describe('Seconds until the soonest model is free again.'),
    attempts: z.number().int(),
    providers_tried: z.number().int(),
    providers_available: z.number().int(),
    models: z.array(triedModel),
    request_id: z.string(),
  })
  .meta({ id: 'PromptExhausted', description: 'No model could answer: 429 when all are limited, else 503.' });
