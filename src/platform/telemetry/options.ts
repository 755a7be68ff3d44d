// Options of traces: the standard variables of OpenTelemetry.
import { booleanOption, defineOptions, textOption, urlOption } from '../../core/options.ts';
import type { OptionValues } from '../../core/options.ts';

export const tracingOptions = defineOptions({
  section: 'tracing',
  describe: 'OpenTelemetry traces, configured by the standard variables. Disabled without an endpoint.',
  fields: {
    endpoint: urlOption({
      describe: 'OTLP endpoint of a collector (HTTP, JSON); /v1/traces is appended.',
      env: 'OTEL_EXPORTER_OTLP_ENDPOINT',
      default: null,
      defaultText: 'no traces',
      schemes: ['http', 'https'],
    }),
    tracesEndpoint: urlOption({
      describe: 'OTLP endpoint for traces only, used as is.',
      env: 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
      default: null,
      defaultText: 'the endpoint above',
      schemes: ['http', 'https'],
    }),
    exporter: textOption({
      describe: 'Traces are sent if "otlp" is in this list; other exporters are ignored with a warning.',
      env: 'OTEL_TRACES_EXPORTER',
      default: 'otlp',
    }),
    protocol: textOption({
      describe:
        'Protocol of the collector. Only http/json is supported; any other is ignored with a warning.',
      env: 'OTEL_EXPORTER_OTLP_PROTOCOL',
      default: 'http/json',
    }),
    headers: textOption({
      describe: 'Headers for the collector, like x-region=eu,tenant=me; percent-encoded.',
      env: 'OTEL_EXPORTER_OTLP_HEADERS',
      default: null,
      defaultText: 'none',
      secret: true,
    }),
    tracesHeaders: textOption({
      describe: 'Headers for traces only; they override headers of the same name.',
      env: 'OTEL_EXPORTER_OTLP_TRACES_HEADERS',
      default: null,
      defaultText: 'none',
      secret: true,
    }),
    serviceName: textOption({
      describe: 'Service name in traces.',
      env: 'OTEL_SERVICE_NAME',
      default: 'headworks',
    }),
    resourceAttributes: textOption({
      describe: 'Resource attributes, like deployment.environment=test,host.name=a.',
      env: 'OTEL_RESOURCE_ATTRIBUTES',
      default: null,
      defaultText: 'none',
    }),
    sampler: textOption({
      describe:
        'Sampler: always_on, always_off or traceidratio, each also with the prefix parentbased_. ' +
        'Any other is replaced by the default with a warning.',
      env: 'OTEL_TRACES_SAMPLER',
      default: 'parentbased_always_on',
    }),
    samplerArg: textOption({
      describe: 'Sampled share of traces for ratio samplers, 0 to 1.',
      env: 'OTEL_TRACES_SAMPLER_ARG',
      default: '1',
    }),
    isDisabled: booleanOption({
      describe: 'Disable traces.',
      env: 'OTEL_SDK_DISABLED',
      default: false,
    }),
  },
});

export type TracingOptions = OptionValues<typeof tracingOptions.fields>;
