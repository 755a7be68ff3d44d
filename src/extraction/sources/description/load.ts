// Loads a source file. All problems are reported at once, each with its line.
import { hash } from 'node:crypto';
import type { z } from 'zod';
import { ExtractionError } from '../../errors.ts';
import { valueAt } from '../../parsing/json.ts';
import { limiterKey } from '../../rate-limiter.ts';
import type { ItemShape, JsonPath, ParentRule } from '../../types.ts';
import { placeholdersIn } from '../request-builder.ts';
import { SecretMasker } from '../secrets.ts';
import type {
  AuthDescription,
  EmptyRule,
  RestResource,
  RestSource,
  SourceDescription,
  TypeDescription,
} from './schema.ts';
import { defaultEmptyWhen, restSourceSchema } from './schema.ts';
import type { Problem, SourceFile, Variable } from './source-file.ts';
import { literalSecrets, pathText, placeText, readSourceFile } from './source-file.ts';

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

/**
 * The URL with secrets replaced by their names, and a hash so that sources that differ only in a secret stay distinct.
 */
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
    const subject = place === '' ? '' : `${placeText(issue.path, source.written)}: `;
    return [{ line: source.lineOf(issue.path, key), text: subject + text }];
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
    .slice(0, maxListed)
    .map(({ line, text }) => `${file} line ${line}: ${text}.`);
  if (problems.length > lines.length) lines.push(`${file}: ${problems.length - lines.length} more problems.`);
  const message =
    lines.length === 1
      ? `The source is not usable. ${lines[0]}`
      : `The source has ${problems.length} problems:\n${lines.map((line) => `  - ${line}`).join('\n')}`;
  return new ExtractionError('EXTRACTION_SOURCE_INVALID', message, { details: { problems: lines } });
}

/** What the schema cannot check: names, parents, placeholders, and combinations. */
function resourceProblems(
  resources: readonly RestResource[],
  { lineOf, written }: SourceFile,
): readonly Problem[] {
  const byName = new Map(resources.toReversed().map((resource) => [resource.name, resource]));
  return resources.flatMap((resource, index) =>
    [
      ...(byName.get(resource.name) === resource
        ? []
        : [['name', 'another resource has this name'] as const]),
      ...parentProblems(resource, byName),
      ...shapeProblems(resource),
    ].map(([key, text]) => ({
      line: lineOf(['resources', index], key),
      text: `${placeText(['resources', index], written)}: ${text}`,
    })),
  );
}

type Found = readonly (readonly [key: string, text: string])[];

type ResourcesByName = ReadonlyMap<string, RestResource>;

/** A message lists at most this many names, or problems. */
const maxListed = 20;

function parentProblems(resource: RestResource, resources: ResourcesByName): Found {
  const problem = placeholderProblem(resource);
  const placeholders: Found = problem === undefined ? [] : [['path', problem]];
  const parent = resource.parent?.resource;
  if (parent === undefined) return placeholders;
  if (!resources.has(parent))
    return [
      [
        'parent',
        `there is no resource "${parent}"; there are ${[...resources.keys()].toReversed().slice(0, maxListed).join(', ')}`,
      ],
    ];
  return isInCycle(resource, resources)
    ? [['parent', 'is its own parent, directly or through others'], ...placeholders]
    : placeholders;
}

function isInCycle(resource: RestResource, resources: ResourcesByName): boolean {
  let at = resource.parent?.resource;
  for (let steps = 0; at !== undefined && steps < resources.size; steps++) {
    if (at === resource.name) return true;
    at = resources.get(at)?.parent?.resource;
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

// A resource as a content type.

function typeDescription(resource: RestResource): TypeDescription {
  const { name, path, query, pagination, total } = resource;
  const endpoint = {
    name: '',
    pagination: pagination.type === 'none' ? ('single' as const) : pagination.type,
    pageSize: pagination.type === 'none' ? undefined : pagination.page_size,
  };
  const totalHeader = total && 'header' in total ? total.header : null;
  const emptyWhen = resource.empty_when ?? defaultEmptyWhen(resource.parent !== undefined);
  return {
    type: {
      name,
      number: null,
      endpoints: [endpoint],
      shape: shapeOf(resource, emptyWhen),
      parent: parentRule(resource),
    },
    endpoints: { '': { path, query, pagination, totalHeader, emptyWhen } },
  };
}

/** In `id`: the parent's key is part of the id. */
const parentInId = '{parent}';

function shapeOf(
  { id, single, items = [], fields, pagination, total }: RestResource,
  emptyWhen: readonly EmptyRule[],
): ItemShape {
  const { name, owner, folder, created_at: createdAt, updated_at: updatedAt } = fields;
  return {
    items: single ? { kind: 'single' } : { kind: 'list', path: items },
    id: id.filter((path) => path !== parentInId).map((path) => path.split('.')),
    isIdWithinParent: id.includes(parentInId) || undefined,
    name,
    owner,
    folder,
    createdAt,
    updatedAt,
    nextCursor: pagination.type === 'cursor' ? pagination.cursor_path : undefined,
    total: total && 'path' in total ? total.path : undefined,
    emptyLists: [
      ...(emptyWhen.includes('null_list') ? ['null' as const] : []),
      ...(emptyWhen.includes('missing_list') ? ['missing' as const] : []),
    ],
  };
}

/** The placeholders in path and query, in their order. */
const placeholdersOf = ({ path, query }: RestResource): readonly string[] => [
  ...new Set([path, ...Object.values(query)].flatMap(placeholdersIn)),
];

const isChildPlaceholder = (name: string): boolean => /^child(\.|$)/.test(name);
const isParentPlaceholder = (name: string): boolean => /^parent\../.test(name);

/** `parent.owner.id` is at owner.id of the parent's item; `child` is the array element itself. */
const pathOf = (name: string): JsonPath => name.split('.').slice(1);

function parentRule(resource: RestResource): ParentRule | undefined {
  const { parent } = resource;
  if (parent === undefined) return undefined;
  const names = placeholdersOf(resource);
  const first = parent.children === undefined ? names[0] : names.find(isChildPlaceholder);
  if (first === undefined) throw new TypeError(`${resource.name} has no placeholder for its parent.`);
  const others = names.filter((name) => name !== first).map((name) => [name, pathOf(name)] as const);
  return {
    type: parent.resource,
    itemsAt: parent.children,
    keys: { [first]: pathOf(first) },
    parentKeys: others.length === 0 ? undefined : Object.fromEntries(others),
  };
}

/** What is wrong with the placeholders of a resource, or undefined. */
function placeholderProblem(resource: RestResource): string | undefined {
  const { parent } = resource;
  const names = placeholdersOf(resource);
  if (parent === undefined)
    return names.length === 0 ? undefined : `{${names[0]}} needs a "parent" with its values`;
  const unknown = names.find((name) => !isChildPlaceholder(name) && !isParentPlaceholder(name));
  if (unknown !== undefined)
    return `{${unknown}} is not a placeholder; use {parent.…} or, with children, {child} or {child.…}`;
  const ofChild = names.filter(isChildPlaceholder);
  if (parent.children === undefined) {
    if (ofChild.length > 0) return `{${ofChild[0]}} needs "children" in "parent"; or write {parent.…}`;
    if (names.length === 0) return 'has a parent, but no placeholder like {parent.id} in its path or query';
    return names.length > 2 ? 'has more than two different placeholders' : undefined;
  }
  if (ofChild.length !== 1)
    return 'needs one placeholder like {child} or {child.name} for the elements of "children"';
  return names.length > 2 ? 'has more than one different {parent.…} placeholder' : undefined;
}
