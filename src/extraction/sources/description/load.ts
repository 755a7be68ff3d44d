// Loads a source file. All problems are reported at once, each with its line.
import { hash } from 'node:crypto';
import type { z } from 'zod';
import { ExtractionError } from '../../errors.ts';
import { valueAt } from '../../parsing/json.ts';
import { limiterKey } from '../../rate-limiter.ts';
import { SecretMasker } from '../secrets.ts';
import { literalSecrets } from './literal-secrets.ts';
import { parentInId, placeholderProblem, typeDescription } from './resource.ts';
import type { AuthDescription, RestResource, RestSource } from './schema.ts';
import { restSourceSchema } from './schema.ts';
import type { SourceDescription } from './types.ts';
import type { Problem, SourceFile, Variable } from './yaml-file.ts';
import { pathText, readSourceFile } from './yaml-file.ts';

export interface LoadDescriptionOptions {
  /** The environment, for `${NAME}`. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The name of the file, for messages. */
  readonly file: string;
}

/** Fails with EXTRACTION_SOURCE_INVALID; its message has one problem per line, as has `details.problems`. */
export function loadDescription(yaml: string, { env, file }: LoadDescriptionOptions): SourceDescription {
  const source = readSourceFile(yaml, env);
  if (source.isBroken) throw invalid(file, source.problems);
  const parsed = restSourceSchema.safeParse(source.value);
  const problems = [
    ...source.problems,
    ...literalSecrets(source),
    ...(parsed.success
      ? [...addressProblems(parsed.data, source), ...resourceProblems(parsed.data.resources, source)]
      : schemaProblems(parsed.error, source)),
  ];
  if (problems.length > 0 || !parsed.success) throw invalid(file, problems);
  const { name, base_url: baseUrl, headers, resources, auth } = parsed.data;
  const secrets = [...source.variables]
    .flatMap(([path, found]) => found.filter((variable) => path !== 'base_url' || isAfterHost(variable)))
    .map(({ name: variable, value }) => [variable, { name: variable, value }] as const);
  const publicUrl = maskedUrl(baseUrl, source.variables.get('base_url')?.filter(isAfterHost) ?? []);
  return {
    name: `rest ${name} ${publicUrl}`,
    baseUrl,
    labels: {
      server: `${name} at ${publicUrl}`,
      addressSetting: `base_url in ${file}`,
      credentialSettings: [`auth in ${file}`, credentialVariables(source).join(' and ')]
        .filter((text) => text !== '')
        .join(', '),
    },
    headers,
    auth,
    types: resources.map(typeDescription),
    secrets: [...new Map(secrets).values()],
    limiterKey: limiterKey(new URL(baseUrl).host, credentialOf(auth)),
  };
}

/** The names of the variables with the credentials, for messages. */
function credentialVariables({ variables }: SourceFile): readonly string[] {
  const ofAuth = [...variables].filter(([path]) => path.startsWith('auth.'));
  return [...new Set(ofAuth.flatMap(([, found]) => found.map(({ name }) => name)))];
}

function credentialOf(auth: AuthDescription): string | null {
  if (auth.type === 'none') return null;
  return [...Object.values(auth.headers), ...(auth.type === 'token' ? [auth.body] : [])].join();
}

/** The host is public; what follows it (`/bot${KEY}`) may be a secret. */
const isAfterHost = ({ before }: Variable): boolean => /^https?:\/\/[^/]*\//.test(before);

/** With secrets replaced by their names, and a hash so that sources that differ only in a secret stay distinct. */
function maskedUrl(baseUrl: string, secrets: readonly Variable[]): string {
  const shown = new SecretMasker(secrets).mask(baseUrl);
  return shown === baseUrl ? baseUrl : `${shown} (${hash('sha256', baseUrl).slice(0, 8)})`;
}

/** Problems at a path whose variable is not set are omitted: the missing variable is reported already. */
function schemaProblems(error: z.ZodError, source: SourceFile): readonly Problem[] {
  return error.issues.flatMap((issue) => {
    const place = pathText(issue.path);
    if (source.variables.get(place)?.some(({ value }) => value === '')) return [];
    const key = issue.code === 'unrecognized_keys' ? issue.keys[0] : undefined;
    const text = valueAt(source.value, issue.path.map(String)) === undefined ? 'is missing' : issue.message;
    return [{ line: source.lineOf(issue.path, key), text: place === '' ? text : `${place}: ${text}` }];
  });
}

