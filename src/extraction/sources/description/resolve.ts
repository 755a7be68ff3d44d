// Turns the parsed source file into the description that the source uses.
import type { ContentType, Endpoint, ItemShape, JsonPath, Pagination, ParentRule } from '../../types.ts';
import { placeholdersIn } from '../request-builder.ts';
import type { RawAuth, RawResource } from './schema.ts';
import type { AuthDescription, PaginationDescription, TypeDescription } from './types.ts';

type RawOauth = Extract<RawAuth, { type: 'oauth_client_credentials' }>;
type RawLogin = Extract<RawAuth, { type: 'login' }>;

export function resolveAuth(raw: RawAuth): AuthDescription {
  switch (raw.type) {
    case 'none':
      return { type: 'none' };
    case 'bearer':
      return { type: 'headers', headers: { authorization: `Bearer ${raw.token}` } };
    case 'basic':
      return { type: 'headers', headers: { authorization: basic(raw.username, raw.password) } };
    case 'header':
      return { type: 'headers', headers: { [raw.name.toLowerCase()]: raw.value } };
    case 'oauth_client_credentials':
      return oauth(raw);
    case 'login':
  }
  return login(raw);
}

const form = { 'content-type': 'application/x-www-form-urlencoded' };
const isCredentialError = (status: number): boolean => [400, 401, 403, 422].includes(status);

function oauth(raw: RawOauth): AuthDescription {
  const isInBody = raw.credentials_in === 'body';
  const fields = {
    grant_type: 'client_credentials',
    ...(raw.scope === undefined ? {} : { scope: raw.scope }),
    ...(isInBody ? { client_id: raw.client_id, client_secret: raw.client_secret } : {}),
  };
  // RFC 6749, 2.3.1: both parts are form-encoded before they are joined.
  const encoded = basic(encodeURIComponent(raw.client_id), encodeURIComponent(raw.client_secret));
  return {
    type: 'token',
    url: raw.token_url,
    headers: { ...form, ...(isInBody ? {} : { authorization: encoded }) },
    body: new URLSearchParams(fields).toString(),
    tokenPath: ['access_token'],
    expiresInPath: ['expires_in'],
    header: 'authorization',
    prefix: 'Bearer ',
    isCredentialError,
  };
}

function login(raw: RawLogin): AuthDescription {
  const fields = Object.fromEntries(Object.entries(raw.body).map(([key, value]) => [key, String(value)]));
  return {
    type: 'token',
    url: raw.url,
    headers: raw.format === 'json' ? { 'content-type': 'application/json' } : form,
    body: raw.format === 'json' ? JSON.stringify(raw.body) : new URLSearchParams(fields).toString(),
    tokenPath: raw.token_path.split('.'),
    expiresInPath: raw.expires_in_path?.split('.') ?? null,
    header: raw.header.toLowerCase(),
    prefix: raw.prefix,
    isCredentialError,
  };
}

const basic = (username: string, password: string): string =>
  `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;

export function resolveResource(raw: RawResource): TypeDescription {
  const { total, pagination, name, path } = raw;
  const pageSize = 'page_size' in pagination ? pagination.page_size : undefined;
  const endpoint: Endpoint = {
    name: '',
    pagination: paginations[pagination.type],
    ...(pageSize === undefined ? {} : { pageSize }),
  };
  const parent = resolveParent(raw);
  const type: ContentType = {
    name,
    number: null,
    endpoints: [endpoint],
    shape: shapeOf(raw),
    ...(parent ? { parent } : {}),
  };
  const query = Object.fromEntries(Object.entries(raw.query).map(([key, value]) => [key, String(value)]));
  const totalHeader = total && 'header' in total ? total.header.toLowerCase() : null;
  return { type, endpoints: { '': { path, query, pagination: resolvePagination(pagination), totalHeader } } };
}

const paginations: Readonly<Record<PaginationDescription['type'], Pagination>> = {
  none: 'single',
  offset: 'offset',
  page: 'page',
  cursor: 'cursor',
  link: 'link',
};

function resolvePagination(raw: RawResource['pagination']): PaginationDescription {
  switch (raw.type) {
    case 'none':
      return { type: 'none' };
    case 'offset':
      return { type: 'offset', offsetParam: raw.offset_param, limitParam: raw.limit_param, start: raw.start };
    case 'page':
      return { type: 'page', pageParam: raw.page_param, sizeParam: raw.size_param, start: raw.start };
    case 'cursor':
      return { type: 'cursor', cursorParam: raw.cursor_param ?? null, sizeParam: raw.size_param ?? null };
    case 'link':
  }
  return { type: 'link', sizeParam: raw.size_param ?? null };
}

/** In `id`: the parent's key is part of the id. */
export const parentInId = '{parent}';

function shapeOf(raw: RawResource): ItemShape {
  const { fields, total, pagination, items } = raw;
  const ids = [raw.id].flat();
  const optional = {
    name: fields.name,
    owner: fields.owner,
    folder: fields.folder,
    createdAt: fields.created_at,
    updatedAt: fields.updated_at,
    nextCursor: pagination.type === 'cursor' ? pagination.cursor_path : undefined,
    total: total && 'path' in total ? total.path : undefined,
  };
  return {
    items: raw.single ? { kind: 'single' } : { kind: 'list', path: items?.split('.') ?? [] },
    id: ids.filter((id) => id !== parentInId).map((id) => id.split('.')),
    ...(ids.includes(parentInId) ? { isIdWithinParent: true } : {}),
    ...Object.fromEntries(
      Object.entries(optional).flatMap(([key, path]) => (path === undefined ? [] : [[key, path.split('.')]])),
    ),
  };
}

/** The placeholders in path and query, in their order. */
const placeholdersOf = ({ path, query }: RawResource): readonly string[] => [
  ...new Set([path, ...Object.values(query).map(String)].flatMap(placeholdersIn)),
];

export function parentOf({ parent }: RawResource): { resource: string; children?: string } | undefined {
  return typeof parent === 'string' ? { resource: parent } : parent;
}

const isChildPlaceholder = (name: string): boolean => /^child(\.|$)/.test(name);
const isParentPlaceholder = (name: string): boolean => /^parent\../.test(name);

/** `parent.owner.id` is at owner.id of the parent's item; `child` is the array element itself. */
const pathOf = (name: string): JsonPath => name.split('.').slice(1);

function resolveParent(resource: RawResource): ParentRule | undefined {
  const parent = parentOf(resource);
  if (parent === undefined) return undefined;
  const { resource: type, children } = parent;
  const names = placeholdersOf(resource);
  const first = children === undefined ? names[0] : names.find(isChildPlaceholder);
  if (first === undefined) throw new TypeError(`${resource.name} has no placeholder for its parent.`);
  const others = names.filter((name) => name !== first).map((name) => [name, pathOf(name)] as const);
  return {
    type,
    ...(children === undefined ? {} : { itemsAt: children.split('.') }),
    keys: { [first]: pathOf(first) },
    ...(others.length === 0 ? {} : { parentKeys: Object.fromEntries(others) }),
  };
}

/** What is wrong with the placeholders of a resource, or undefined. */
export function placeholderProblem(resource: RawResource): string | undefined {
  const parent = parentOf(resource);
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
