// The schema of source files: strict, with defaults.
import { z } from 'zod';

/** A strict object whose error message names its keys. */
function strict<Shape extends z.core.$ZodLooseShape>(what: string, shape: Shape) {
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? `${(issue.keys as readonly string[]).map((key) => `"${key}"`).join(', ')} is not a key of ${what}; the keys are ${Object.keys(shape).join(', ')}`
        : `${what} must have keys like ${Object.keys(shape).slice(0, 3).join(', ')}`,
  });
}

const text = z.string('must be text').min(1, 'must not be empty');
const whole = (least: number, most: number) =>
  z
    .number(`must be a whole number from ${least} to ${most}`)
    .int('must be a whole number')
    .min(least, `must be at least ${least}`)
    .max(most, `must be at most ${most}`);
const dotted = z
  .string('must be a path like data.items')
  .regex(/^[^.\s][^.]*(\.[^.]+)*$/, 'must be a path like data.items');
const headerName = z
  .string('must be the name of a header')
  .regex(/^[\w!#$%&'*+.^`|~-]+$/, 'must be the name of a header');
const parameter = text;
const scalar = z.union([z.string(), z.number(), z.boolean()], 'must be text, a number, true or false');
const address = z
  .string('must be a path or a web address')
  .regex(/^(\/|https?:\/\/)/, 'must be a path like /login or a web address');

const auth = z.discriminatedUnion(
  'type',
  [
    strict('auth of type none', { type: z.literal('none') }),
    strict('auth of type bearer', { type: z.literal('bearer'), token: text }),
    strict('auth of type basic', { type: z.literal('basic'), username: text, password: text }),
    strict('auth of type header', { type: z.literal('header'), name: headerName, value: text }),
    strict('auth of type oauth_client_credentials', {
      type: z.literal('oauth_client_credentials'),
      token_url: address,
      client_id: text,
      client_secret: text,
      scope: text.optional(),
      credentials_in: z.enum(['body', 'header'], 'must be body or header').default('body'),
    }),
    strict('auth of type login', {
      type: z.literal('login'),
      url: address,
      body: z.record(z.string(), scalar, 'must be keys and values'),
      format: z.enum(['json', 'form'], 'must be json or form').default('json'),
      token_path: dotted,
      expires_in_path: dotted.optional(),
      header: headerName.default('Authorization'),
      prefix: z.string('must be text').default('Bearer '),
    }),
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
      cursor_path: dotted,
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

const resource = strict('a resource', {
  name: z
    .string('must be a name')
    .regex(/^[a-z][a-z0-9_]*$/, 'must be of lower-case letters, digits and _, like open_tickets'),
  path: z
    .string('must be a path')
    .regex(/^\/[^?#]*$/, 'must start with / and have no query; use "query" for that'),
  method: z.literal('GET', 'must be GET').optional(),
  query: z.record(z.string(), scalar, 'must be keys and values').default({}),
  items: dotted.optional(),
  single: z.boolean('must be true or false').default(false),
  id: z.union([dotted, z.array(dotted).min(1)], 'must be a path like id, or a list of paths'),
  fields: strict('fields', {
    name: dotted.optional(),
    owner: dotted.optional(),
    folder: dotted.optional(),
    created_at: dotted.optional(),
    updated_at: dotted.optional(),
  }).default({}),
  parent: z
    .union(
      [text, strict('parent', { resource: text, children: dotted.optional() })],
      'must name another resource, as text or with the keys resource and children',
    )
    .optional(),
  pagination: pagination.default({ type: 'none' }),
  total: z
    .union(
      [strict('total', { header: headerName }), strict('total', { path: dotted })],
      'must have one key, header or path',
    )
    .optional(),
});

export const restSourceSchema = strict('a source file', {
  name: text.regex(/^[\w.-]+$/, 'must be letters, digits, "_", "." and "-"'),
  base_url: z.url({ protocol: /^https?$/, error: 'must be a web address like https://api.example.com' }),
  headers: z.record(headerName, text, 'must be header names and values').default({}),
  auth: auth.default({ type: 'none' }),
  resources: z.array(resource, 'must be a list of resources').min(1, 'must hold at least one resource'),
});

export type RawRestSource = z.infer<typeof restSourceSchema>;
export type RawResource = RawRestSource['resources'][number];
export type RawAuth = RawRestSource['auth'];
