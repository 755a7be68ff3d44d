// Definitions of models: validates what operators add, fills in defaults, compares two of them, and matches capabilities.
import { z } from 'zod';
import { CoreError } from '../../core/index.ts';
import { isPrivateHost } from '../../platform/http-client/addresses.ts';
import { withoutUndefined } from '../dialects/json.ts';
import type {
  Capabilities,
  ChatApi,
  CompletionRequest,
  KeyHeader,
  Model,
  ModelDefinition,
  Operation,
} from '../types.ts';
import { chatApis, keyHeaders, passThroughEndpoints } from '../types.ts';
import { catalogEnvVars } from './provider-data.ts';

/* ---- base URLs with environment variables ---- */

type Environment = Readonly<Record<string, string | undefined>>;

/** `{NAME}`, or `{NAME=default}`. */
const urlVariable = /\{([A-Z][A-Z0-9_]*)(?:=([^{}]*))?\}/g;

export interface UrlVariable {
  readonly name: string;
  /** Undefined: the model is not configured without it. */
  readonly fallback: string | undefined;
  readonly isAtStart: boolean;
}

export function urlVariables(baseUrl: string): readonly UrlVariable[] {
  return Array.from(baseUrl.matchAll(urlVariable), ({ index, 1: name = '', 2: fallback }) => ({
    name,
    fallback,
    isAtStart: index === 0,
  }));
}

/** The URL to call, without a trailing slash; undefined when a variable is missing or it is not an HTTP URL. */
export function fillBaseUrl(baseUrl: string, env: Environment): string | undefined {
  let isMissing = false;
  const filled = baseUrl.replace(urlVariable, (_, name: string, fallback: string | undefined, at: number) => {
    const value = env[name]?.trim() || fallback;
    if (value === undefined) isMissing = true;
    // At the start the value is a URL itself; further on it is a path segment and must not change the host or path.
    return at === 0 ? (value ?? '').replace(/\/+$/, '') : encodeURIComponent(value ?? '');
  });
  if (isMissing) return undefined;
  // OLLAMA_BASE_URL is set with and without /v1.
  const url = filled.replace(/\/+$/, '').replace(/\/v1\/v1$/, '/v1');
  return baseUrlProblem(url) === undefined ? url : undefined;
}

