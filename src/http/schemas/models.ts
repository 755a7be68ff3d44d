// Models as the founding document shows them, and what is done with them.
import { z } from 'zod';
import type { ModelExplanation, ModelView } from '../../gateway/index.ts';
import { snakeCase } from '../snake-case.ts';
import { instant, isoOrNull } from './fields.ts';

const capabilities = z.strictObject({
  streaming: z.boolean(),
  tools: z.boolean(),
  json: z.boolean(),
  vision: z.boolean(),
  embeddings: z.boolean(),
  context_tokens: z.number().int().min(1).nullable(),
});

const quota = z.number().int().min(1).optional();
const quotas = z.strictObject({
  requests_per_minute: quota,
  requests_per_day: quota,
  tokens_per_minute: quota,
  tokens_per_day: quota,
});

const cooldown = z.object({
  key_id: z.string().describe("A short hash of the provider's key, or * for all of the model's."),
  until: instant,
  cause: z.string(),
  source: z.string().describe('Who said how long.'),
  reason: z.string().nullable(),
});

export const modelAnswer = z
  .object({
    id: z.number().int(),
    name: z.string(),
    provider: z.string(),
    api_endpoint: z.string(),
    upstream_model: z.string(),
    env_var: z.string().nullable(),
    is_local: z.boolean(),
    origin: z.enum(['built-in', 'config', 'added']),
    capabilities,
    quotas,
    is_active: z.boolean(),
    is_configured: z.boolean(),
    key_count: z.number().int(),
    available_at: instant.nullable(),
    cooldowns: z.array(cooldown),
    success_count: z.number().int(),
    failure_count: z.number().int(),
    request_count: z.number().int(),
    success_rate: z.number(),
    average_response_time: z.number().describe('Seconds, of successful attempts.'),
    reliability_score: z.number(),
    recent_success_rate: z.number().nullable(),
    recent_request_count: z.number().int().nullable(),
    recent_reliability_score: z.number().nullable(),
    effective_reliability_score: z.number(),
    decision_reason: z.string(),
  })
  .meta({ id: 'Model', description: 'A model and how it is doing.' });

export const modelsAnswer = z
  .array(modelAnswer)
  .meta({ id: 'Models', description: 'Models, the best first.' });

const flag = (standard: boolean) =>
  z
    // Python writes True and False.
    .enum(['true', 'false', 'True', 'False', '1', '0'])
    .default(standard ? 'true' : 'false')
    .transform((text) => text === '1' || text.toLowerCase() === 'true');

export const modelsQuery = z.object({
  active_only: flag(true),
  available_only: flag(false).describe('Leave out models that are cooling down.'),
  configured_only: flag(false).describe('Leave out models without a key.'),
  include_recent: flag(false),
  window_days: z.coerce.number().int().min(1).max(365).default(7),
});

export const modelParams = z.object({ id: z.coerce.number().int().min(1).max(Number.MAX_SAFE_INTEGER) });

export const modelBody = z
  .strictObject({
    name: z.string(),
    base_url: z.string().describe('Up to, and without, /chat/completions.'),
    model: z.string().optional().describe('What the provider calls it. Default: the name.'),
    provider: z.string().optional(),
    env_var: z
      .string()
      .nullish()
      .describe('The variable that holds its key; the key itself is never stored.'),
    capabilities: capabilities.partial().optional(),
    quotas: quotas.optional(),
  })
  .meta({ id: 'ModelRequest' });

/** 31 days, in seconds. */
const longestCooldown = 2_678_400;
const cooldownRange = `must be a number of seconds from 0 to ${longestCooldown}`;

export const availabilityQuery = z.object({
  // Not coerced: an empty text would become 0, which clears.
  retry_after_seconds: z
    .string(cooldownRange)
    .regex(/^\d{1,7}(\.\d{1,3})?$/, cooldownRange)
    .refine((text) => Number(text) <= longestCooldown, cooldownRange)
    .transform(Number)
    .describe(`Seconds, from 0 to ${longestCooldown}; 0 clears every cooldown of the model.`),
  reason: z.string().min(1).max(500).optional(),
});

export const activeBody = z.strictObject({ is_active: z.boolean() });

export const incrementQuery = z.object({
  response_time: z.coerce.number('must be a number of seconds').min(0).max(86_400).default(0),
});

const tally = z.object({ requests: z.number(), successes: z.number(), average_seconds: z.number() });

export const explanationAnswer = z
  .object({
    model: modelAnswer,
    score: z.object({
      long_term: tally,
      recent: tally,
      window_days: z.number(),
      reliability_score: z.number(),
      recent_reliability_score: z.number().nullable(),
      effective_score: z.number(),
      decision_reason: z.string(),
    }),
    steps: z.array(z.string()).describe("The formulas with this model's numbers in them."),
    place: z.number().int().nullable().describe('Its place among those that would be asked now; first is 1.'),
    place_reason: z.string(),
    resting_until: instant.nullable(),
    recent_attempts: z.array(
      z.object({
        request_id: z.string(),
        at: instant,
        outcome: z.string(),
        status: z.number().nullable(),
        duration_ms: z.number(),
        prompt_tokens: z.number(),
        completion_tokens: z.number(),
        caller: z.string(),
      }),
    ),
  })
  .meta({ id: 'ModelExplanation', description: 'How the score came about.' });

export const probeBody = z
  .strictObject({ ids: z.array(z.number().int().min(1)).min(1).max(1_000).optional() })
  .optional();

export const probeAnswer = z
  .object({
    probes: z.array(
      z.object({
        model: z.string(),
        outcome: z.string(),
        reason: z.string().nullable(),
        duration_ms: z.number().nullable(),
      }),
    ),
  })
  .meta({ id: 'Probes', description: 'What became of each probe.' });

export function viewOfModel(model: ModelView): z.infer<typeof modelAnswer> {
  return {
    ...(snakeCase(model) as z.infer<typeof modelAnswer>),
    available_at: isoOrNull(model.availableAt),
    cooldowns: model.cooldowns.map(({ keyId, until, cause, source, reason }) => ({
      key_id: keyId,
      until: new Date(until).toISOString(),
      cause,
      source,
      reason,
    })),
  };
}

export function viewOfExplanation(explanation: ModelExplanation): z.infer<typeof explanationAnswer> {
  const { model, restingUntil, recentAttempts, ...rest } = explanation;
  return {
    ...(snakeCase(rest) as Omit<
      z.infer<typeof explanationAnswer>,
      'model' | 'resting_until' | 'recent_attempts'
    >),
    model: viewOfModel(model),
    resting_until: restingUntil === null ? null : new Date(restingUntil).toISOString(),
    recent_attempts: recentAttempts.map((attempt) => ({
      ...(snakeCase(attempt) as z.infer<typeof explanationAnswer>['recent_attempts'][number]),
      at: new Date(attempt.at).toISOString(),
    })),
  };
}
