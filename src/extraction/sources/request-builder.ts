// The address that a page of a REST source is asked by. It never leaves the base URL's origin.
import { FetchError } from '../errors.ts';
import type { PageRequest } from '../types.ts';
import type { RestPagination, RestResource } from './description/types.ts';
import { failureOfKind } from './http-client.ts';

/** Fails with a FetchError for a next page elsewhere, with a TypeError for a request that no plan holds. */
export function buildUrl(baseUrl: string, resource: RestResource, request: PageRequest): URL {
  const position = positionOf(request);
  const { pagination } = resource;
  const isAddress =
    pagination.type === 'link' || (pagination.type === 'cursor' && pagination.cursorParam === null);
  if (isAddress && position.cursor !== null) return sameOrigin(position.cursor, baseUrl, resource);
  const keys = keysOf(resource, request);
  const url = new URL(baseUrl + filledPath(resource.path, keys));
  const query = { ...filledQuery(resource.query, keys), ...pagingQuery(pagination, position) };
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  return url;
}

interface Position {
  readonly offset: number;
  /** 0 is the first. */
  readonly page: number;
  readonly cursor: string | null;
  readonly limit: number;
}

function positionOf(request: PageRequest): Position {
  const start = { offset: 0, page: 0, cursor: null, limit: 0 };
  switch (request.kind) {
    case 'offset':
      return { ...start, offset: request.offset, limit: request.limit };
    case 'page':
      return { ...start, page: request.page, limit: request.limit };
    case 'cursor':
      return { ...start, cursor: request.cursor, limit: request.limit };
    case 'whole':
      return start;
    case 'child':
  }
  const { index = 0, cursor = null, limit = 0, offset = index * limit } = request.position ?? {};
  return { offset, page: index, cursor, limit };
}

/** A limit of 0 means that the list is not paged: then nothing is said of pages. */
function pagingQuery(
  pagination: RestPagination,
  { offset, page, cursor, limit }: Position,
): Record<string, string> {
  if (limit === 0) return {};
  const size = (name: string | null) => (name === null ? {} : { [name]: String(limit) });
  switch (pagination.type) {
    case 'none':
      return {};
    case 'offset':
      return { ...size(pagination.limitParam), [pagination.offsetParam]: String(offset + pagination.start) };
    case 'page':
      return { ...size(pagination.sizeParam), [pagination.pageParam]: String(page + pagination.start) };
    case 'cursor':
      return {
        ...size(pagination.sizeParam),
        ...(cursor === null || pagination.cursorParam === null ? {} : { [pagination.cursorParam]: cursor }),
      };
    case 'link':
  }
  return size(pagination.sizeParam);
}

type Keys = Readonly<Record<string, string | null>>;

function keysOf({ parent, name }: RestResource, request: PageRequest): Keys {
  if (parent === null) return {};
  if (request.kind !== 'child') throw new TypeError(`"${request.key}" of ${name} does not say whose it is.`);
  return {
    [parent.key.gap]: request.childKey,
    ...(parent.parentKey === null ? {} : { [parent.parentKey.gap]: request.parentKey }),
  };
}

function filledQuery(query: Readonly<Record<string, string>>, keys: Keys): Record<string, string> {
  const fill = (text: string) =>
    Object.entries(keys).reduce(
      (filled, [gap, value]) => filled.replaceAll(`{${gap}}`, () => value ?? ''),
      text,
    );
  return Object.fromEntries(Object.entries(query).map(([name, value]) => [name, fill(value)]));
}

function sameOrigin(address: string, baseUrl: string, resource: RestResource): URL {
  const base = new URL(baseUrl);
  const url = URL.canParse(address, `${base.href}/`) ? new URL(address, `${base.href}/`) : null;
  if (url?.origin === base.origin) return url;
  throw new FetchError(
    failureOfKind('malformed'),
    `${resource.name}: the next page is said to be at ${url ? url.origin : 'an address that is none'}, not at ${base.origin}; it is not followed.`,
  );
}

// Addresses with gaps: `/projects/{parent.id}/issues`, filled with what an item says, which may be anything.

const gap = /\{([^{}]*)\}/g;

/** What stands in the gaps of a text, each once. */
export function gapsIn(text: string): readonly string[] {
  return [...new Set(Array.from(text.matchAll(gap), ([, name = '']) => name))];
}

/**
 * Fills a path. A value is one segment, whatever is in it; one that would lead elsewhere (empty, `.`, `..`) is
 * refused with a FetchError of the class `validation`, and so costs its own page only.
 */
export function filledPath(path: string, values: Readonly<Record<string, string | null>>): string {
  return path.replaceAll(gap, (_, name: string) => {
    const value = values[name];
    if (value === null || value === undefined || /^\.{0,2}$/.test(value))
      throw new FetchError(
        failureOfKind('validation'),
        `${path}: "${value ?? ''}" cannot stand for {${name}} in an address.`,
      );
    return encodeURIComponent(value);
  });
}
