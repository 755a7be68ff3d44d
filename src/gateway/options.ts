// Settings of the gateway. Variables without the prefix HEADWORKS_ are the founding document's.
import type { OptionValues } from '../core/index.ts';
import { choiceOption, defineOptions, numberOption, parseJson } from '../core/index.ts';
import type { OptionSpec, Parsed } from '../core/options.ts';
import { checkModelDefinition } from './models/model-definition.ts';
import type { ModelDefinition } from './types.ts';

const allowedModels = 'a list of models with name, baseUrl and, if it needs a key, envVar';

/** Models in headworks.yaml, or as JSON in the environment. */
export const modelsOption: OptionSpec<readonly ModelDefinition[]> = {
  describe:
    'Your models in addition to the built-in ones: name, baseUrl, and optionally model, provider, envVar, headers, capabilities, quotas. In the environment: the same as JSON.',
  env: ['HEADWORKS_GATEWAY_MODELS'],
  default: [],
  allowed: allowedModels,
  secret: false,
  parse: (raw) => {
    const list = typeof raw === 'string' ? parseJson(raw) : raw;
    return Array.isArray(list) ? parseModels(list) : { problem: `must be ${allowedModels}` };
  },
};

export const gatewayOptions = defineOptions({
  section: 'gateway',
  describe: 'AI models: routing, timeouts, cooldowns, probes.',
  fields: {
    maxRetries: numberOption({
      describe: 'Extra attempts per model and request after transient failures (5xx, timeout, network).',
      env: 'MAX_RETRIES',
      default: 10,
      min: 0,
      max: 100,
    }),
    retryDelaySeconds: secondsOption({
      describe: 'Wait before each round of extra attempts.',
      env: 'RETRY_DELAY_SECONDS',
      default: 10,
      max: 600,
      min: 0,
    }),
    retryOrder: choiceOption({
      describe:
        'rounds: call every model once before retrying any; model-first: all attempts of one model, then the next.',
      env: 'RETRY_ORDER',
      default: 'rounds',
      choices: ['rounds', 'model-first'],
    }),
    rateLimitDefaultCooldownSeconds: numberOption({
      describe: 'Cooldown of a key after a 429 without a retry hint.',
      env: 'RATE_LIMIT_DEFAULT_COOLDOWN',
      default: 3600,
      min: 1,
      max: 2_678_400,
    }),
    requestTimeoutSeconds: secondsOption({
      describe: 'Deadline of a request, all attempts and waits together; x-headworks-timeout overrides it.',
      env: 'REQUEST_TIMEOUT_SECONDS',
      default: 120,
      min: 1,
      max: 3_600,
    }),
    waitForModelSeconds: secondsOption({
      describe:
        'Wait up to this long for the first model to become available; 0 responds with 429 or 503 at once.',
      env: 'HEADWORKS_GATEWAY_WAIT_FOR_MODEL_SECONDS',
      default: 0,
      min: 0,
      max: 3_600,
    }),
    connectTimeoutSeconds: secondsOption({
      describe: 'Timeout of one attempt for the connection.',
      env: 'HEADWORKS_GATEWAY_CONNECT_TIMEOUT_SECONDS',
      default: 5,
      max: 60,
    }),
    firstTokenTimeoutSeconds: secondsOption({
      describe: 'Timeout of one streamed attempt for its first content.',
      env: 'HEADWORKS_GATEWAY_FIRST_TOKEN_TIMEOUT_SECONDS',
      default: 20,
      max: 600,
    }),
    responseTimeoutSeconds: secondsOption({
      describe: 'Timeout of one attempt without streaming for its whole response.',
      env: 'HEADWORKS_GATEWAY_RESPONSE_TIMEOUT_SECONDS',
      default: 60,
      max: 600,
    }),
    idleTimeoutSeconds: secondsOption({
      describe: 'Timeout between two chunks of a response.',
      env: 'HEADWORKS_GATEWAY_IDLE_TIMEOUT_SECONDS',
      default: 20,
      max: 600,
    }),
    healthCheckIntervalSeconds: numberOption({
      describe: 'Interval between probes of configured models that are not cooling down; 0: no probes.',
      env: 'HEALTH_CHECK_INTERVAL',
      default: 3600,
      min: 0,
      max: 604_800,
    }),
    scoreWindowDays: numberOption({
      describe: 'Days that count as recent in scores.',
      env: 'HEADWORKS_GATEWAY_SCORE_WINDOW_DAYS',
      default: 7,
      min: 1,
      max: 365,
    }),
    maxBodyBytes: numberOption({
      describe: 'Maximum size of a request body to /v1, images included.',
      env: 'HEADWORKS_GATEWAY_MAX_BODY_BYTES',
      default: 20_971_520,
      min: 1_024,
      max: 1_073_741_824,
    }),
    maxResponseBytes: numberOption({
      describe: 'Maximum size of a response without streaming; larger ones count as invalid.',
      env: 'HEADWORKS_GATEWAY_MAX_RESPONSE_BYTES',
      default: 33_554_432,
      min: 1_024,
      max: 1_073_741_824,
    }),
    models: modelsOption,
  },
});

export type GatewayOptions = OptionValues<typeof gatewayOptions.fields>;

function secondsOption({
  min = 0.1,
  ...rest
}: {
  readonly describe: string;
  readonly env: string;
  readonly default: number;
  readonly max: number;
  readonly min?: number;
}): OptionSpec<number> {
  return numberOption({ ...rest, min, integer: false });
}

function parseModels(list: readonly unknown[]): Parsed<readonly ModelDefinition[]> {
  const models: ModelDefinition[] = [];
  const problems: string[] = [];
  for (const [index, item] of list.entries()) {
    const checked = checkModelDefinition(item);
    if ('problems' in checked)
      problems.push(`model ${index + 1}${nameIn(item)}: ${checked.problems.join(', ')}`);
    else if (models.some(({ name }) => name === checked.value.name))
      problems.push(`model ${index + 1}: the name ${checked.value.name} is used twice`);
    else models.push(checked.value);
  }
  return problems.length > 0 ? { problem: `must be corrected (${problems.join('; ')})` } : { value: models };
}

/** ` (acme/large)`, if it has a name. */
function nameIn(item: unknown): string {
  const name: unknown = (item as { readonly name?: unknown } | null | undefined)?.name;
  return typeof name === 'string' && name !== '' ? ` (${name.slice(0, 100)})` : '';
}
