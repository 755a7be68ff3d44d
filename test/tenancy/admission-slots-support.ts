// Redis slots for tests: a store with its own keys, and time that is advanced by making its entries older.
import { randomBytes } from 'node:crypto';
import { RedisSlotStore } from '../../src/tenancy/admission/redis/redis-slot-store.ts';
import { slotStoreSettings } from '../support/tenancy/slot-store-world.contract.ts';
import type { SlotStoreWorld } from '../support/tenancy/slot-store-world.contract.ts';
import type { RedisConnection } from '../../src/platform/redis/connection.ts';

/** The clock of Redis cannot be set, so every score and every time to live is changed instead. */
const makeOlder = `
local seconds, prefix = tonumber(ARGV[1]), ARGV[2]
local names = redis.call('SMEMBERS', prefix .. 'api_deployment:rate_limit:organizations')
local sets = { prefix .. 'api_deployment:rate_limit:global', prefix .. 'api_deployment:rate_limit:servers' }
for _, name in ipairs(names) do
  sets[#sets + 1] = prefix .. 'api_deployment:rate_limit:org:' .. name
  local limit = prefix .. 'rate_limit:cache:org_limit:' .. name
  local left = redis.call('PTTL', limit)
  if left > 0 then redis.call('PEXPIRE', limit, left - seconds * 1000) end
end
for _, set in ipairs(sets) do
  for _, member in ipairs(redis.call('ZRANGE', set, 0, -1)) do redis.call('ZINCRBY', set, -seconds, member) end
end`;

/** Keys of `redis` under a prefix of the world's own: what is stored expires by itself or is left to the test server. */
export function slotWorld(
  redis: RedisConnection,
): SlotStoreWorld & { readonly key: (name: string) => string } {
  const prefix = `${randomBytes(4).toString('hex')}:`;
  const key = (name: string) => redis.key(prefix + name);
  const scoped: RedisConnection = {
    state: 'up',
    address: redis.address,
    key,
    run: (...call) => redis.run(...call),
    command: (...call) => redis.command(...call),
    ping: () => redis.ping(),
    onStateChange: (listener) => redis.onStateChange(listener),
    close: () => Promise.resolve(),
  };
  return {
    store: new RedisSlotStore({ redis: scoped, ...slotStoreSettings }),
    key,
    async advance(ms) {
      await redis.command('eval', [makeOlder, 0, ms / 1_000, key('')]);
    },
  };
}
