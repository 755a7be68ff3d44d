// Redis: one connection, scripts from files, clear refusals.
export { connectRedis } from './connect-redis.ts';
export type { ConnectRedisOptions } from './connect-redis.ts';
export type { RedisConnection, RedisState } from './ports.ts';
export { redisAddress } from './redis-address.ts';
export { redisScript } from './redis-script.ts';
export type { RedisScript } from './redis-script.ts';
export { RedisProbe } from './redis-probe.ts';
export type { RedisProbeOptions, RedisProbeResult } from './redis-probe.ts';
