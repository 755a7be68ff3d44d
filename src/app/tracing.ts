// Traces, if the standard variables of OpenTelemetry ask for them.
import type { Config } from '../config/index.ts';
import type { Log, Tracer } from '../core/index.ts';
import { noTracer } from '../core/index.ts';
import { version } from './version.ts';

/**
 * Loads nothing, and costs nothing, while no endpoint is set. `logOf` gives the log once there is one, to say when spans
 * do not arrive.
 */
export async function openTracer(
  { tracing }: Pick<Config, 'tracing'>,
  closing: AsyncDisposableStack,
  logOf: () => Log | undefined,
): Promise<Tracer> {
  const url = tracing.tracesEndpoint ?? withPath(tracing.endpoint);
  if (url === null || tracing.isDisabled || tracing.exporter === 'none') return noTracer;
  const { createOtelTracer } = await import('../platform/telemetry/otel-tracer.ts');
  const tracer = createOtelTracer({
    url,
    headers: pairs(tracing.headers),
    serviceName: tracing.serviceName,
    serviceVersion: version,
    resourceAttributes: pairs(tracing.resourceAttributes),
    sampler: tracing.sampler,
    samplerRatio: tracing.samplerRatio,
    onDelivery: (problem) => {
      if (problem === null) logOf()?.info('spans reach the collector again');
      else logOf()?.warn('spans do not reach the collector, and are dropped', { url, problem });
    },
  });
  closing.defer(() => tracer.close());
  return tracer;
}

/** What somebody asked for and does not get; null when there is nothing to say. */
export function protocolWarning({ tracing }: Pick<Config, 'tracing'>, tracer: Tracer): string | null {
  if (tracer === noTracer || tracing.protocol === 'http/json') return null;
  return `spans are sent as http/json, not as OTEL_EXPORTER_OTLP_PROTOCOL says (${tracing.protocol})`;
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
