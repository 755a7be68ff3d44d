// Core: what everything else is written in terms of. No I/O.
export * from './abort.ts';
export * from './access-keys.ts';
export type { Clock } from './clock.ts';
export { parseCron } from './cron.ts';
export type { Cron } from './cron.ts';
export * from './errors.ts';
export * from './events.ts';
export * from './http.ts';
export * from './ids.ts';
export * from './jobs.ts';
export * from './log.ts';
export { nearNames } from './near-names.ts';
export * from './options.ts';
export * from './plain-value.ts';
export * from './random.ts';
export { Redactor } from './redactor.ts';
export * from './system.ts';
export { VirtualClock } from './virtual-clock.ts';
