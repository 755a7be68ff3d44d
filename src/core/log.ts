// The port for log lines. Adapter: platform/logging (pino). Most lines come from events; this is for the rest.
import type { LogLevel } from './events.ts';

/** Ids, classes and numbers; content only at debug level. An Error under any key is written as class, code, message. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Never throws, never waits; every line is redacted before it leaves. `message` is constant text, facts are fields. */
export interface Log {
  /** Lines below this level are dropped. Ask before building something expensive. */
  readonly level: LogLevel;
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** The same log with these fields on every line. */
  with(fields: LogFields): Log;
}

/** For code that runs without anybody reading. */
export const silentLog: Log = {
  level: 'error',
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  with: () => silentLog,
};
