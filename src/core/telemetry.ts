// Typed events, of which log lines, metrics and the live stream are consumers; and the interfaces of logs and traces,
// implemented by platform/telemetry (pino, OpenTelemetry).

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** Grows by the field `by`, else by one. */
export interface EventCounter<Payload extends object> {
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly (keyof Payload & string)[];
  /** Labels that have the same value for each event. */
  readonly fixedLabels?: Readonly<Record<string, string>>;
  /**
   * Values of `labels`, in their order, that a scrape shows as 0 before the first event. Without this, Prometheus'
   * `increase` misses the first event.
   */
  readonly knownValues?: readonly (readonly string[])[];
  readonly by?: keyof Payload & string;
}

/** One kind of event, for all consumers. `Payload` has ids, classes and numbers. */
export interface EventSpec<Payload extends object> {
  readonly level: LogLevel;
  /** Constant text, so that log lines of one kind group together. */
  readonly message: string;
  /** Fields with content: logged at debug level only, never streamed. */
  readonly content?: readonly (keyof Payload & string)[];
  /** A counter that grows with each event, or several. */
  readonly counter?: EventCounter<Payload> | readonly EventCounter<Payload>[];
  /** A histogram of one numeric field; durations are fields in milliseconds, observed in seconds. */
  readonly histogram?: {
    readonly name: string;
    readonly help: string;
    readonly field: keyof Payload & string;
    readonly labels?: readonly (keyof Payload & string)[];
    readonly buckets?: readonly number[];
  };
  /** A span of what the event reports: it ends with the event and lasted for the value of the field `duration`. */
  readonly span?: {
    readonly name: string;
    /** A field in milliseconds. */
    readonly duration: keyof Payload & string;
    /** Fields that become attributes: ids, classes and numbers. */
    readonly attributes: readonly (keyof Payload & string)[];
    readonly hasFailed?: (payload: Payload) => boolean;
  };
  /** Carries the payload's type; never set. */
  readonly _payload?: Payload;
}

export function event<Payload extends object>(spec: EventSpec<Payload>): EventSpec<Payload> {
  return spec;
}

// oxlint-disable-next-line typescript/no-explicit-any -- a set holds specs of any payload; each is typed where it is used
export type EventSpecs = Readonly<Record<string, EventSpec<any>>>;

export type PayloadOf<Spec> = Spec extends EventSpec<infer Payload> ? Payload : never;

/** What a domain gets: it can emit its own events only. */
export interface Emitter<Specs extends EventSpecs> {
  emit<Name extends keyof Specs & string>(name: Name, payload: PayloadOf<Specs[Name]>): void;
}

export interface EmittedEvent {
  readonly name: string;
  readonly spec: EventSpec<Record<string, unknown>>;
  readonly payload: Readonly<Record<string, unknown>>;
}

export type EventListener = (event: EmittedEvent) => void;

/** Whether a listener uses the events of this name; evaluated once per name. */
export type EventFilter = (name: string, spec: EmittedEvent['spec']) => boolean;

/** Hands every event to its listeners, in order. A listener that throws does not affect the others. */
export class EventBus<Specs extends EventSpecs> implements Emitter<Specs> {
  readonly specs: Specs;
  readonly #onListenerError: (error: unknown) => void;
  readonly #filters = new Map<EventListener, EventFilter>();
  /** The listeners of each event. An event without any costs 0.1 µs, and a request emits several. */
  readonly #listeners = new Map<string, readonly EventListener[]>();

  constructor(specs: Specs, onListenerError: (error: unknown) => void = () => undefined) {
    this.specs = specs;
    this.#onListenerError = onListenerError;
  }

  emit<Name extends keyof Specs & string>(name: Name, payload: PayloadOf<Specs[Name]>): void {
    const listeners = this.#listeners.get(name) ?? this.#findListeners(name);
    const spec = this.specs[name];
    if (listeners.length === 0 || !spec) return;
    const emitted: EmittedEvent = { name, spec, payload };
    for (const listener of listeners) {
      try {
        listener(emitted);
      } catch (error) {
        this.#onListenerError(error);
      }
    }
  }

  /** Listens to everything, or to what the filter selects; the returned function stops that. */
  listen(listener: EventListener, filter: EventFilter = () => true): () => void {
    this.#filters.set(listener, filter);
    this.#listeners.clear();
    return () => {
      this.#filters.delete(listener);
      this.#listeners.clear();
    };
  }

  #findListeners(name: string): readonly EventListener[] {
    const spec = this.specs[name];
    if (!spec) throw new TypeError(`There is no event "${name}".`);
    const selected = [...this.#filters].filter(([, filter]) => filter(name, spec));
    const listeners = selected.map(([listener]) => listener);
    this.#listeners.set(name, listeners);
    return listeners;
  }
}

/** What a consumer of events gets. */
export type EventSource = Pick<EventBus<EventSpecs>, 'specs' | 'listen'>;

/** The payload without its content fields, for streams and for logs above debug. */
export function withoutContent(emitted: EmittedEvent): Readonly<Record<string, unknown>> {
  const { content } = emitted.spec;
  if (content === undefined || content.length === 0) return emitted.payload;
  const hidden = new Set<string>(content);
  return Object.fromEntries(Object.entries(emitted.payload).filter(([field]) => !hidden.has(field)));
}

/** For code that runs without an event bus. */
export const silentEmitter: Emitter<EventSpecs> = { emit: () => undefined };

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
export type SpanFacts = Readonly<Record<string, string | number | boolean | readonly string[]>>;

export interface OpenSpan {
  /** Runs `work` inside it: spans of `work` are its children. May be called again, for a callback that lost the context. */
  run<T>(work: () => T): T;
  end(facts: SpanFacts, hasFailed: boolean): void;
}

export interface Tracer {
  /** A span that the caller ends. `headers` may have the trace of the caller (`traceparent`). */
  begin(name: string, facts: SpanFacts, headers?: Readonly<Record<string, unknown>>): OpenSpan;
  /** A span that lasts as long as `work`. */
  span<T>(name: string, facts: SpanFacts, work: () => Promise<T>): Promise<T>;
  /** A span of work that has just ended. `kind`: `client` for a call to another service; default: work of this one. */
  past(name: string, facts: SpanFacts, durationMs: number, hasFailed: boolean, kind?: 'client'): void;
  /** Fields for log lines; null outside of any span. */
  current(): { readonly trace_id: string; readonly span_id: string } | null;
  /** Headers that continue the trace on another server (`traceparent`). Empty outside of any span. */
  headers(): Readonly<Record<string, string>>;
}

const noSpan: OpenSpan = { run: (work) => work(), end: () => undefined };

/** No traces. */
export const noTracer: Tracer = {
  begin: () => noSpan,
  span: (_name, _facts, work) => work(),
  past: () => undefined,
  current: () => null,
  headers: () => ({}),
};
