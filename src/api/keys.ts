// Gateway keys and their usage.
import { z } from 'zod';
import { count, id, instant } from './fields.ts';
import { operation } from './operation.ts';

const requestsPerMinute = z.number().int().min(1).max(1_000_000);
const tokensPerDay = z.number().int().min(1).max(Number.MAX_SAFE_INTEGER);
const usdPerDay = z.number().min(0.0001).max(1_000_000_000);

export const GatewayKey = z
  .object({
    id,
    name: z.string().describe('Purpose of the key.'),
    prefix: z.string().describe('First characters of the key, to recognize it.'),
    created_at: instant,
    expires_at: instant.nullable().describe('Null: it does not expire.'),
    revoked_at: instant.nullable().describe('Null: not revoked.'),
    requests_per_minute: count.nullable().describe('Requests in any 60 seconds; null: unlimited.'),
    tokens_per_day: count.nullable().describe('Tokens per day, UTC; null: unlimited.'),
    usd_per_day: z
      .number()
      .nullable()
      .describe('US dollars per day, UTC, at the prices of the models; null: unlimited.'),
  })
  .meta({ id: 'GatewayKey', description: 'A gateway key, without the key itself.' });
export type GatewayKey = z.infer<typeof GatewayKey>;

const callers = '`admin`, `probe`, `key:` and the id of a key, or `org:` and the id of an organization';
const caller = z.string().describe(`Who sent it: ${callers}.`);

const usageFields = {
  requests: z.number(),
  prompt_tokens: z.number(),
  completion_tokens: z.number(),
  cost_usd: z.number().nullable().describe('US dollars of the requests whose cost is known; null: of none.'),
  unpriced_requests: z
    .number()
    .describe('Requests whose cost is unknown: their model has no price, or its endpoint no usage.'),
};

export const keysApi = {
  list: operation('GET /api/v1/keys', {
    id: 'keys.list',
    summary: 'List gateway keys, revoked and expired ones included',
    output: z
      .object({
        keys: z.array(
          GatewayKey.extend({
            tokens_today: count.describe('Tokens used today, UTC.'),
            usd_today: z
              .number()
              .describe('US dollars used today, UTC, by requests to models that have a price.'),
          }),
        ),
      })
      .meta({ id: 'GatewayKeys' }),
  }),

  create: operation('POST /api/v1/keys', {
    id: 'keys.create',
    summary: 'Create a gateway key; the key itself is returned only here',
    body: z
      .strictObject({
        name: z.string().trim().min(1).max(100).describe('Purpose of the key.'),
        expires_at: instant.optional().describe('Default: it does not expire.'),
        requests_per_minute: requestsPerMinute
          .optional()
          .describe('Requests in any 60 seconds; default: unlimited.'),
        tokens_per_day: tokensPerDay.optional().describe('Tokens per day, UTC; default: unlimited.'),
        usd_per_day: usdPerDay
          .optional()
          .describe('US dollars per day, UTC, at the prices of the models; default: unlimited.'),
      })
      .meta({ id: 'GatewayKeyRequest' }),
    status: 201,
    output: GatewayKey.extend({ key: z.string().describe('The key itself; returned only here.') }).meta({
      id: 'NewGatewayKey',
    }),
  }),

  update: operation('PATCH /api/v1/keys/:id', {
    id: 'keys.update',
    summary: 'Change the limits of a gateway key; those that are not given stay as they are',
    body: z
      .strictObject({
        requests_per_minute: requestsPerMinute
          .nullable()
          .optional()
          .describe('Requests in any 60 seconds; null: unlimited.'),
        tokens_per_day: tokensPerDay.nullable().optional().describe('Tokens per day, UTC; null: unlimited.'),
        usd_per_day: usdPerDay.nullable().optional().describe('US dollars per day, UTC; null: unlimited.'),
      })
      .refine((body) => Object.keys(body).length > 0, 'give at least one limit')
      .meta({ id: 'GatewayKeyLimits' }),
    output: GatewayKey,
  }),

  revoke: operation('DELETE /api/v1/keys/:id', {
    id: 'keys.revoke',
    summary: 'Revoke a gateway key permanently',
    output: GatewayKey,
  }),

  listUsage: operation('GET /api/v1/usage', {
    id: 'usage.list',
    tag: 'keys',
    summary: 'List requests, tokens and cost by day, caller and model',
    query: z.strictObject({
      from_day: z.iso.date().optional().describe('First day, UTC; default: today.'),
      caller: z.string().min(1).max(200).optional().describe(`Only usage of this caller: ${callers}.`),
    }),
    output: z
      .object({
        usage: z.array(
          z.object({
            day: z.string().describe('Day in UTC, like 2026-03-01.'),
            caller,
            model: z.string(),
            ...usageFields,
          }),
        ),
        totals: z
          .array(z.object({ caller, ...usageFields }))
          .describe('Sums over all days and models, by caller.'),
      })
      .meta({ id: 'Usage' }),
  }),
} as const;
