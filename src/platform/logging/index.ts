// Logging: lines, and the listener that makes them from events.
export { createLogger } from './create-logger.ts';
export type { LogDestination, LoggerOptions } from './create-logger.ts';
export { logEvents } from './log-events.ts';