/** The problem of a base URL, without the subject of the sentence; undefined when it is valid. */
export function baseUrlProblem(baseUrl: string): string | undefined {
  if (!URL.canParse(baseUrl)) return 'must be a URL like https://api.example.com/v1';
  const url = new URL(baseUrl);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return 'must start with http:// or https://';
  if (url.username !== '' || url.password !== '')
    return 'must not contain a user or password; put the key into an environment variable';
  return url.search !== '' || url.hash !== '' || /[?#]/.test(baseUrl)
    ? 'must not contain a query or fragment'
    : undefined;
}

/** Whether the host is this machine or in a private network. Decided from the name, without a DNS lookup. */
export function isLocalUrl(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const host = new URL(url).hostname.toLowerCase();
  if (isPrivateHost(host)) return true;
  const isName = !host.startsWith('[') && !/^[\d.]+$/.test(host);
  return isName && (!host.includes('.') || /\.(?:local|internal|lan|home\.arpa)$/.test(host));
}

/* ---- environment variables: adding a model must not be a way to send our secrets elsewhere ---- */

/** Never allowed, although they end like keys: ours, the stores', and credentials of other systems. */
const forbiddenEnvVars =
  /^(?:HEADWORKS|DATABASE|DB|POSTGRES|PG|REDIS|AWS|NPM|NODE|SSH|GPG|CI|VAULT|KUBE|DOCKER|STRIPE|SLACK|LOOKER)_|(?:PRIVATE|SECRET|ACCESS|ENCRYPTION|SIGNING|MASTER|ADMIN|SESSION|REFRESH|DEPLOY)_(?:KEY|TOKEN)$|_(?:SSH|GPG)_KEY$/;

/** Why this variable may not hold provider keys, to follow its name; undefined: it may. */
export function envVarProblem(name: string): string | undefined {
  if (!/^[A-Z][A-Z0-9_]{0,127}$/.test(name))
    return 'must be the name of an environment variable in capitals, like GROQ_API_KEY';
  if (catalogEnvVars.has(name)) return undefined;
  if (forbiddenEnvVars.test(name)) return 'is not allowed: it looks like a secret of another system';
  return /_API_(?:KEY|TOKEN)$/.test(name)
    ? undefined
    : 'must look like a provider key: only variables that end in _API_KEY or _API_TOKEN are allowed';
}

/**
 * Why a URL may not contain this variable; undefined: it may. Its value is not a secret. At the start it is the server
 * itself, so that no other one receives it.
 */
function urlVariableProblem({ name, isAtStart }: UrlVariable): string | undefined {
  const isAllowed =
    name === 'AWS_REGION' ||
    (!forbiddenEnvVars.test(name) &&
      (isAtStart
        ? /^[A-Z][A-Z0-9_]*_(?:BASE_URL|ENDPOINT)$/.test(name)
        : /^[A-Z][A-Z0-9_]*_(?:ACCOUNT_ID|PROJECT_ID|RESOURCE|REGION)$/.test(name)));
  return isAllowed
    ? undefined
    : 'is not allowed in a base URL; only names that end in _ACCOUNT_ID, _PROJECT_ID, _RESOURCE or _REGION are, ' +
        'and at its start those that end in _BASE_URL or _ENDPOINT';
}

/* ---- the schema ---- */

const positiveInteger = z
  .number('must be a whole number')
  .int('must be a whole number')
  .min(1, 'must be at least 1')
  .max(1e12);
export const flag = z.boolean('must be true or false');
const dollars = z.number('must be US dollars per million tokens').min(0, 'must not be negative').max(1e6);
const seconds = z.number('must be a number of seconds').min(0.1).max(3_600);

export function listOf<const Names extends readonly string[]>(names: Names) {
  const message = `must be a list of ${names.join(', ')}`;
  return z
    .array(z.enum(names, message), message)
    .refine((given) => new Set(given).size === given.length, 'must not name one twice');
}

/** Names are separated by commas in a request, so none may contain one. */
const name = z
  .string('must be a name')
  .regex(
    /^[A-Za-z0-9@][\w.:/@+-]{0,199}$/,
    'must be letters, digits and . _ : / @ + -, at most 200, without spaces or commas',
  )
  .refine((given) => given !== 'auto', 'must not be "auto", which selects the best model');

export const isModelName = (text: string): boolean => name.safeParse(text).success;

export const baseUrl = z
  .string('must be a URL')
  .max(2000)
  .transform((url) => url.trim().replace(/\/+$/, ''))
  .superRefine((url, context) => {
    for (const message of baseUrlProblems(url)) context.addIssue({ code: 'custom', message });
  });

function baseUrlProblems(url: string): readonly string[] {
  const variables = urlVariables(url);
  const example = ({ name, isAtStart }: UrlVariable) => [name, isAtStart ? 'https://x.example' : 'x'];
  const filled = fillBaseUrl(url, Object.fromEntries(variables.map(example)));
  const endpoint = /\/(?:(?:chat\/)?completions|embeddings)$/i.exec(url);
  return [
    ...(filled === undefined ? [baseUrlProblem(url) ?? 'must be a URL'] : []),
    ...(endpoint
      ? [`must end before ${endpoint[0]}, which is appended to it: ${url.slice(0, endpoint.index)}`]
      : []),
    ...variables.flatMap((variable) => {
      const problem = urlVariableProblem(variable);
      return problem === undefined ? [] : [`contains {${variable.name}}, which ${problem}`];
    }),
  ];
}

const envVar = z.string('must be the name of an environment variable').superRefine((given, context) => {
  const message = envVarProblem(given);
  if (message !== undefined) context.addIssue({ code: 'custom', message });
});

export const headers = z
  .record(
    z.string().regex(/^[\w-]{1,100}$/, 'must be header names'),
    z.string('must be text').regex(/^[\x20-\x7e]{0,1000}$/, 'must be plain text on one line'),
    'must be names and values',
  )
  .refine(
    (given) =>
      Object.keys(given).every(
        (header) =>
          !/authorization|cookie|key|token|secret|^host$|^content-|^accept(-encoding)?$/i.test(header),
      ),
    'must not contain credentials or headers that the gateway sets; put keys into the environment',
  );

/** The fields that models and providers share. */
export const sharedFields = {
  baseUrl,
  /** A request in one of them passes through, others are translated to the first that has what they need. Default: chat. */
  apis: listOf(chatApis).min(1, 'must name at least one API').optional(),
  envVar: envVar.nullish(),
  keyHeader: z.enum(keyHeaders, `must be one of ${keyHeaders.join(', ')}`).optional(),
  headers: headers.optional(),
} as const;

export const tokenLimit = positiveInteger.nullish();

const upstreamModel = z
  .string('must be text')
  .regex(/^\S(?:.{0,198}\S)?$/, "must be the provider's name for the model");

/** The fields that models have, wherever they are defined. */
export const modelFields = {
  model: upstreamModel,
  quotas: strict({
    requestsPerMinute: positiveInteger.optional(),
    requestsPerDay: positiveInteger.optional(),
    tokensPerMinute: positiveInteger.optional(),
    tokensPerDay: positiveInteger.optional(),
  }).optional(),
  /** US dollars per million tokens. */
  price: strict({
    inputPerMillion: dollars,
    outputPerMillion: dollars,
    cacheReadPerMillion: dollars.optional(),
    cacheWritePerMillion: dollars.optional(),
  }).nullish(),
  timeouts: strict({
    connectSeconds: seconds.max(60).optional(),
    firstTokenSeconds: seconds.optional(),
    responseSeconds: seconds.optional(),
    idleSeconds: seconds.optional(),
  }).optional(),
} as const;

const schema = strict({
  name,
  ...sharedFields,
  ...modelFields,
  /** Default: the name; if the name starts with `provider` and a slash, the part behind it. */
  model: upstreamModel.optional(),
  /** Default: the part of the name before its first slash; without a slash, the host of the base URL. */
  provider: z
    .string('must be a name')
    .regex(/^[\w.-]{1,100}$/, 'must be letters, digits and . _ -')
    .optional(),
  capabilities: strict({
    streaming: flag.optional(),
    tools: flag.optional(),
    json: flag.optional(),
    vision: flag.optional(),
    reasoning: flag.optional(),
    embeddings: flag.optional(),
    endpoints: listOf(passThroughEndpoints).optional(),
    contextTokens: tokenLimit,
    maxOutputTokens: tokenLimit,
  }).optional(),
});

type Given = z.infer<typeof schema>;

/** A definition as operators and the configuration file write it. */
export type ModelInput = z.input<typeof schema>;

export function strict<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  const keys = Object.keys(shape);
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? `has no ${(issue.keys as readonly string[]).map((key) => `"${key}"`).join(', ')}; allowed: ${keys.join(', ')}`
        : `must be an object with ${keys.slice(0, 3).join(', ')}, …`,
  });
}

