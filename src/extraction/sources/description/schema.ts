// HTTP sources as data (loaded from a file, or built in as Looker is), and the schema of source files.
import { z } from 'zod';
import type { ContentType, JsonPath, NamedSecret } from '../../types.ts';
import type { SourceLabels } from '../connect.ts';
import type { HttpResponse } from '../http-client.ts';

/** How calls are authenticated. */
export type AuthDescription =
  | { readonly type: 'none' }
  | { readonly type: 'headers'; readonly headers: Readonly<Record<string, string>> }
  | {
      readonly type: 'token';
      /** A path below the base URL, or an absolute URL. */
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: string;
      readonly tokenPath: JsonPath;
      readonly expiresInPath: JsonPath | null;
      /** The header that carries the token, and the text before it. */
      readonly header: string;
      readonly prefix: string;
      /** Does a rejected login mean wrong credentials? `body` is undefined unless it was a JSON object. */
      readonly isCredentialError: (
        status: number,
        body: Readonly<Record<string, unknown>> | undefined,
      ) => boolean;
    };

export interface EndpointDescription {
  /** Starts with a slash. Placeholders like `{parent.id}` are filled from `ListRef.parents`. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly pagination: PaginationDescription;
  /** The header with the total number of items, in lower case. */
  readonly totalHeader: string | null;
  /** Responses that stand for no items. */
  readonly emptyWhen: readonly EmptyRule[];
}

/**
 * What stands for a list without items. `not_found` is 404 or 410 for the first page; for a later page it always is.
 * For a single item, `not_found` means that it does not exist any more.
 */
const emptyRules = ['null_list', 'missing_list', 'no_content', 'not_found'] as const;
export type EmptyRule = (typeof emptyRules)[number];

/** Default of resources that do not set it. A parent may be deleted after it was listed. */
export const defaultEmptyWhen = (isChild: boolean): readonly EmptyRule[] =>
  isChild ? ['null_list', 'no_content', 'not_found'] : ['null_list', 'no_content'];

export interface TypeDescription {
  readonly type: ContentType;
  /** Endpoints by name. */
  readonly endpoints: Readonly<Record<string, EndpointDescription>>;
}

/** Gets a URL of the source, authenticated and within the rate limit. */
export type GetJson = (url: URL, signal: AbortSignal) => Promise<HttpResponse>;

export interface SourceDescription {
  /** Identifies the source in the vault. */
  readonly name: string;
  /** Without a trailing slash. */
  readonly baseUrl: string;
  /** For messages. */
  readonly labels: SourceLabels;
  readonly headers: Readonly<Record<string, string>>;
  readonly auth: AuthDescription;
  readonly types: readonly TypeDescription[];
  /** Replaces the types once the source is connected (Looker's --folders). Fails with a FetchError or ExtractionError. */
  readonly narrowTypes?: (get: GetJson, signal: AbortSignal) => Promise<readonly TypeDescription[]>;
  /** Values from the environment that must not appear anywhere. */
  readonly secrets: readonly NamedSecret[];
  /** Identifies the rate limiter: `limiterKey(host, credential)`. */
  readonly limiterKey: string;
}

/** A message names at most this many unknown keys, each up to this length. */
const maxNamed = 5;
const maxNameLength = 60;

/** A strict object whose error message names its keys. */
function strict<Shape extends z.core.$ZodLooseShape>(what: string, shape: Shape) {
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? `${(issue.keys as readonly string[])
            .slice(0, maxNamed)
            .map((key) => `"${key.slice(0, maxNameLength)}"`)
            .join(', ')} is not a key of ${what}; the keys are ${Object.keys(shape).join(', ')}`
        : `${what} must have keys like ${Object.keys(shape).slice(0, 3).join(', ')}`,
  });
}

const text = z.string('must be text').min(1, 'must not be empty');
const whole = (min: number, max: number) =>
  z
    .number(`must be a whole number from ${min} to ${max}`)
    .int('must be a whole number')
    .min(min, `must be at least ${min}`)
    .max(max, `must be at most ${max}`);
const dotted = z
  .string('must be a path like data.items')
  .regex(/^[^.\s][^.]*(\.[^.]+)*$/, 'must be a path like data.items');
