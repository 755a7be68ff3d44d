// A model that somebody adds, by CLI, HTTP or config file: checked, and its defaults filled in.
import { z } from 'zod';
import { CoreError } from '../../core/index.ts';
import type { Capabilities, ModelDefinition, Quotas } from '../ports.ts';
import { baseUrlProblem, fillBaseUrl, isLocalAddress, urlVariables } from './base-url.ts';
import { envVarProblem, urlVariableProblem } from './env-vars.ts';

const whole = z
  .number('must be a whole number')
  .int('must be a whole number')
  .min(1, 'must be at least 1')
  .max(1e12);
const flag = z.boolean('must be true or false');

const capabilities = strict({
  streaming: flag.optional(),
  tools: flag.optional(),
  json: flag.optional(),
  vision: flag.optional(),
  embeddings: flag.optional(),
  contextTokens: whole.nullish(),
});

const quotas = strict({
  requestsPerMinute: whole.optional(),
  requestsPerDay: whole.optional(),
  tokensPerMinute: whole.optional(),
  tokensPerDay: whole.optional(),
});

/** Commas separate names in a request, so none may stand in one. */
const name = z
  .string('must be a name')
  .regex(
    /^[A-Za-z0-9@][\w.:/@+-]{0,199}$/,
    'must be letters, digits and . _ : / @ + -, at most 200, without blanks or commas',
  )
  .refine((given) => given !== 'auto', 'must not be "auto": that means "whichever is best"');

const headerValue = z.string('must be text').regex(/^[\x20-\x7e]{0,1000}$/, 'must be plain text on one line');
const headers = z
  .record(
    z.string().regex(/^[\w-]{1,100}$/, 'must be names of headers'),
    headerValue,
    'must be names and values',
  )
  .refine(
    (given) =>
      Object.keys(given).every(
        (header) =>
          !/authorization|cookie|key|token|secret|^host$|^content-|^accept(-encoding)?$/i.test(header),
      ),
    'must not hold credentials or headers that are set for you; keys belong into the environment',
  );

const schema = strict({
  name,
  baseUrl: z.string('must be a web address').max(2000),
  model: z
    .string('must be text')
    .regex(/^\S(?:.{0,198}\S)?$/, 'must be the name that the provider gives it')
    .optional(),
  provider: z
    .string('must be a name')
    .regex(/^[\w.-]{1,100}$/, 'must be letters, digits and . _ -')
    .optional(),
  envVar: z.string('must be the name of an environment variable').nullish(),
  headers: headers.optional(),
  capabilities: capabilities.optional(),
  quotas: quotas.optional(),
});

type Given = z.infer<typeof schema>;

/** One thing that is wrong: where, as names from the outside in, and what, to follow that name. */
export interface ModelProblem {
  readonly path: readonly string[];
  readonly message: string;
}

/** Everything that is wrong, all at once; empty for a model that may be added. */
export function modelProblems(input: unknown): readonly ModelProblem[] {
  const parsed = schema.safeParse(input);
  const ofShape = parsed.success ? [] : parsed.error.issues.map((issue) => problemOf(issue, input));
  const isFound = ({ path }: ModelProblem) => ofShape.some((other) => other.path[0] === path[0]);
  return [...ofShape, ...addressProblems(input).filter((problem) => !isFound(problem))];
}

/** What is wrong, one sentence without a stop each: `baseUrl must start with …`. */
export function checkModelDefinition(
  input: unknown,
): { readonly value: ModelDefinition } | { readonly problems: readonly string[] } {
  const problems = modelProblems(input).map(
    ({ path, message }) => `${path.length === 0 ? 'a model' : path.join('.')} ${message}`,
  );
  if (problems.length > 0) return { problems };
  const given = schema.parse(input);
  return { value: definitionOf({ ...given, baseUrl: plainAddress(given.baseUrl) }) };
}

/** Fails with INPUT_INVALID that names every wrong field. */
export function parseModelDefinition(input: unknown): ModelDefinition {
  const checked = checkModelDefinition(input);
  if ('value' in checked) return checked.value;
  const { problems } = checked;
  throw new CoreError('INPUT_INVALID', `The model cannot be added: ${problems.join('; ')}.`, {
    details: { problems },
  });
}

