// The interfaces of logs and traces. Implemented by platform/telemetry (pino, OpenTelemetry).
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

/** Ids, classes and numbers; never content, never values of queries, never secrets. */
export type SpanFacts = Readonly<Record<string, string | number | boolean>>;

export interface OpenSpan {
  /** Runs `work` inside it: what is traced there belongs to it. May be called again, after a callback lost its way. */
  run<T>(work: () => T): T;
  end(facts: SpanFacts, hasFailed: boolean): void;
}

export interface Tracer {
  /** A span that somebody else ends. `headers` may name the trace that it belongs to (`traceparent`). */
  begin(name: string, facts: SpanFacts, headers?: Readonly<Record<string, unknown>>): OpenSpan;
  /** A span that lasts as long as `work`. */
  within<T>(name: string, facts: SpanFacts, work: () => Promise<T>): Promise<T>;
  /** A span of something that has just ended and took so long. */
  past(name: string, facts: SpanFacts, durationMs: number, hasFailed: boolean): void;
  /** What a log line should name; null outside of any span. */
  current(): { readonly trace_id: string; readonly span_id: string } | null;
  /** For a call of another server of ours, which goes on with the same trace (`traceparent`). Empty outside of any span. */
  headers(): Readonly<Record<string, string>>;
}

const noSpan: OpenSpan = { run: (work) => work(), end: () => undefined };

/** For those who want no traces: costs nothing. */
export const noTracer: Tracer = {
  begin: () => noSpan,
  within: (_name, _facts, work) => work(),
  past: () => undefined,
  current: () => null,
  headers: () => ({}),
};
