// Redis: one connection, scripts from files, clear refusals.
export { connectRedis } from './connection.ts';
export type { ConnectRedisOptions } from './connection.ts';
export type { RedisConnection, RedisState } from './connection.ts';
export { redisAddress } from './connection.ts';
export { redisScript } from './script.ts';
export type { RedisScript } from './script.ts';
export { RedisProbe } from './probe.ts';
export type { RedisProbeOptions, RedisProbeResult } from './probe.ts';
