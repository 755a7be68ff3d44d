// Traces: whether they are sent and where, and spans from events. The OpenTelemetry SDK is loaded only when they are.
// The SDK's own parsing reads the process environment; here the options of config decide, so that a configuration file works
// and header values are redacted as secrets.
import type { EmittedEvent, EventSource, Log, Tracer } from '../../core/index.ts';
import { decodeUri, noTracer, toSnakeCase } from '../../core/index.ts';
import type { TracingOptions } from './options.ts';
import type { SamplerName } from './tracer.ts';

/** `logOf` returns the log once it exists, to report spans that cannot be exported. */
export async function openTracer(
  options: TracingOptions,
  serviceVersion: string,
  closing: AsyncDisposableStack,
  logOf: () => Log | undefined,
): Promise<Tracer> {
  const url = urlOf(options);
  if (url === null || !exportersOf(options).includes('otlp')) return noTracer;
  const { createOtelTracer } = await import('./tracer.ts');
  const tracer = createOtelTracer({
    url,
    headers: { ...pairs(options.headers), ...pairs(options.tracesHeaders) },
    serviceName: options.serviceName,
    serviceVersion,
    resourceAttributes: pairs(options.resourceAttributes),
    sampler: samplerOf(options) ?? defaultSampler,
    samplerRatio: ratioOf(options) ?? 1,
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
export function tracingWarnings(options: TracingOptions): readonly string[] {
  if (urlOf(options) === null) return [];
  const exporters = exportersOf(options);
  const others = exporters.filter((name) => name !== 'otlp' && name !== 'none');
  if (!exporters.includes('otlp'))
    return others.length === 0 ? [] : [`no spans are sent: OTEL_TRACES_EXPORTER is ${others.join(', ')}`];
  const warnings = others.map((name) => `OTEL_TRACES_EXPORTER: ${name} is not supported and ignored`);
  if (options.protocol !== 'http/json')
    warnings.push(
      `spans are sent as http/json, not as OTEL_EXPORTER_OTLP_PROTOCOL says (${options.protocol})`,
    );
  if (!samplerOf(options))
    warnings.push(`OTEL_TRACES_SAMPLER ${options.sampler} is not supported; ${defaultSampler} is used`);
  if (ratioOf(options) === null && options.sampler.endsWith('ratio'))
    warnings.push(
      `OTEL_TRACES_SAMPLER_ARG is not a number from 0 to 1 (${options.samplerArg}); all traces are sampled`,
    );
  return warnings;
}

/** Null: no traces. The endpoint of all signals is a base URL; the one of traces is complete. */
function urlOf({ tracesEndpoint, endpoint, isDisabled }: TracingOptions): string | null {
  if (isDisabled) return null;
  return tracesEndpoint ?? (endpoint === null ? null : `${endpoint.replace(/\/+$/, '')}/v1/traces`);
}

const exportersOf = ({ exporter }: TracingOptions): readonly string[] =>
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

const samplerOf = ({ sampler }: TracingOptions): SamplerName | undefined =>
  samplers.find((name) => name === sampler.toLowerCase());

function ratioOf({ samplerArg }: TracingOptions): number | null {
  const ratio = Number(samplerArg);
  return ratio >= 0 && ratio <= 1 ? ratio : null;
}

/** `a=b,c=d`, percent-encoded. */
export function pairs(text: string | null): Readonly<Record<string, string>> {
  return Object.fromEntries(
    (text ?? '').split(',').flatMap((pair) => {
      const at = pair.indexOf('=');
      if (at < 1) return [];
      return [[pair.slice(0, at).trim(), decodeUri(pair.slice(at + 1).trim())]];
    }),
  );
}

/** Records a span for every event that has one, as child of the span in which it was emitted. Returns a function that stops it. */
export function traceEvents(events: Pick<EventSource, 'listen'>, tracer: Tracer): () => void {
  const trace = ({ spec: { span }, payload }: EmittedEvent): void => {
    const durationMs = span && payload[span.duration];
    if (!span || typeof durationMs !== 'number') return;
    const facts = span.attributes.flatMap((field) => {
      const value = payload[field];
      const isPlain = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
      return isPlain ? [[`headworks.${toSnakeCase(field)}`, value] as const] : [];
    });
    tracer.past(span.name, Object.fromEntries(facts), durationMs, span.hasFailed?.(payload) ?? false);
  };
  return events.listen(trace, (_name, { span }) => span !== undefined);
}
