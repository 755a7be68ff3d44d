// Models as the founding document shows them, and what is done with them.
import { z } from 'zod';
import type { ModelExplanation, ModelHistory, ModelInput, ModelView } from '../../gateway/index.ts';
import { modelProblems } from '../../gateway/index.ts';
import { snakeCase, snakeName } from '../snake-case.ts';
import { instant, isoOrNull } from './fields.ts';

const capabilities = z.strictObject({
  streaming: z.boolean(),
  tools: z.boolean(),
  json: z.boolean(),
  vision: z.boolean(),
  embeddings: z.boolean(),
  context_tokens: z.number().int().min(1).nullable(),
});

const quotasOf = <Count extends z.ZodType>(count: Count) =>
  z.strictObject({
    requests_per_minute: count,
    requests_per_day: count,
    tokens_per_minute: count,
    tokens_per_day: count,
  });
const quotas = quotasOf(z.number().int().min(1).optional());

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
    key_source: z
      .string()
      .nullable()
      .describe('The variable in which its keys were found; null when it has none or needs none.'),
    needs: z
      .string()
      .nullable()
      .describe('The variables to set before it can be asked, in words; null when it is configured.'),
    available_at: instant
      .nullable()
      .describe('When it may be asked again: cooldowns are over and its quotas have room; null: now.'),
    cooldowns: z
      .array(cooldown)
      .describe(
        'Keys that are left alone now; one whose quota is used up is among them, with cause `quota`.',
      ),
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
  available_only: flag(false).describe('Leave out models that are cooling down or out of quota.'),
  configured_only: flag(false).describe('Leave out models without a key.'),
  include_recent: flag(false),
  window_days: z.coerce.number().int().min(1).max(365).default(7),
});

export const modelParams = z.object({ id: z.coerce.number().int().min(1).max(Number.MAX_SAFE_INTEGER) });

/** A whole number from 1 on. The gateway checks that: zod would say it and nothing else. */
const givenCount = z.number().meta({ type: 'integer', minimum: 1 });

const modelFields = z.strictObject({
  name: z.string(),
  base_url: z.string().describe('Up to, and without, /chat/completions.'),
  model: z
    .string()
    .optional()
    .describe(
      'What the provider calls it. Default: the name as it stands; with `provider` and a name that begins with ' +
        'it and a slash: what stands behind the slash.',
    ),
  provider: z
    .string()
    .optional()
    .describe(
      'Who runs it. Default: what stands before the first slash of the name; without one, the host of base_url.',
    ),
  env_var: z.string().nullish().describe('The variable that holds its key; the key itself is never stored.'),
  capabilities: capabilities.extend({ context_tokens: givenCount.nullable() }).partial().optional(),
  quotas: quotasOf(givenCount.optional()).optional(),
});

type ModelFields = z.infer<typeof modelFields>;

/** What the gateway would refuse is found together with wrong shapes, so that all of it is told at once. */
export const modelBody = modelFields
  .superRefine(
    (body, context) => {
      const known = new Set(context.issues.map(({ path = [] }) => path.join('.')));
      for (const { path, message } of modelProblems(modelInput(body))) {
        const names = path.map(snakeName);
        if (path.length > 0 && !known.has(names.join('.')))
          context.addIssue({ code: 'custom', path: names, message });
      }
    },
    { when: ({ value }) => typeof value === 'object' && value !== null && !Array.isArray(value) },
  )
  .meta({ id: 'ModelRequest' });

/** The body in the gateway's names. What is no object where one belongs is left as it is, to be refused. */
export function modelInput(body: ModelFields): ModelInput {
  return {
    name: body.name,
    baseUrl: body.base_url,
    model: body.model,
    provider: body.provider,
    envVar: body.env_var,
    ...(body.capabilities === undefined ? {} : { capabilities: camelCase(body.capabilities) }),
    ...(body.quotas === undefined ? {} : { quotas: camelCase(body.quotas) }),
  };
}

/** Of an object of plain values; absent and undefined differ where a default fills in. */
function camelCase(value: object): object {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const given = Object.entries(value).filter(([, item]) => item !== undefined);
  return Object.fromEntries(
    given.map(([name, item]) => [
      name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      item as unknown,
    ]),
  );
}

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
  response_time: z.coerce
    .number('must be a number of seconds')
    .min(0)
    .max(86_400)
    .optional()
    .describe('Seconds. Without it the average stays as it is.'),
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

export const historyQuery = z.strictObject({
  hours: z.coerce.number().int().min(1).max(720).default(24).describe('How far back.'),
});

export const modelHistory = z
  .object({
    since: instant,
    until: instant,
    stretch_ms: z.number().int().describe('How long a stretch is.'),
    stretches: z
      .array(
        z.object({
          at: instant.describe('When it began.'),
          requests: z.number().int(),
          successes: z.number().int(),
          average_seconds: z.number().describe('Of successful attempts.'),
        }),
      )
      .describe('Those in which it was asked, oldest first.'),
  })
  .meta({ id: 'ModelHistory', description: 'How a model did over time, counted as its score counts.' });

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

export const viewOfHistory = (history: ModelHistory): z.infer<typeof modelHistory> => ({
  since: history.since.toISOString(),
  until: history.until.toISOString(),
  stretch_ms: history.intervalMs,
  stretches: history.intervals.map(({ at, requests, successes, averageSeconds }) => ({
    at: new Date(at).toISOString(),
    requests,
    successes,
    average_seconds: averageSeconds,
  })),
});

export function viewOfExplanation(explanation: ModelExplanation): z.infer<typeof explanationAnswer> {
  const { model, position, positionReason, backoffUntil, recentAttempts, ...rest } = explanation;
  return {
    ...(snakeCase(rest) as Omit<
      z.infer<typeof explanationAnswer>,
      'model' | 'place' | 'place_reason' | 'resting_until' | 'recent_attempts'
    >),
    place: position,
    place_reason: positionReason,
    model: viewOfModel(model),
    resting_until: backoffUntil === null ? null : new Date(backoffUntil).toISOString(),
    recent_attempts: recentAttempts.map((attempt) => ({
      ...(snakeCase(attempt) as z.infer<typeof explanationAnswer>['recent_attempts'][number]),
      at: new Date(attempt.at).toISOString(),
    })),
  };
}
