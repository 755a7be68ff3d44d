// Traces with OpenTelemetry, loaded only when tracing is configured.
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Attributes, Context, Span } from '@opentelemetry/api';
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources';
import type { Sampler, SpanExporter } from '@opentelemetry/sdk-trace-node';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  NodeTracerProvider,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace-node';
import { messageOf } from '../../core/errors.ts';
import type { OpenSpan, SpanFacts, Tracer } from '../../core/telemetry.ts';

type RootSampler = 'always_on' | 'always_off' | 'traceidratio';

export type SamplerName = RootSampler | `parentbased_${RootSampler}`;

export interface OtelTracerOptions {
  /** Endpoint of the exporter, with its path. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly serviceName: string;
  readonly serviceVersion: string;
  readonly resourceAttributes: Readonly<Record<string, string>>;
  readonly sampler: SamplerName;
  /** Share of traces that are kept, 0 to 1, by the samplers with `ratio`. */
  readonly samplerRatio: number;
  /** Called with the reason when spans stop arriving, and with null when they arrive again. */
  readonly onDelivery: (problem: string | null) => void;
}

const maxFlushMs = 3_000;

/** `close` sends buffered spans, within a few seconds. */
export function createOtelTracer(options: OtelTracerOptions): Tracer & { close(): Promise<void> } {
  const exporter = reportDelivery(
    new OTLPTraceExporter({
      url: options.url,
      headers: { ...options.headers },
      timeoutMillis: maxFlushMs,
    }),
    options.onDelivery,
  );
  const provider = new NodeTracerProvider({
    resource: defaultResource().merge(
      resourceFromAttributes({
        'service.version': options.serviceVersion,
        ...options.resourceAttributes,
        'service.name': options.serviceName,
      }),
    ),
    sampler: samplerOf(options),
    spanProcessors: [new BatchSpanProcessor(exporter, { exportTimeoutMillis: maxFlushMs })],
  });
  const tracer = provider.getTracer('headworks', options.serviceVersion);
  const current = new AsyncLocalStorage<Context>();
  const parent = (): Context => current.getStore() ?? ROOT_CONTEXT;

  const begin = (name: string, facts: SpanFacts, headers?: Readonly<Record<string, unknown>>): OpenSpan => {
    const from = headers ? contextOf(headers) : parent();
    const kind = headers ? SpanKind.SERVER : SpanKind.INTERNAL;
    const span = tracer.startSpan(name, { kind, attributes: attributesOf(facts) }, from);
    const inside = trace.setSpan(from, span);
    return {
      run: (work) => current.run(inside, work),
      end: (more, hasFailed) => end(span, more, hasFailed),
    };
  };

  return {
    begin,
    span: async (name, facts, work) => {
      const span = begin(name, facts);
      let hasFailed = true;
      try {
        const result = await span.run(work);
        hasFailed = false;
        return result;
      } finally {
        span.end({}, hasFailed);
      }
    },
    past: (name, facts, durationMs, hasFailed, kind) => {
      const now = Date.now();
      const span = tracer.startSpan(
        name,
        {
          attributes: attributesOf(facts),
          startTime: now - durationMs,
          kind: kind === 'client' ? SpanKind.CLIENT : SpanKind.INTERNAL,
        },
        parent(),
      );
      if (hasFailed) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end(now);
    },
    current: () => {
      const found = trace.getSpanContext(parent());
      return found ? { trace_id: found.traceId, span_id: found.spanId } : null;
    },
    headers: (): Record<string, string> => {
      const found = trace.getSpanContext(parent());
      return found ? { traceparent: `00-${found.traceId}-${found.spanId}-0${found.traceFlags & 1}` } : {};
    },
    close: () => provider.shutdown().catch(() => undefined),
  };
}

function reportDelivery(exporter: SpanExporter, onDelivery: OtelTracerOptions['onDelivery']): SpanExporter {
  let isArriving = true;
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        const arrives = result.error === undefined;
        if (arrives !== isArriving) onDelivery(arrives ? null : messageOf(result.error));
        isArriving = arrives;
        done(result);
      }),
    shutdown: () => exporter.shutdown(),
  };
}

/** The SDK's type has mutable lists; it does not change them. */
const attributesOf = (facts: SpanFacts): Attributes => facts as Attributes;

function end(span: Span, facts: SpanFacts, hasFailed: boolean): void {
  span.setAttributes(attributesOf(facts));
  if (hasFailed) span.setStatus({ code: SpanStatusCode.ERROR });
  span.end();
}

const traceparent = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/** The caller's span, as in W3C Trace Context; the root when the header is missing or malformed. */
function contextOf(headers: Readonly<Record<string, unknown>>): Context {
  const [, traceId = '', spanId = '', flags = ''] = traceparent.exec(String(headers['traceparent'])) ?? [];
  const isValid = !/^0*$/.test(traceId) && !/^0*$/.test(spanId);
  if (!isValid) return ROOT_CONTEXT;
  const traceFlags = Number.parseInt(flags, 16) & 1;
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true });
}

function samplerOf({ sampler, samplerRatio }: OtelTracerOptions): Sampler {
  const [, parentBased, name] = /^(parentbased_)?(.*)$/.exec(sampler) ?? [];
  const root =
    name === 'always_off'
      ? new AlwaysOffSampler()
      : name === 'traceidratio'
        ? new TraceIdRatioBasedSampler(samplerRatio)
        : new AlwaysOnSampler();
  return parentBased === undefined ? root : new ParentBasedSampler({ root });
}
