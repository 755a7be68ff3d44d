// Reads the definition of a REST source. Everything that is wrong with it is told at once, each with its line.
import { hash } from 'node:crypto';
import type { z } from 'zod';
import { ExtractionError } from '../../errors.ts';
import { SecretMasker } from '../secrets.ts';
import { literalSecrets } from './literal-secrets.ts';
import type { RawResource, RawRestSource } from './schema.ts';
import { restSourceSchema } from './schema.ts';
import { resolveAuth, resolveResource, gapProblem, parentInId, parentOf } from './resolve.ts';
import type { RestSourceDefinition } from './types.ts';
import type { Problem, SourceFile, Variable } from './yaml-file.ts';
import { pathText, readSourceFile } from './yaml-file.ts';

export interface LoadRestSourceOptions {
  /** The environment, for `${NAME}`. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** As messages name it. */
  readonly file: string;
}

/** Fails with EXTRACTION_SOURCE_INVALID; its message has one problem per line, `details.problems` too. */
export function loadRestSource(yamlText: string, { env, file }: LoadRestSourceOptions): RestSourceDefinition {
  const source = readSourceFile(yamlText, env);
  if (source.isBroken) throw invalid(file, source.problems);
  const parsed = restSourceSchema.safeParse(source.value);
  const problems = [
    ...source.problems,
    ...literalSecrets(source),
    ...(parsed.success
      ? [...addressProblems(parsed.data, source), ...checkResources(parsed.data.resources, source)]
      : schemaProblems(parsed.error, source)),
  ];
  if (problems.length > 0 || !parsed.success) throw invalid(file, problems);
  const raw = parsed.data;
  const secrets = [...source.variables]
    .flatMap(([path, found]) => found.filter((variable) => path !== 'base_url' || isBehindHost(variable)))
    .map(({ name, value }) => ({ name, value }));
  const credentials = [...source.variables].filter(([path]) => path.startsWith('auth.'));
  const baseUrl = raw.base_url.replace(/\/+$/, '');
  return {
    name: raw.name,
    baseUrl,
    publicUrl: publicUrl(baseUrl, source.variables.get('base_url')?.filter(isBehindHost) ?? []),
    headers: raw.headers,
    auth: resolveAuth(raw.auth),
    resources: raw.resources.map(resolveResource),
    secrets: [...new Map(secrets.map((secret) => [secret.name, secret])).values()],
    credentialVariables: [...new Set(credentials.flatMap(([, found]) => found.map(({ name }) => name)))],
    file,
  };
}

/** Which server it is may be told; what follows (`/bot${KEY}`) may be what opens it. */
const isBehindHost = ({ before }: Variable): boolean => /^https?:\/\/[^/]*\//.test(before);

/** With what is secret in it by its name. Two sources that differ in nothing else are still two: so a hash goes with it. */
function publicUrl(baseUrl: string, secrets: readonly Variable[]): string {
  const shown = new SecretMasker(secrets).mask(baseUrl);
  return shown === baseUrl ? baseUrl : `${shown} (${hash('sha256', baseUrl).slice(0, 8)})`;
}

/** What stands at a path whose variable is not set says nothing: that it is not set was said already. */
function schemaProblems(error: z.ZodError, source: SourceFile): readonly Problem[] {
  return error.issues.flatMap((issue) => {
    const place = pathText(issue.path);
    if (source.variables.get(place)?.some(({ value }) => value === '')) return [];
    const key = issue.code === 'unrecognized_keys' ? issue.keys[0] : undefined;
    const text = isThere(source, issue.path) ? issue.message : 'is missing';
    return [{ line: source.lineOf(issue.path, key), text: place === '' ? text : `${place}: ${text}` }];
  });
}

function isThere({ value }: SourceFile, path: readonly PropertyKey[]): boolean {
  const at = path.reduce<unknown>(
    (inner, key) => (inner as Readonly<Record<PropertyKey, unknown>> | null | undefined)?.[key],
    value,
  );
  return at !== undefined;
}

function addressProblems({ base_url }: RawRestSource, { lineOf }: SourceFile): readonly Problem[] {
  const url = new URL(base_url);
  const line = lineOf(['base_url']);
  return [
    ...(url.username !== '' || url.password !== ''
      ? [{ line, text: 'base_url: holds a user or password; use auth of type basic' }]
      : []),
    ...(url.search !== '' || url.hash !== ''
      ? [{ line, text: 'base_url: ends in a query or fragment; use "query" of the resources' }]
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

// What a schema cannot say about resources: names, parents, gaps, and what does not go together.

export function checkResources(
  resources: readonly RawResource[],
  { lineOf }: SourceFile,
): readonly Problem[] {
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

function nameProblems({ name }: RawResource, index: number, resources: readonly RawResource[]): Found {
  const isTaken = resources.findIndex((other) => other.name === name) < index;
  return isTaken ? [['name', 'another resource has this name']] : [];
}

function parentProblems(resource: RawResource, resources: readonly RawResource[]): Found {
  const gap = gapProblem(resource);
  const gaps: Found = gap === undefined ? [] : [['path', gap]];
  const parent = parentOf(resource)?.resource;
  if (parent === undefined) return gaps;
  if (!resources.some(({ name }) => name === parent))
    return [
      [
        'parent',
        `there is no resource "${parent}"; there are ${resources.map(({ name }) => name).join(', ')}`,
      ],
    ];
  return isInRing(resource, resources)
    ? [['parent', 'is its own parent, directly or through others'], ...gaps]
    : gaps;
}

function isInRing(resource: RawResource, resources: readonly RawResource[]): boolean {
  let at = parentOf(resource)?.resource;
  for (let steps = 0; at !== undefined && steps < resources.length; steps++) {
    if (at === resource.name) return true;
    const name: string = at;
    const next = resources.find((other) => other.name === name);
    at = next && parentOf(next)?.resource;
  }
  return false;
}

function shapeProblems(resource: RawResource): Found {
  const { pagination, single, items, id } = resource;
  const ids = [id].flat();
  const hasNoSize =
    (pagination.type === 'offset' && pagination.limit_param === null && pagination.page_size === undefined) ||
    (pagination.type === 'page' && pagination.size_param === null && pagination.page_size === undefined);
  return [
    ...(single && items !== undefined
      ? [['items', 'does not go with "single": then the whole body is the item'] as const]
      : []),
    ...(single && pagination.type !== 'none'
      ? [['pagination', 'does not go with "single": one item has no pages'] as const]
      : []),
    ...(hasNoSize
      ? [['pagination', 'says no parameter for the size of pages; then say "page_size"'] as const]
      : []),
    ...idProblems(ids, resource.parent !== undefined),
  ];
}

function idProblems(ids: readonly string[], hasParent: boolean): Found {
  if (!ids.includes(parentInId)) return [];
  if (!hasParent) return [['id', `${parentInId} needs a "parent"`]];
  return ids.length > 1 && ids.lastIndexOf(parentInId) === 0
    ? []
    : [['id', `${parentInId} stands first in a list of paths`]];
}

// The gaps in a resource's address, and what of its parent fills them.
