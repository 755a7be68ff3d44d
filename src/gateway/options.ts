// Settings of the gateway. Variables without the prefix HEADWORKS_ are the founding document's.
import type { OptionValues } from '../core/index.ts';
import {
  booleanOption,
  choiceOption,
  defineOptions,
  listOption,
  numberOption,
  parseJson,
} from '../core/index.ts';
import type { OptionSpec, Parsed } from '../core/options.ts';
import { autoModel } from './dialects/dialect.ts';
import { asObject, objectsIn } from './dialects/json.ts';
import type { ConfiguredProvider } from './models/catalog.ts';
import { checkModelDefinition } from './models/model-definition.ts';
import { checkProviderDefinition } from './models/provider-definition.ts';
import type { ModelDefinition } from './types.ts';

/** As in `model-definition.ts`; names at providers are similar. */
const namePattern = /^[A-Za-z0-9@][\w.:/@+-]{0,199}$/;

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

const allowedProviders = 'a list of providers with name, baseUrl and, if it needs a key, envVar';

/** Providers in headworks.yaml, or as JSON in the environment. */
const providersOption: OptionSpec<readonly ConfiguredProvider[]> = {
  describe:
    'Your providers in addition to the built-in ones, whose models are discovered: name, baseUrl, and optionally envVar, apis, keyHeader, headers, isLocal, embeddings, supports, models, discovery. The name of a built-in provider changes that one. In the environment: the same as JSON.',
  env: ['HEADWORKS_GATEWAY_PROVIDERS'],
  default: [],
  allowed: allowedProviders,
  secret: false,
  parse: (raw) => {
    const list = typeof raw === 'string' ? parseJson(raw) : raw;
    return Array.isArray(list) ? parseProviders(list) : { problem: `must be ${allowedProviders}` };
  },
};

/** Names in one request, and in one alias: each is looked up among all models. */
export const maxNames = 32;

export interface Alias {
  /** What callers send as `model`. */
  readonly name: string;
  /** What it stands for, in order. */
  readonly models: readonly string[];
}

const allowedAliases = 'names with the models they stand for, separated by commas';

/** Aliases in headworks.yaml, or as JSON in the environment. */
const aliasesOption: OptionSpec<readonly Alias[]> = {
  describe:
    'Names that callers may send as model, each with a model or several separated by commas (auto: all others). An alias takes precedence over a model of that name. In the environment: the same as JSON.',
  env: ['HEADWORKS_GATEWAY_ALIASES'],
  default: [],
  allowed: allowedAliases,
  secret: false,
  parse: (raw) => {
    const given = typeof raw === 'string' ? parseJson(raw) : raw;
    const isMapping =
      typeof given === 'object' && given !== null && (!Array.isArray(given) || given.length === 0);
    return isMapping ? parseAliases(given) : { problem: `must be ${allowedAliases}` };
  },
};

const maxCooldownSeconds = 2_678_400;
const allowedSteps = `seconds, each from 1 to ${maxCooldownSeconds}, separated by commas`;