const jsonPath = dotted.transform((path): JsonPath => path.split('.'));
const headerName = z
  .string('must be the name of a header')
  .regex(/^[\w!#$%&'*+.^`|~-]+$/, 'must be the name of a header');
const lowerCaseHeader = headerName.toLowerCase();
const parameter = text;
const scalar = z.union([z.string(), z.number(), z.boolean()], 'must be text, a number, true or false');
const address = z
  .string('must be a path or a web address')
  .regex(/^(\/|https?:\/\/)/, 'must be a path like /login or a web address');

const basic = (username: string, password: string): string =>
  `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;

const form = { 'content-type': 'application/x-www-form-urlencoded' };
const isCredentialError = (status: number): boolean => [400, 401, 403, 422].includes(status);
const headersAuth = (headers: Readonly<Record<string, string>>): AuthDescription => ({
  type: 'headers',
  headers,
});

const oauth = strict('auth of type oauth_client_credentials', {
  type: z.literal('oauth_client_credentials'),
  token_url: address,
  client_id: text,
  client_secret: text,
  scope: text.optional(),
  credentials_in: z.enum(['body', 'header'], 'must be body or header').default('body'),
}).transform(({ token_url: url, client_id, client_secret, scope, credentials_in }): AuthDescription => {
  const isInBody = credentials_in === 'body';
  const fields = {
    grant_type: 'client_credentials',
    ...(scope === undefined ? {} : { scope }),
    ...(isInBody ? { client_id, client_secret } : {}),
  };
  // RFC 6749, 2.3.1: both parts are form-encoded before they are joined.
  const encoded = basic(encodeURIComponent(client_id), encodeURIComponent(client_secret));
  return {
    type: 'token',
    url,
    headers: { ...form, ...(isInBody ? {} : { authorization: encoded }) },
    body: new URLSearchParams(fields).toString(),
    tokenPath: ['access_token'],
    expiresInPath: ['expires_in'],
    header: 'authorization',
    prefix: 'Bearer ',
    isCredentialError,
  };
});

const login = strict('auth of type login', {
  type: z.literal('login'),
  url: address,
  body: z.record(z.string(), scalar, 'must be keys and values'),
  format: z.enum(['json', 'form'], 'must be json or form').default('json'),
  token_path: jsonPath,
  expires_in_path: jsonPath.optional(),
  header: lowerCaseHeader.default('authorization'),
  prefix: z.string('must be text').default('Bearer '),
}).transform(({ url, body, format, token_path, expires_in_path, header, prefix }): AuthDescription => {
  const fields = Object.entries(body).map(([key, value]): [string, string] => [key, String(value)]);
  return {
    type: 'token',
    url,
    headers: format === 'json' ? { 'content-type': 'application/json' } : form,
    body: format === 'json' ? JSON.stringify(body) : new URLSearchParams(fields).toString(),
    tokenPath: token_path,
    expiresInPath: expires_in_path ?? null,
    header,
    prefix,
    isCredentialError,
  };
});

const auth = z.discriminatedUnion(
  'type',
  [
    strict('auth of type none', { type: z.literal('none') }),
    strict('auth of type bearer', { type: z.literal('bearer'), token: text }).transform(({ token }) =>
      headersAuth({ authorization: `Bearer ${token}` }),
    ),
    strict('auth of type basic', { type: z.literal('basic'), username: text, password: text }).transform(
      ({ username, password }) => headersAuth({ authorization: basic(username, password) }),
    ),
    strict('auth of type header', {
      type: z.literal('header'),
      name: lowerCaseHeader,
      value: text,
    }).transform(({ name, value }) => headersAuth({ [name]: value })),
    oauth,
    login,
  ],
  'auth.type must be one of none, bearer, basic, header, oauth_client_credentials, login',
);

const pageSize = whole(1, 100_000).optional();

const pagination = z.discriminatedUnion(
  'type',
  [
    strict('pagination of type none', { type: z.literal('none') }),
    strict('pagination of type offset', {
      type: z.literal('offset'),
      offset_param: parameter.default('offset'),
      limit_param: parameter.nullable().default('limit'),
      start: whole(0, 1).default(0),
      page_size: pageSize,
    }),
    strict('pagination of type page', {
      type: z.literal('page'),
      page_param: parameter.default('page'),
      size_param: parameter.nullable().default('per_page'),
      start: whole(0, 1).default(1),
      page_size: pageSize,
    }),
    strict('pagination of type cursor', {
      type: z.literal('cursor'),
      cursor_path: jsonPath,
      cursor_param: parameter.optional(),
      size_param: parameter.optional(),
      page_size: pageSize,
    }),
    strict('pagination of type link', {
      type: z.literal('link'),
      size_param: parameter.optional(),
      page_size: pageSize,
    }),
  ],
  'pagination.type must be one of offset, page, cursor, link, none',
);

interface ParentDescription {
  readonly resource: string;
  readonly children?: JsonPath | undefined;
}

const resource = strict('a resource', {
  name: z
    .string('must be a name')
    .regex(/^[a-z][a-z0-9_]*$/, 'must be of lower-case letters, digits and _, like open_tickets'),
  path: z
    .string('must be a path')
    .regex(/^\/[^?#]*$/, 'must start with / and have no query; use "query" for that'),
  method: z.literal('GET', 'must be GET').optional(),
  query: z.record(z.string(), scalar.transform(String), 'must be keys and values').default({}),
  items: jsonPath.optional(),
  single: z.boolean('must be true or false').default(false),
  id: z
    .union([dotted, z.array(dotted).min(1)], 'must be a path like id, or a list of paths')
    .transform((id) => [id].flat()),
  fields: strict('fields', {
    name: jsonPath.optional(),
    owner: jsonPath.optional(),
    folder: jsonPath.optional(),
    created_at: jsonPath.optional(),
    updated_at: jsonPath.optional(),
  }).default({}),
  parent: z
    .union(
      [
        text.transform((resource): ParentDescription => ({ resource })),
        strict('parent', { resource: text, children: jsonPath.optional() }),
      ],
      'must name another resource, as text or with the keys resource and children',
    )
    .optional(),
  pagination: pagination.default({ type: 'none' }),
  empty_when: z.array(z.enum(emptyRules, `must be a list of ${emptyRules.join(', ')}`)).optional(),
  total: z
    .union(
      [strict('total', { header: lowerCaseHeader }), strict('total', { path: jsonPath })],
      'must have one key, header or path',
    )
    .optional(),
});

export const restSourceSchema = strict('a source file', {
  name: text.regex(/^[\w.-]+$/, 'must be letters, digits, "_", "." and "-"'),
  base_url: z
    .url({ protocol: /^https?$/, error: 'must be a web address like https://api.example.com' })
    .transform((url) => url.replace(/\/+$/, '')),
  headers: z.record(headerName, text, 'must be header names and values').default({}),
  auth: auth.default({ type: 'none' }),
  resources: z
    .array(resource, 'must be a list of resources')
    .min(1, 'must hold at least one resource')
    .max(1_000, 'must hold at most 1,000 resources'),
});

export type RestSource = z.infer<typeof restSourceSchema>;
export type RestResource = RestSource['resources'][number];
export type PaginationDescription = RestResource['pagination'];
