// Extracts from a registered source in the server: its settings over the server's, its secrets from the environment.
import { join } from 'node:path';
import type { Config } from '../config/index.ts';
import type { EmittedEvent } from '../core/index.ts';
import { CoreError, EventBus, noTracer, systemClock } from '../core/index.ts';
import type { ExtractionSource, ExtractSource } from '../extraction/index.ts';
import { effectiveOptions, extractionEvents } from '../extraction/index.ts';
import { countEvents } from '../platform/telemetry/metrics.ts';
import type { Environment } from './extraction-environment.ts';
import type { SourceChoice } from './extract.ts';
import { extract } from './extract.ts';
import type { Telemetry } from './telemetry.ts';
import { vaultsFolder } from '../platform/data-folder/files.ts';
import { traceEvents } from './tracing.ts';

export interface ExtractRegisteredDeps {
  readonly config: Config;
  readonly telemetry: Telemetry;
  /** Where secrets are. */
  readonly env: Environment;
}

export function extractRegistered({ config, telemetry, env }: ExtractRegisteredDeps): ExtractSource {
  const { redactor, metrics, log, tracer } = telemetry;
  // Counted, but not streamed: a fast run tells of thousands of pages a second.
  const counted = new EventBus(extractionEvents, () => systemClock.now());
  countEvents(counted, metrics);
  if (tracer !== noTracer) traceEvents(counted, tracer);
  return async (source, { fresh, retryFailed, signal, onEvent }) =>
    extract(configFor(source, config, env, retryFailed), choiceOf(source), {
      fresh,
      signal,
      env,
      onSecret: (secret) => redactor.add(secret),
      onEvent: (emitted: EmittedEvent) => {
        const { name, payload, spec } = emitted;
        counted.emit(name as keyof typeof extractionEvents, payload);
        if (spec.level === 'warn' || spec.level === 'error')
          log[spec.level](spec.message, { source: source.name, ...payload });
        onEvent(emitted);
      },
    });
}

function choiceOf({ name, settings }: ExtractionSource): SourceChoice {
  if (settings.kind === 'looker') return { kind: 'looker' };
  return { kind: 'rest', file: `the source ${name}`, text: settings.definition };
}

function configFor(
  { settings, options, vault }: ExtractionSource,
  config: Config,
  env: Environment,
  retryFailed: boolean,
): Config {
  const valueOf = (variable: string): string => {
    // The server may have these two by other names, or from its file.
    const { clientId, clientSecret } = config.looker;
    const set =
      variable === 'LOOKER_CLIENT_ID'
        ? clientId
        : variable === 'LOOKER_CLIENT_SECRET'
          ? clientSecret
          : env[variable];
    if (set) return set;
    throw new CoreError('CONFIG_INVALID', `The environment variable ${variable} is not set in the server.`);
  };
  return {
    ...config,
    extraction: {
      ...effectiveOptions(options, config.extraction),
      retryFailed,
      vault: join(vaultsFolder(config.data.folder), vault),
    },
    ...(settings.kind === 'looker'
      ? {
          looker: {
            baseUrl: settings.baseUrl,
            clientId: valueOf(settings.clientIdVariable),
            clientSecret: valueOf(settings.clientSecretVariable),
          },
        }
      : {}),
  };
}