const cooldownStepsOption: OptionSpec<readonly number[]> = {
  describe:
    'Cooldowns of a key after the first, second, … 429 in a row without a retry hint, for example 10,60,600,3600; the last is repeated, a success starts over. Default: always RATE_LIMIT_DEFAULT_COOLDOWN.',
  env: ['HEADWORKS_GATEWAY_RATE_LIMIT_COOLDOWN_STEPS'],
  default: [],
  allowed: allowedSteps,
  secret: false,
  parse: (raw) => {
    const parts = typeof raw === 'string' ? raw.split(',').map((part) => part.trim()) : raw;
    if (!Array.isArray(parts)) return { problem: `must be ${allowedSteps}` };
    const steps = parts.map((part) => (part === '' ? Number.NaN : Number(part)));
    const areValid = steps.every((step) => step >= 1 && step <= maxCooldownSeconds);
    return areValid ? { value: steps } : { problem: `must be ${allowedSteps}` };
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
      describe: 'Cooldown of a key after a 429 without a retry hint, unless rateLimitCooldownSteps is set.',
      env: 'RATE_LIMIT_DEFAULT_COOLDOWN',
      default: 3600,
      min: 1,
      max: maxCooldownSeconds,
    }),
    rateLimitCooldownSteps: cooldownStepsOption,
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
      describe:
        'Timeout of one streamed attempt for its first content, while another model can be tried; the last may use the deadline.',
      env: 'HEADWORKS_GATEWAY_FIRST_TOKEN_TIMEOUT_SECONDS',
      default: 20,
      max: 600,
    }),
    responseTimeoutSeconds: secondsOption({
      describe:
        'Timeout of one attempt without streaming for its whole response, while another model can be tried; the last may use the deadline.',
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
      describe:
        'Interval between probes of configured models that had no request meanwhile and are not cooling down; 0: no probes.',
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
      describe:
        'Maximum size of a response without streaming; larger ones count as invalid. A response that is translated to another API has up to 8 MiB, and one of the APIs Messages or Responses up to 20 MiB, streams included.',
      env: 'HEADWORKS_GATEWAY_MAX_RESPONSE_BYTES',
      default: 33_554_432,
      min: 1_024,
      max: 1_073_741_824,
    }),
    logContent: booleanOption({
      describe:
        'Keep the bodies of requests and responses (the first 64 KB of each, without secrets of this server) for "headworks requests get", as long as retention.requestContentDays says.',
      env: 'HEADWORKS_GATEWAY_LOG_CONTENT',
      default: false,
    }),
    models: modelsOption,
    providers: providersOption,
    discoveryIntervalHours: numberOption({
      describe:
        'Interval between readings of each configured provider\'s list of models, which add new ones and retire what is gone; 0: only by "headworks models discover".',
      env: 'HEADWORKS_GATEWAY_DISCOVERY_INTERVAL_HOURS',
      default: 24,
      min: 0,
      max: 8_760,
      integer: false,
    }),
    discoveryLimit: numberOption({
      describe:
        'Maximum number of chat models that are added from the list of one provider, and a quarter of it of embedding models; 0: none are added.',
      env: 'HEADWORKS_GATEWAY_DISCOVERY_LIMIT',
      default: 8,
      min: 0,
      max: 1_000,
    }),
    aliases: aliasesOption,
    modelOrder: listOption({
      describe:
        'Models that come first for auto and as fallbacks, in this order, before the score decides: names of models, or of a model at all its providers. One that is cooling down, keeps failing or may be too small for the request comes later.',
      env: 'HEADWORKS_GATEWAY_MODEL_ORDER',
      default: [],
      pattern: namePattern,
      allowed: 'a list of names of models, separated by commas',
    }),
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

function parseProviders(list: readonly unknown[]): Parsed<readonly ConfiguredProvider[]> {
  const providers: ConfiguredProvider[] = [];
  const problems: string[] = [];
  for (const [index, item] of list.entries()) {
    const given = asObject(item) ?? {};
    const checked = checkProviderDefinition(given);
    if ('problems' in checked)
      problems.push(`provider ${index + 1}${nameIn(item)}: ${checked.problems.join(', ')}`);
    else if (providers.some(({ definition }) => definition.name === checked.value.name))
      problems.push(`provider ${index + 1}: the name ${checked.value.name} is used twice`);
    else
      providers.push({
        definition: checked.value,
        ownModels: objectsIn(given['models']).map(({ model }) => String(model)),
      });
  }
  return problems.length > 0
    ? { problem: `must be corrected (${problems.join('; ')})` }
    : { value: providers };
}

function parseAliases(given: object): Parsed<readonly Alias[]> {
  const aliases = Object.entries(given).map(([name, models]: [string, unknown]): Alias => {
    const written: unknown = typeof models === 'string' ? models.split(',') : models;
    const names = Array.isArray(written) ? written.map((each) => String(each).trim()) : [];
    return { name, models: names.filter((each) => each !== '') };
  });
  const names = new Set(aliases.map(({ name }) => name));
  const problems = aliases.flatMap((alias) => aliasProblem(alias, names) ?? []);
  return problems.length > 0 ? { problem: `must be corrected (${problems.join('; ')})` } : { value: aliases };
}

function aliasProblem({ name, models }: Alias, aliases: ReadonlySet<string>): string | undefined {
  if (name === autoModel) return `${autoModel} cannot be an alias`;
  if (!namePattern.test(name)) return `${shown(name)} is not a name`;
  if (models.length === 0) return `${name} must have at least one model`;
  if (models.length > maxNames) return `${name} has more than ${maxNames} models`;
  const invalid = models.find((each) => !namePattern.test(each));
  if (invalid !== undefined) return `${name}: ${shown(invalid)} is not a name`;
  // Its own name refers to the model of that name.
  const nested = models.find((each) => each !== name && aliases.has(each));
  return nested === undefined ? undefined : `${name}: ${nested} is another alias; name its models instead`;
}

const shown = (name: string): string => JSON.stringify(name.slice(0, 100));

/** ` (acme/large)`, if it has a name. */
function nameIn(item: unknown): string {
  const name: unknown = (item as { readonly name?: unknown } | null | undefined)?.name;
  return typeof name === 'string' && name !== '' ? ` (${name.slice(0, 100)})` : '';
}
