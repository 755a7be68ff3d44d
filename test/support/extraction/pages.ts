// Types, requests and results of pages for tests.
import { firstItemOf, requestFor } from '../../../src/extraction/pipeline/paginator.ts';
import type {
  ContentType,
  ListRef,
  PagePosition,
  PageRequest,
  PageResult,
  Pagination,
} from '../../../src/extraction/types.ts';

export const listShape = { items: { kind: 'list', path: [] }, id: [['id']] } as const;

/** A type with one endpoint. */
export const typeOf = (
  name: string,
  pagination: Pagination = 'offset',
  more: Partial<ContentType> = {},
): ContentType => ({
  name,
  number: null,
  endpoints: [{ name: '', pagination }],
  shape: listShape,
  ...more,
});

export const rootList = (type: string, endpoint = ''): ListRef => ({ type, endpoint, parents: [] });

/** The list of a child, named by its parent's values. */
export const childList = (type: string, keys: Readonly<Record<string, string>>, endpoint = ''): ListRef => ({
  type,
  endpoint,
  parents: [keys],
});

export const pageOfList = (list: ListRef, position: PagePosition): PageRequest => requestFor(list, position);

export const offsetPage = (type: string, offset: number, limit: number, endpoint = ''): PageRequest =>
  requestFor(rootList(type, endpoint), { kind: 'offset', offset, limit });

export const singlePage = (type: string): PageRequest => requestFor(rootList(type), { kind: 'single' });

export const resultOf = (
  request: PageRequest,
  itemCount: number,
  more: Partial<PageResult> = {},
): PageResult => ({
  request,
  itemCount,
  rejectedCount: 0,
  total: null,
  next: null,
  children: [],
  elements: elementsAt(firstItemOf(request), itemCount),
  ...more,
});

/** Elements of items with consecutive ids. */
export const elementsAt = (first: number, count: number): readonly number[] =>
  Array.from({ length: count }, (_, index) => first + index);
