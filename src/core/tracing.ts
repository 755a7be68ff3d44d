// The port for traces. Adapter: platform/telemetry (OpenTelemetry), loaded only when somebody asks for traces.

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