const plainAddress = (address: string): string => address.trim().replace(/\/+$/, '');

function definitionOf(given: Given): ModelDefinition {
  const provider = given.provider ?? providerOf(given);
  return {
    name: given.name,
    provider,
    baseUrl: given.baseUrl,
    upstreamModel: given.model ?? upstreamOf(given),
    envVar: given.envVar ?? null,
    headers: given.headers ?? {},
    // With a key it is somebody's service, wherever it listens: limits are then meant.
    isLocal: (given.envVar ?? null) === null && isLocalAddress(given.baseUrl),
    capabilities: capabilitiesOf(given.capabilities ?? {}),
    quotas: withoutUndefined(given.quotas ?? {}),
  };
}

/** Not knowing better, we let it try what every server of this kind can do, and leave out what few can. */
function capabilitiesOf(given: NonNullable<Given['capabilities']>): Capabilities {
  const embeddings = given.embeddings ?? false;
  return {
    streaming: given.streaming ?? !embeddings,
    tools: given.tools ?? !embeddings,
    json: given.json ?? !embeddings,
    vision: given.vision ?? false,
    embeddings,
    contextTokens: given.contextTokens ?? null,
  };
}

/** `groq/llama` belongs to groq; a plain name to whom its address belongs. */
function providerOf({ name: full, baseUrl }: Given): string {
  const [first, ...rest] = full.split('/');
  if (rest.length > 0 && first !== undefined && /^[\w.-]+$/.test(first)) return first;
  return URL.canParse(baseUrl) ? new URL(baseUrl).hostname.replace(/[^\w.-]/g, '') : 'own';
}

/** `groq/llama` said to be of the provider groq is llama to it; else it has the name that was given. */
function upstreamOf({ name: full, provider }: Given): string {
  return provider !== undefined && full.startsWith(`${provider}/`) ? full.slice(provider.length + 1) : full;
}

/** Of the address and the variable, where they are texts, whatever else is wrong. */
function addressProblems(input: unknown): readonly ModelProblem[] {
  const given =
    typeof input === 'object' && input !== null ? (input as Readonly<Record<string, unknown>>) : {};
  const { baseUrl, envVar } = given;
  const ofVariable = typeof envVar === 'string' ? envVarProblem(envVar) : undefined;
  return [
    ...(typeof baseUrl === 'string' ? problemsOfAddress(plainAddress(baseUrl)) : []),
    ...(ofVariable === undefined ? [] : [{ path: ['envVar'], message: ofVariable }]),
  ];
}

function problemsOfAddress(baseUrl: string): readonly ModelProblem[] {
  const path = ['baseUrl'];
  const variables = urlVariables(baseUrl);
  const filled = fillBaseUrl(baseUrl, Object.fromEntries(variables.map((variable) => [variable.name, 'x'])));
  const endpoint = /\/(?:(?:chat\/)?completions|embeddings)$/i.exec(baseUrl);
  return [
    ...(filled === undefined ? [{ path, message: baseUrlProblem(baseUrl) ?? 'must be a web address' }] : []),
    ...(endpoint === null
      ? []
      : [
          {
            path,
            message: `must end before ${endpoint[0]}, which is added to it: ${baseUrl.slice(0, endpoint.index)}`,
          },
        ]),
    ...variables.flatMap(({ name: variable }) => {
      const refused = urlVariableProblem(variable);
      return refused === undefined ? [] : [{ path, message: `holds {${variable}}, which ${refused}` }];
    }),
  ];
}

function strict<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  const keys = Object.keys(shape).join(', ');
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? `has no ${(issue.keys as readonly string[]).map((key) => `"${key}"`).join(', ')}; there are ${keys}`
        : `must have keys like ${Object.keys(shape).slice(0, 3).join(', ')}`,
  });
}

function problemOf(issue: z.core.$ZodIssue, input: unknown): ModelProblem {
  const path = issue.path.map(String);
  const found = issue.path.reduce<unknown>(
    (inner, key) => (inner as Readonly<Record<PropertyKey, unknown>> | null | undefined)?.[key],
    input,
  );
  return { path, message: path.length > 0 && found === undefined ? 'is missing' : issue.message };
}

function withoutUndefined(given: NonNullable<Given['quotas']>): Quotas {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}