/* ---- parsing ---- */

/** One problem: the path of the field from the outside in, and a message to follow its name. */
export interface ModelProblem {
  readonly path: readonly string[];
  readonly message: string;
}

/** Every problem at once; empty for a valid definition. */
export function modelProblems(input: unknown): readonly ModelProblem[] {
  const parsed = schema.safeParse(input);
  return parsed.success ? [] : parsed.error.issues.map((issue) => problemOf(issue, input));
}

/** The problems are sentences without a period: `baseUrl must start with …`. */
export function checkModelDefinition(
  input: unknown,
): { readonly value: ModelDefinition } | { readonly problems: readonly string[] } {
  const parsed = schema.safeParse(input);
  if (parsed.success) return { value: definitionOf(parsed.data) };
  const problems = parsed.error.issues.map((issue) => problemOf(issue, input));
  return {
    problems: problems.map(
      ({ path, message }) => `${path.length === 0 ? 'a model' : path.join('.')} ${message}`,
    ),
  };
}

/** Fails with INPUT_INVALID that names every invalid field. */
export function parseModelDefinition(input: unknown): ModelDefinition {
  const checked = checkModelDefinition(input);
  if ('value' in checked) return checked.value;
  const { problems } = checked;
  throw new CoreError('INPUT_INVALID', `The model is invalid: ${problems.join('; ')}.`, {
    details: { problems },
  });
}

export function problemOf(issue: z.core.$ZodIssue, input: unknown): ModelProblem {
  const path = issue.path.map(String);
  const found = issue.path.reduce<unknown>(
    (inner, key) => (inner as Readonly<Record<PropertyKey, unknown>> | null | undefined)?.[key],
    input,
  );
  return { path, message: path.length > 0 && found === undefined ? 'is missing' : issue.message };
}

