// Gateway keys as people handle them, and what was used with them.
import type { KeyService } from '../desk-ports.ts';
import { GatewayError } from '../errors.ts';
import type { GatewayKeys, UsageTracker } from '../state/index.ts';
import { callerOfKey } from '../state/index.ts';

export function createKeyService(keys: GatewayKeys, usage: UsageTracker): KeyService {
  return {
    create: (input) => keys.create(input),
    list: async () =>
      keys.list().map((key) => ({ ...key, tokensToday: usage.usedToday(callerOfKey(key.id)) })),
    revoke: (id) => keys.revoke(id),
    usage: (filter) => usage.list(filter),
  };
}

const dayMs = 86_400_000;

/** Throws GATEWAY_TOKEN_CAP_EXCEEDED when the caller is a key that has used up its tokens of today. */
export function refuseOverCap(keys: GatewayKeys, usage: UsageTracker, caller: string, now: number): void {
  const key = caller.startsWith('key:') ? keys.byId(caller.slice(4)) : undefined;
  if (!key || !usage.overCap(key)) return;
  throw new GatewayError(
    'GATEWAY_TOKEN_CAP_EXCEEDED',
    `The key "${key.name}" has used its ${key.dailyTokenCap} tokens of today; it works again after midnight UTC.`,
    { isRetryable: true, retryAfterMs: dayMs - (now % dayMs) },
  );
}
