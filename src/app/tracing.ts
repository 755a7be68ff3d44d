// Traces, configured by the standard variables of OpenTelemetry.
import type { Config } from '../config/index.ts';
import { version } from '../config/version.ts';
import type { EventListener, Log, SpanFacts, Tracer } from '../core/index.ts';
import { noTracer } from '../core/index.ts';
import type { SamplerName } from '../platform/telemetry/tracer.ts';
import type { ExtractionEvents } from '../extraction/index.ts';
import type { GatewayEvents } from '../gateway/index.ts';
import type { AdmissionEvents } from '../tenancy/index.ts';

type Tracing = Config['tracing'];

/**
 * Loads nothing while no endpoint is set. `logOf` returns the log once it exists, to report spans that cannot be
 * exported.
 */
export async function openTracer(
  { tracing }: Pick<Config, 'tracing'>,
  closing: AsyncDisposableStack,
  logOf: () => Log | undefined,
): Promise<Tracer> {
  const url = urlOf(tracing);
  if (url === null || !exportersOf(tracing).includes('otlp')) return noTracer;
  const { createOtelTracer } = await import('../platform/telemetry/tracer.ts');
  const tracer = createOtelTracer({
    url,
    headers: { ...pairs(tracing.headers), ...pairs(tracing.tracesHeaders) },
    serviceName: tracing.serviceName,
    serviceVersion: version,
    resourceAttributes: pairs(tracing.resourceAttributes),
    sampler: samplerOf(tracing) ?? defaultSampler,
    samplerRatio: ratioOf(tracing) ?? 1,
    onDelivery: (problem) => {
      if (problem === null) logOf()?.info('spans reach the collector again');
      else logOf()?.warn('spans do not reach the collector, and are dropped', { url, problem });
    },
  });
  closing.defer(() => tracer.close());
  return tracer;
}

/**
 * Settings that are not supported. They are warnings, not errors: these variables are shared by all programs of the
 * machine. Without an endpoint there are none.
 */
export function tracingWarnings({ tracing }: Pick<Config, 'tracing'>): readonly string[] {
  if (urlOf(tracing) === null) return [];
  const exporters = exportersOf(tracing);
  const others = exporters.filter((name) => name !== 'otlp' && name !== 'none');
  if (!exporters.includes('otlp'))
    return others.length === 0 ? [] : [`no spans are sent: OTEL_TRACES_EXPORTER is ${others.join(', ')}`];
  return [
    ...others.map((name) => `OTEL_TRACES_EXPORTER: ${name} is not supported and ignored`),
    ...(tracing.protocol === 'http/json'
      ? []
      : [`spans are sent as http/json, not as OTEL_EXPORTER_OTLP_PROTOCOL says (${tracing.protocol})`]),
    ...(samplerOf(tracing)
      ? []
      : [`OTEL_TRACES_SAMPLER ${tracing.sampler} is not supported; ${defaultSampler} is used`]),
    ...(ratioOf(tracing) === null && tracing.sampler.endsWith('ratio')
      ? [
          `OTEL_TRACES_SAMPLER_ARG is not a number from 0 to 1 (${tracing.samplerArg}); all traces are sampled`,
        ]
      : []),
  ];
}

/** Null: no traces. */
const urlOf = ({ tracesEndpoint, endpoint, isDisabled }: Tracing): string | null =>
  isDisabled ? null : (tracesEndpoint ?? withPath(endpoint));

const exportersOf = ({ exporter }: Tracing): readonly string[] =>
  exporter.split(',').map((name) => name.trim().toLowerCase());

const defaultSampler: SamplerName = 'parentbased_always_on';

const samplers: readonly SamplerName[] = [
  'always_on',
  'always_off',
  'traceidratio',
  defaultSampler,
  'parentbased_always_off',
  'parentbased_traceidratio',
];

const samplerOf = ({ sampler }: Tracing): SamplerName | undefined =>
  samplers.find((name) => name === sampler.toLowerCase());

function ratioOf({ samplerArg }: Tracing): number | null {
  const ratio = Number(samplerArg);
  return ratio >= 0 && ratio <= 1 ? ratio : null;
}

/** The endpoint of all signals is a base URL; the one of traces is complete. */
const withPath = (endpoint: string | null): string | null =>
  endpoint === null ? null : `${endpoint.replace(/\/+$/, '')}/v1/traces`;

/** `a=b,c=d`, percent-encoded. */
export function pairs(text: string | null): Readonly<Record<string, string>> {
  return Object.fromEntries(
    (text ?? '').split(',').flatMap((pair) => {
      const at = pair.indexOf('=');
      if (at < 1) return [];
      return [[pair.slice(0, at).trim(), decoded(pair.slice(at + 1).trim())]];
    }),
  );
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

interface Listenable {
  listen(listener: EventListener): () => void;
}

interface SpanSpec {
  readonly name: string;
  /** Payload field with the duration in milliseconds. */
  readonly duration: string;
  /** Payload fields that become attributes: ids, classes and numbers. */
  readonly facts: readonly string[];
  readonly hasFailed?: (payload: Readonly<Record<string, unknown>>) => boolean;
}

const decision: SpanSpec = {
  name: 'admission decision',
  duration: 'decisionMs',
  facts: ['organizationId', 'executionId', 'decider', 'reason'],
};

const spans: Partial<Record<keyof AdmissionEvents | keyof GatewayEvents | keyof ExtractionEvents, SpanSpec>> =
  {
    'gateway:attempt-finished': {
      name: 'model attempt',
      duration: 'durationMs',
      facts: ['requestId', 'model', 'outcome', 'status', 'promptTokens', 'completionTokens'],
      hasFailed: ({ outcome }) => outcome !== 'success',
    },
    'admission:request-admitted': decision,
    'admission:request-rejected': decision,
    'extraction:call': {
      name: 'source call',
      duration: 'durationMs',
      facts: ['session', 'type', 'outcome'],
      hasFailed: ({ outcome }) => outcome !== 'answered',
    },
  };

/** Turns events with a duration into spans, children of the span in which the event was emitted. Returns a function that stops it. */
export function traceEvents(events: Listenable, tracer: Tracer): () => void {
  return events.listen(({ name, payload }) => {
    const spec = spans[name as keyof typeof spans];
    if (!spec) return;
    const durationMs = payload[spec.duration];
    if (typeof durationMs !== 'number') return;
    tracer.past(spec.name, factsOf(payload, spec.facts), durationMs, spec.hasFailed?.(payload) ?? false);
  });
}

function factsOf(payload: Readonly<Record<string, unknown>>, fields: readonly string[]): SpanFacts {
  return Object.fromEntries(
    fields.flatMap((field) => {
      const value = payload[field];
      const isPlain = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
      return isPlain ? [[`headworks.${snake(field)}`, value]] : [];
    }),
  );
}

const snake = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
