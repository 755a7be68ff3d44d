// The interfaces of logs and traces. Implemented by platform/telemetry (pino, OpenTelemetry).
import type { LogLevel } from './events.ts';

/** Ids, classes and numbers; content only at debug level. An Error under any key is written as class, code, message. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Never throws, never waits; every line is redacted before it leaves. `message` is constant text, facts are fields. */
export interface Log {
  /** Lines below this level are dropped. Check it before building something expensive. */
  readonly level: LogLevel;
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** The same log with these fields on every line. */
  with(fields: LogFields): Log;
}

/** For code that runs without a log. */
export const silentLog: Log = {
  level: 'error',
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  with: () => silentLog,
};

/** Ids, classes and numbers; never content, never values of queries, never secrets. */
export type SpanFacts = Readonly<Record<string, string | number | boolean>>;

export interface OpenSpan {
  /** Runs `work` inside it: spans of `work` are its children. May be called again, for a callback that lost the context. */
  run<T>(work: () => T): T;
  end(facts: SpanFacts, hasFailed: boolean): void;
}

export interface Tracer {
  /** A span that the caller ends. `headers` may have the trace of the caller (`traceparent`). */
  begin(name: string, facts: SpanFacts, headers?: Readonly<Record<string, unknown>>): OpenSpan;
  /** A span that lasts as long as `work`. */
  within<T>(name: string, facts: SpanFacts, work: () => Promise<T>): Promise<T>;
  /** A span of work that has just ended. */
  past(name: string, facts: SpanFacts, durationMs: number, hasFailed: boolean): void;
  /** Fields for log lines; null outside of any span. */
  current(): { readonly trace_id: string; readonly span_id: string } | null;
  /** Headers that continue the trace on another server (`traceparent`). Empty outside of any span. */
  headers(): Readonly<Record<string, string>>;
}

const noSpan: OpenSpan = { run: (work) => work(), end: () => undefined };

/** No traces. */
export const noTracer: Tracer = {
  begin: () => noSpan,
  within: (_name, _facts, work) => work(),
  past: () => undefined,
  current: () => null,
  headers: () => ({}),
};
