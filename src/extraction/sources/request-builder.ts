// Builds the URL of a page. It never leaves the origin of the base URL.
import { FetchError } from '../errors.ts';
import type { ListRef, PagePosition, PageRequest } from '../types.ts';
import type { EndpointDescription, PaginationDescription } from './description/schema.ts';
import { failureOfKind } from './http-client.ts';

/** Fails with a FetchError for a next page at another origin and for key values that cannot be part of a path. */
export function buildUrl(
  baseUrl: string,
  endpoint: EndpointDescription,
  { list, position }: PageRequest,
): URL {
  const { pagination } = endpoint;
  const isUrl =
    pagination.type === 'link' || (pagination.type === 'cursor' && pagination.cursor_param === undefined);
  if (isUrl && position.kind === 'cursor' && position.cursor !== null)
    return sameOriginUrl(position.cursor, baseUrl, list.type);
  const keys = keysOf(list);
  const url = new URL(baseUrl + fillPath(endpoint.path, keys));
  const query = { ...fillQuery(endpoint.query, keys), ...pageQuery(pagination, position) };
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  return url;
}

type Keys = Readonly<Record<string, string>>;

const keysOf = ({ parents }: ListRef): Keys => Object.assign({}, ...parents) as Keys;

function pageQuery(pagination: PaginationDescription, position: PagePosition): Record<string, string> {
  if (position.kind === 'single') return {};
  const size = (name: string | null | undefined) => (name ? { [name]: String(position.limit) } : {});
  if (pagination.type === 'offset' && position.kind === 'offset') {
    const { limit_param, offset_param, start } = pagination;
    return { ...size(limit_param), [offset_param]: String(position.offset + start) };
  }
  if (pagination.type === 'page' && position.kind === 'page') {
    const { size_param, page_param, start } = pagination;
    return { ...size(size_param), [page_param]: String(position.page + start) };
  }
  if (pagination.type === 'link') return size(pagination.size_param);
  if (pagination.type !== 'cursor' || position.kind !== 'cursor')
    throw new TypeError(`A list by ${pagination.type} has no page by ${position.kind}.`);
  const { cursor_param, size_param } = pagination;
  const { cursor } = position;
  return {
    ...size(size_param),
    ...(cursor === null || cursor_param === undefined ? {} : { [cursor_param]: cursor }),
  };
}

function fillQuery(query: Readonly<Record<string, string>>, keys: Keys): Record<string, string> {
  const fill = (text: string) =>
    text.replaceAll(placeholder, (written, name: string) => keys[name] ?? written);
  return Object.fromEntries(Object.entries(query).map(([name, value]) => [name, fill(value)]));
}

function sameOriginUrl(address: string, baseUrl: string, type: string): URL {
  const base = new URL(baseUrl);
  const url = URL.canParse(address, `${base.href}/`) ? new URL(address, `${base.href}/`) : null;
  if (url?.origin === base.origin) return url;
  throw new FetchError(
    failureOfKind('malformed'),
    `${type}: the next page is at ${url ? url.origin : 'an invalid URL'}, not at ${base.origin}; it is not requested.`,
  );
}

const placeholder = /\{([^{}]*)\}/g;

/** The names of the placeholders in a text, each once. */
export function placeholdersIn(text: string): readonly string[] {
  return [...new Set(Array.from(text.matchAll(placeholder), ([, name = '']) => name))];
}

/**
 * Fills a path. A value is one segment, whatever it contains; one that would lead elsewhere (empty, `.`, `..`) fails
 * with a FetchError of the kind `validation`, and so costs only its own page.
 */
export function fillPath(path: string, values: Keys): string {
  return path.replaceAll(placeholder, (_, name: string) => {
    const value = values[name];
    if (value === undefined || /^\.{0,2}$/.test(value))
      throw new FetchError(
        failureOfKind('validation'),
        `${path}: "${value ?? ''}" is not a valid value for {${name}}.`,
      );
    return encodeURIComponent(value);
  });
}
