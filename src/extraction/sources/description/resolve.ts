// Turns the parsed form of a source description into the form that the source uses.
import type { ItemShape } from '../../types.ts';
import type { RawAuth, RawResource } from './schema.ts';
import type { RestAuth, RestPagination, RestParent, RestResource } from './types.ts';
import { gapsIn } from '../request-builder.ts';

type RawOauth = Extract<RawAuth, { type: 'oauth_client_credentials' }>;
type RawLogin = Extract<RawAuth, { type: 'login' }>;

export function resolveAuth(raw: RawAuth): RestAuth {
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

function oauth(raw: RawOauth): RestAuth {
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
  };
}

function login(raw: RawLogin): RestAuth {
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
  };
}

const basic = (username: string, password: string): string =>
  `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;

export function resolveResource(raw: RawResource): RestResource {
  const { total, pagination } = raw;
  return {
    name: raw.name,
    path: raw.path,
    query: Object.fromEntries(Object.entries(raw.query).map(([name, value]) => [name, String(value)])),
    pagination: resolvePagination(pagination),
    pageSize: ('page_size' in pagination ? pagination.page_size : undefined) ?? null,
    shape: shapeOf(raw),
    totalHeader: total && 'header' in total ? total.header.toLowerCase() : null,
    parent: resolveParent(raw),
  };
}

function resolvePagination(raw: RawResource['pagination']): RestPagination {
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

export const parentInId = '{parent}';

/** In path and query, in the order in which they stand. */
export function gapsOf({ path, query }: RawResource): readonly string[] {
  return [...new Set([path, ...Object.values(query).map(String)].flatMap(gapsIn))];
}

export interface NamedParent {
  readonly resource: string;
  readonly children: string | undefined;
}

export function parentOf({ parent }: RawResource): NamedParent | undefined {
  if (parent === undefined) return undefined;
  return typeof parent === 'string'
    ? { resource: parent, children: undefined }
    : { resource: parent.resource, children: parent.children };
}

/** `parent.owner.id` is at owner.id of the parent's item; `child` is the child itself. */
const pathOf = (gap: string): readonly string[] => gap.split('.').slice(1);

/** Which gap is filled by what: the child's key first, then what of the parent is needed besides. */
export function resolveParent(resource: RawResource): RestParent | null {
  const parent = parentOf(resource);
  if (parent === undefined) return null;
  const gaps = gapsOf(resource);
  const own = parent.children === undefined ? gaps[0] : gaps.find(isChildGap);
  if (own === undefined) throw new TypeError(`The resource ${resource.name} has no gap for its parent.`);
  const other = gaps.find((gap) => gap !== own);
  return {
    resource: parent.resource,
    children: parent.children?.split('.') ?? null,
    key: { gap: own, path: pathOf(own) },
    parentKey: other === undefined ? null : { gap: other, path: pathOf(other) },
  };
}

const isChildGap = (gap: string): boolean => /^child(\.|$)/.test(gap);
const isParentGap = (gap: string): boolean => /^parent\../.test(gap);

/** What is wrong with the gaps of a resource, or nothing. */
export function gapProblem(resource: RawResource): string | undefined {
  const parent = parentOf(resource);
  const gaps = gapsOf(resource);
  const unknown = gaps.find((gap) => !isChildGap(gap) && !isParentGap(gap));
  if (parent === undefined)
    return gaps.length === 0 ? undefined : `{${gaps[0]}} needs a "parent" that says what to fill in`;
  if (unknown !== undefined)
    return `{${unknown}} is no gap; there are {parent.…} and, with children, {child} or {child.…}`;
  const childGaps = gaps.filter(isChildGap);
  if (parent.children === undefined) {
    if (childGaps.length > 0) return `{${childGaps[0]}} needs "children" in "parent"; or write {parent.…}`;
    if (gaps.length === 0) return 'has a parent, but no gap like {parent.id} in its path or query';
    return gaps.length > 2 ? 'has more than two different gaps' : undefined;
  }
  if (childGaps.length !== 1) return 'needs one gap like {child} or {child.name} for what "children" names';
  return gaps.length > 2 ? 'has more than one different {parent.…} gap' : undefined;
}
