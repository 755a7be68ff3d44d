// Gateway keys and their usage.
import { z } from 'zod';
import { count, id, instant } from './fields.ts';
import { operation } from './operation.ts';

export const GatewayKey = z
  .object({
    id,
    name: z.string().describe('Purpose of the key.'),
    prefix: z.string().describe('First characters of the key, to recognize it.'),
    created_at: instant,
    expires_at: instant.nullable().describe('Null: it does not expire.'),
    revoked_at: instant.nullable().describe('Null: not revoked.'),
    daily_token_cap: count.nullable().describe('Tokens per day, UTC; null: unlimited.'),
  })
  .meta({ id: 'GatewayKey', description: 'A gateway key, without the key itself.' });
export type GatewayKey = z.infer<typeof GatewayKey>;

export const keysApi = {
  list: operation('GET /api/v1/keys', {
    id: 'keys.list',
    summary: 'List gateway keys, revoked and expired ones included',
    output: z
      .object({
        keys: z.array(GatewayKey.extend({ tokens_today: count.describe('Tokens used today, UTC.') })),
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
        daily_token_cap: z
          .number()
          .int()
          .min(1)
          .max(Number.MAX_SAFE_INTEGER)
          .optional()
          .describe('Tokens per day, UTC; default: unlimited.'),
      })
      .meta({ id: 'GatewayKeyRequest' }),
    status: 201,
    output: GatewayKey.extend({ key: z.string().describe('The key itself; returned only here.') }).meta({
      id: 'NewGatewayKey',
    }),
  }),

  revoke: operation('DELETE /api/v1/keys/:id', {
    id: 'keys.revoke',
    summary: 'Revoke a gateway key permanently',
    output: GatewayKey,
  }),

  listUsage: operation('GET /api/v1/usage', {
    id: 'usage.list',
    tag: 'keys',
    summary: 'List requests and tokens by day, caller and model',
    query: z.strictObject({
      from_day: z.iso.date().optional().describe('First day, UTC; default: today.'),
      caller: z
        .string()
        .min(1)
        .max(200)
        .optional()
        .describe('Only usage of this caller: `admin`, `probe`, or `key:` and the id of a key.'),
    }),
    output: z
      .object({
        usage: z.array(
          z.object({
            day: z.string().describe('Day in UTC, like 2026-03-01.'),
            caller: z.string().describe('`admin`, `probe`, or `key:` and the id of a key.'),
            model: z.string(),
            requests: z.number(),
            prompt_tokens: z.number(),
            completion_tokens: z.number(),
          }),
        ),
      })
      .meta({ id: 'Usage' }),
  }),
} as const;
