// Traces, if the standard variables of OpenTelemetry ask for them.
import type { Config } from '../config/index.ts';
import { version } from '../config/version.ts';
import type { Log, Tracer } from '../core/index.ts';
import { noTracer } from '../core/index.ts';
import type { SamplerName } from '../platform/telemetry/otel-tracer.ts';

type Tracing = Config['tracing'];

/**
 * Loads nothing, and costs nothing, while no endpoint is set. `logOf` gives the log once there is one, to say when spans
 * do not arrive.
 */
export async function openTracer(
  { tracing }: Pick<Config, 'tracing'>,
  closing: AsyncDisposableStack,
  logOf: () => Log | undefined,
): Promise<Tracer> {
  const url = urlOf(tracing);
  if (url === null || !exportersOf(tracing).includes('otlp')) return noTracer;
  const { createOtelTracer } = await import('../platform/telemetry/otel-tracer.ts');
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
 * What somebody asked for and does not get. Nothing of it is refused: these variables are everybody's, and may be meant
 * for other programs of the machine; without an endpoint nothing is said either.
 */
export function tracingWarnings({ tracing }: Pick<Config, 'tracing'>): readonly string[] {
  if (urlOf(tracing) === null) return [];
  const exporters = exportersOf(tracing);
  const others = exporters.filter((name) => name !== 'otlp' && name !== 'none');
  if (!exporters.includes('otlp'))
    return others.length === 0 ? [] : [`no spans are sent: OTEL_TRACES_EXPORTER is ${others.join(', ')}`];
  return [
    ...others.map((name) => `OTEL_TRACES_EXPORTER: ${name} is not known here, and left out`),
    ...(tracing.protocol === 'http/json'
      ? []
      : [`spans are sent as http/json, not as OTEL_EXPORTER_OTLP_PROTOCOL says (${tracing.protocol})`]),
    ...(samplerOf(tracing)
      ? []
      : [`OTEL_TRACES_SAMPLER ${tracing.sampler} is not known here; ${defaultSampler} is taken`]),
    ...(ratioOf(tracing) === null && tracing.sampler.endsWith('ratio')
      ? [`OTEL_TRACES_SAMPLER_ARG is no number from 0 to 1 (${tracing.samplerArg}); all traces are kept`]
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

/** The endpoint for all signals is a base; the one for traces is taken as it is. */
const withPath = (endpoint: string | null): string | null =>
  endpoint === null ? null : `${endpoint.replace(/\/+$/, '')}/v1/traces`;

/** `a=b,c=d`, percent-encoded, as the variables have it. */
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
