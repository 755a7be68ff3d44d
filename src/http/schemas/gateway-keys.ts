// Gateway keys and what was used with them.
import { z } from 'zod';
import type { GatewayKey, Usage } from '../../gateway/index.ts';
import { id, instant, isoOrNull } from './fields.ts';

export const gatewayKey = z
  .object({
    id,
    name: z.string(),
    prefix: z.string().describe('The first characters, to recognise it by.'),
    created_at: instant,
    expires_at: instant.nullable(),
    revoked_at: instant.nullable(),
    daily_token_cap: z.number().int().nullable(),
  })
  .meta({ id: 'GatewayKey', description: 'A gateway key, without the key itself.' });

export const gatewayKeys = z
  .object({ keys: z.array(gatewayKey.extend({ tokens_today: z.number().int() })) })
  .meta({ id: 'GatewayKeys', description: 'All gateway keys, revoked and expired ones too.' });

export const newGatewayKey = gatewayKey
  .extend({ key: z.string().describe('Shown here and never again.') })
  .meta({ id: 'NewGatewayKey', description: 'The new key.' });

export const gatewayKeyBody = z
  .strictObject({
    name: z.string().trim().min(1).max(100),
    expires_at: instant.optional(),
    daily_token_cap: z.number().int().min(1).max(Number.MAX_SAFE_INTEGER).optional(),
  })
  .meta({ id: 'GatewayKeyRequest' });

export const usageQuery = z.object({
  from_day: z.iso.date().optional().describe('UTC; default: today.'),
  caller: z.string().min(1).max(200).optional().describe('`admin`, `probe`, or `key:ID`.'),
});

export const usageAnswer = z
  .object({
    usage: z.array(
      z.object({
        day: z.string(),
        caller: z.string(),
        model: z.string(),
        requests: z.number(),
        prompt_tokens: z.number(),
        completion_tokens: z.number(),
      }),
    ),
  })
  .meta({ id: 'Usage', description: 'Lines of usage.' });

export function viewOfGatewayKey(key: GatewayKey): z.infer<typeof gatewayKey> {
  return {
    id: key.id,
    name: key.name,
    prefix: key.prefix,
    created_at: key.createdAt.toISOString(),
    expires_at: isoOrNull(key.expiresAt),
    revoked_at: isoOrNull(key.revokedAt),
    daily_token_cap: key.dailyTokenCap,
  };
}

export function viewOfUsage(
  { day, caller, modelId, requests, promptTokens, completionTokens }: Usage,
  nameOf: (modelId: number) => string,
): z.infer<typeof usageAnswer>['usage'][number] {
  return {
    day,
    caller,
    model: nameOf(modelId),
    requests,
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
  };
}