function definitionOf(given: Given): ModelDefinition {
  return {
    name: given.name,
    provider: given.provider ?? defaultProvider(given),
    baseUrl: given.baseUrl,
    apis: given.apis ?? ['chat'],
    keyHeader: given.keyHeader ?? defaultKeyHeader(given.apis?.[0] ?? 'chat'),
    upstreamModel: given.model ?? defaultUpstreamModel(given),
    envVar: given.envVar ?? null,
    headers: given.headers ?? {},
    // A model with a key is a service with limits, wherever it listens.
    isLocal: (given.envVar ?? null) === null && isLocalUrl(given.baseUrl),
    capabilities: capabilitiesOf(given.capabilities ?? {}),
    quotas: withoutUndefined(given.quotas ?? {}),
    price: given.price ? withoutUndefined(given.price) : null,
    timeouts: withoutUndefined(given.timeouts ?? {}),
  };
}

/** Where the API itself expects the key. */
export function defaultKeyHeader(api: ChatApi): KeyHeader {
  if (api === 'messages') return 'x-api-key';
  return api === 'gemini' ? 'x-goog-api-key' : 'authorization';
}

/** Defaults: what every OpenAI-compatible server supports, without what few support. */
function capabilitiesOf(given: NonNullable<Given['capabilities']>): Capabilities {
  const embeddings = given.embeddings ?? false;
  const endpoints = given.endpoints ?? [];
  const isChat = !embeddings && endpoints.length === 0;
  return {
    streaming: given.streaming ?? isChat,
    tools: given.tools ?? isChat,
    json: given.json ?? isChat,
    vision: given.vision ?? false,
    reasoning: given.reasoning ?? false,
    embeddings,
    endpoints,
    contextTokens: given.contextTokens ?? null,
    maxOutputTokens: given.maxOutputTokens ?? null,
  };
}

function defaultProvider({ name: full, baseUrl: url }: Given): string {
  const [first, ...rest] = full.split('/');
  if (rest.length > 0 && first !== undefined && /^[\w.-]+$/.test(first)) return first;
  return URL.canParse(url) ? new URL(url).hostname.replace(/[^\w.-]/g, '') : 'custom';
}

function defaultUpstreamModel({ name: full, provider }: Given): string {
  return provider !== undefined && full.startsWith(`${provider}/`) ? full.slice(provider.length + 1) : full;
}

/** Whether a definition points to another endpoint or key, so that what was learned about the old one is void. */
export function endpointChanged(before: ModelDefinition, after: ModelDefinition): boolean {
  return (
    before.baseUrl !== after.baseUrl ||
    before.upstreamModel !== after.upstreamModel ||
    before.envVar !== after.envVar ||
    before.apis[0] !== after.apis[0]
  );
}

/** Whether the model was removed or its endpoint changed since it was chosen, so that its calls are irrelevant now. */
export function isStale(current: readonly Model[], model: Model): boolean {
  if (current.includes(model)) return false;
  const now = current.find(({ id }) => id === model.id);
  return !now || endpointChanged(model, now);
}

/* ---- capabilities ---- */

export type Requirement = Operation | 'streaming' | 'tools' | 'json' | 'vision';

const onlyChat: readonly Requirement[] = ['chat'];

export function requirementsOf({ operation, isStream, requires }: CompletionRequest): readonly Requirement[] {
  if (operation !== 'chat') return [operation];
  if (!isStream && !requires.tools && !requires.json && !requires.vision) return onlyChat;
  const list: Requirement[] = ['chat'];
  if (isStream) list.push('streaming');
  if (requires.tools) list.push('tools');
  if (requires.json) list.push('json');
  if (requires.vision) list.push('vision');
  return list;
}

type Suitability = Pick<Model, 'capabilities' | 'apis'>;

export function meets({ capabilities, apis }: Suitability, requirement: Requirement): boolean {
  switch (requirement) {
    case 'chat':
      return !capabilities.embeddings && capabilities.endpoints.length === 0;
    case 'embeddings':
    case 'streaming':
    case 'tools':
    case 'json':
    case 'vision':
      return capabilities[requirement];
    case 'messages/count_tokens':
      return apis.includes('messages');
    default:
      return capabilities.endpoints.includes(requirement);
  }
}

export function meetsAll(model: Suitability, requirements: readonly Requirement[]): boolean {
  for (const requirement of requirements) if (!meets(model, requirement)) return false;
  return true;
}