function addressProblems({ base_url }: RestSource, { lineOf }: SourceFile): readonly Problem[] {
  const url = new URL(base_url);
  const line = lineOf(['base_url']);
  return [
    ...(url.username !== '' || url.password !== ''
      ? [{ line, text: 'base_url: contains a user or password; use auth of type basic' }]
      : []),
    ...(url.search !== '' || url.hash !== ''
      ? [{ line, text: 'base_url: has a query or fragment; use "query" of the resources' }]
      : []),
  ];
}

function invalid(file: string, problems: readonly Problem[]): ExtractionError {
  const lines = problems
    .toSorted((one, other) => one.line - other.line)
    .map(({ line, text }) => `${file} line ${line}: ${text}.`);
  const message =
    lines.length === 1
      ? `The source is not usable. ${lines[0]}`
      : `The source has ${lines.length} problems:\n${lines.map((line) => `  - ${line}`).join('\n')}`;
  return new ExtractionError('EXTRACTION_SOURCE_INVALID', message, { details: { problems: lines } });
}

/** What the schema cannot check: names, parents, placeholders, and combinations. */
function resourceProblems(resources: readonly RestResource[], { lineOf }: SourceFile): readonly Problem[] {
  return resources.flatMap((resource, index) =>
    [
      ...nameProblems(resource, index, resources),
      ...parentProblems(resource, resources),
      ...shapeProblems(resource),
    ].map(([key, text]) => ({
      line: lineOf(['resources', index], key),
      text: `resources.${index} (${resource.name}): ${text}`,
    })),
  );
}

type Found = readonly (readonly [key: string, text: string])[];

function nameProblems({ name }: RestResource, index: number, resources: readonly RestResource[]): Found {
  const isTaken = resources.findIndex((other) => other.name === name) < index;
  return isTaken ? [['name', 'another resource has this name']] : [];
}

function parentProblems(resource: RestResource, resources: readonly RestResource[]): Found {
  const problem = placeholderProblem(resource);
  const placeholders: Found = problem === undefined ? [] : [['path', problem]];
  const parent = resource.parent?.resource;
  if (parent === undefined) return placeholders;
  if (!resources.some(({ name }) => name === parent))
    return [
      [
        'parent',
        `there is no resource "${parent}"; there are ${resources.map(({ name }) => name).join(', ')}`,
      ],
    ];
  return isInCycle(resource, resources)
    ? [['parent', 'is its own parent, directly or through others'], ...placeholders]
    : placeholders;
}

function isInCycle(resource: RestResource, resources: readonly RestResource[]): boolean {
  let at = resource.parent?.resource;
  for (let steps = 0; at !== undefined && steps < resources.length; steps++) {
    if (at === resource.name) return true;
    const name: string = at;
    const next = resources.find((other) => other.name === name);
    at = next?.parent?.resource;
  }
  return false;
}

function shapeProblems(resource: RestResource): Found {
  const { pagination, single, items, id } = resource;
  const hasNoSize =
    (pagination.type === 'offset' && pagination.limit_param === null && pagination.page_size === undefined) ||
    (pagination.type === 'page' && pagination.size_param === null && pagination.page_size === undefined);
  return [
    ...(single && items !== undefined
      ? [['items', 'cannot be combined with "single", where the whole body is the item'] as const]
      : []),
    ...(single && pagination.type !== 'none'
      ? [['pagination', 'cannot be combined with "single": one item has no pages'] as const]
      : []),
    ...(hasNoSize ? [['pagination', 'has no parameter for the page size; set "page_size"'] as const] : []),
    ...idProblems(id, resource.parent !== undefined),
  ];
}

function idProblems(ids: readonly string[], hasParent: boolean): Found {
  if (!ids.includes(parentInId)) return [];
  if (!hasParent) return [['id', `${parentInId} needs a "parent"`]];
  return ids.length > 1 && ids.lastIndexOf(parentInId) === 0
    ? []
    : [['id', `${parentInId} must be the first of a list of paths`]];
}
