// Pagination of one list: which page to request next, and why the list has ended. Pure: no time, no I/O.
import type { EndOfList, Endpoint, ListRef, PagePosition, PageRequest, PageResult } from '../types.ts';

/** Why a list, or a type, is incomplete besides failed pages. `request` is the page that was not requested. */
export interface ListProblem {
  readonly request: PageRequest;
  readonly cause: 'repeated' | 'short' | 'parent-incomplete';
  readonly message: string;
}

/** Every position that `next` returned, or that was replayed, is settled by exactly one of `onCommitted` and `onFailed`. */
export interface Paginator {
  /** The next page; null when there is none, or none before another one is settled. */
  next(): PagePosition | null;
  /** A page of an earlier run, as if `next` had returned it. Pages are replayed in the order of the source. */
  replay(position: PagePosition): void;
  onCommitted(page: PageResult): void;
  /** `isTransient`: for a reason that may affect the next page as well. */
  onFailed(isTransient: boolean): void;
  /** As reported by the source; null when unknown. */
  readonly total: number | null;
  /** Null while pages are in flight or left to request. */
  readonly end: EndOfList | null;
  readonly problem: ListProblem | null;
}

/** State that the child lists of a type share; each root list has its own. */
export class ListGroup {
  /** Some page named a next page: a page that names none is then the last. */
  hasLinks = false;
  #consecutiveFailures = 0;

  /** After this many consecutive transient failures the rest is not requested: the source is down. */
  get hasFailedTooOften(): boolean {
    return this.#consecutiveFailures >= 10;
  }
  recordFailure(isTransient: boolean): void {
    if (isTransient) this.#consecutiveFailures++;
  }
  recordSuccess(): void {
    this.#consecutiveFailures = 0;
  }
}

export interface ListConfig {
  readonly list: ListRef;
  readonly endpoint: Endpoint;
  /** Items requested per page. */
  readonly limit: number;
  readonly group: ListGroup;
  /** The response is one item: a total in its headers is not about this list. */
  readonly isSingleItem: boolean;
}

/** The request for a page of a list. Its key is readable, unique within the type and stable over runs. */
export function requestFor(list: ListRef, position: PagePosition): PageRequest {
  return { key: `${listKey(list)}${positionKey(position)}`, list, position };
}

/** Empty for the only root list of a type; `lookml/`, `@thelook,orders/`. */
export function listKey({ endpoint, parents }: ListRef): string {
  const values = parents.map((keys) => Object.values(keys).map(encodeURIComponent).join(','));
  return [...(endpoint === '' ? [] : [endpoint]), ...values.map((value) => `@${value}`)]
    .map((part) => `${part}/`)
    .join('');
}

function positionKey(position: PagePosition): string {
  if (position.kind === 'single') return 'single';
  if (position.kind === 'offset') return `offset:${position.offset}+${position.limit}`;
  if (position.kind === 'page') return `page:${position.page}*${position.limit}`;
  return `cursor:${position.index}:${position.cursor ?? ''}`;
}

/** More than any page has items. */
const largestPage = 1_000_000;

/** The position of a page's first item in its list. */
export function firstItemOf({ position }: PageRequest): number {
  if (position.kind === 'offset') return position.offset;
  if (position.kind === 'page') return position.page * position.limit;
  return position.kind === 'cursor' ? position.index * largestPage : 0;
}

/** The source itself named this page, so that it must exist: a response without a list means that the rest is missing. */
export const isNamed = ({ position }: PageRequest): boolean =>
  position.kind === 'cursor' && position.cursor !== null;

/** The distinct elements of a list, as hashes of their ids. */
export class DistinctElements {
  readonly #hashes = new Set<number>();

  get count(): number {
    return this.#hashes.size;
  }

  /** Returns how many of the page's elements are new. */
  add({ elements }: PageResult): number {
    const before = this.#hashes.size;
    for (const element of elements) this.#hashes.add(element);
    return this.#hashes.size - before;
  }
}

export const repeatedPage = {
  cause: 'repeated',
  message:
    'The last page has only items of earlier pages: the source ignores which page is requested. ' +
    'Correct its pagination, and start a new extraction with --fresh.',
} as const;

const repeatedCursor = {
  cause: 'repeated',
  message:
    'The last page names a next page that was read before: following it would never end. ' +
    'Correct the pagination of the source, and start a new extraction with --fresh.',
} as const;

const noNewItems = {
  cause: 'repeated',
  message:
    'The last pages have only items of earlier pages, or none, and each names another next page: following them ' +
    'might never end. Correct the pagination of the source, and start a new extraction with --fresh.',
} as const;

/** Some sources filter after paging, so that pages may be empty; this many in a row are not followed further. */
const maxPagesWithoutNewItems = 20;

export const shortList = (total: number, count: number) =>
  ({
    cause: 'short',
    message:
      `The source counts ${total} items in this list, but it ended after ${count} different ones. Start a new extraction with ` +
      '--fresh; if that does not help, correct its pagination or its total.',
  }) as const;

export const missingPage = {
  cause: 'short',
  message:
    'A page in the middle of the list was not found or had no list, while later pages have items. Start a new extraction ' +
    'with --fresh.',
} as const;

export const failedPages: EndOfList = { by: 'unproven', reason: 'pages failed' };
export const unproven = ({ message }: Pick<ListProblem, 'message'>): EndOfList => ({
  by: 'unproven',
  reason: message,
});

/** Lists whose pages name the next one, by a cursor in the body or a Link header; and lists of a single page. */
export class CursorPaginator implements Paginator {
  readonly #config: ListConfig;
  readonly #seen = new Set<string>();
  #next: { readonly cursor: string | null; readonly index: number } | null = { cursor: null, index: 0 };
  #isInFlight = false;
  #end: EndOfList | null = null;
  readonly #distinct = new DistinctElements();
  #pagesWithoutNewItems = 0;
  total: number | null = null;
  problem: ListProblem | null = null;

  constructor(config: ListConfig) {
    this.#config = config;
  }

  get end(): EndOfList | null {
    return this.#isInFlight ? null : this.#end;
  }

  next(): PagePosition | null {
    if (this.#isInFlight || !this.#next || this.#config.group.hasFailedTooOften) return null;
    this.#isInFlight = true;
    return this.#position(this.#next);
  }

  replay(): void {
    this.#isInFlight = true;
  }

  /** The page after a failed one is unknown. */
  onFailed(): void {
    this.#isInFlight = false;
    this.#finish(failedPages);
  }

  onCommitted(page: PageResult): void {
    this.#isInFlight = false;
    const { position } = page.request;
    // The largest total wins: a source that shrinks while it is read moves items past the reader.
    if (page.total !== null) this.total = Math.max(this.total ?? 0, page.total);
    const hasNewItems = this.#distinct.add(page) > 0;
    if (position.kind !== 'cursor') return this.#finishProven('single', null);
    const index = position.index + 1;
    if (page.next === null) return this.#finishProven('no-next', { cursor: null, index });
    const next = { cursor: page.next, index };
    if (position.cursor !== null) this.#seen.add(position.cursor);
    if (this.#seen.has(page.next)) return this.#fail(repeatedCursor, next);
    this.#seen.add(page.next);
    this.#pagesWithoutNewItems = hasNewItems ? 0 : this.#pagesWithoutNewItems + 1;
    if (this.#pagesWithoutNewItems >= maxPagesWithoutNewItems) return this.#fail(noNewItems, next);
    this.#next = next;
  }

  /** A list that ends before its own total is not complete. */
  #finishProven(by: 'single' | 'no-next', next: { cursor: string | null; index: number } | null): void {
    const { list, isSingleItem } = this.#config;
    const { count } = this.#distinct;
    if (isSingleItem || this.total === null || count >= this.total) return this.#finish({ by });
    const problem = shortList(this.total, count);
    // The total of root lists is part of the vault's reason.
    if (list.parents.length === 0) this.#finish(unproven(problem));
    else this.#fail(problem, next ?? { cursor: null, index: 1 });
  }

  #fail(
    problem: Pick<ListProblem, 'cause' | 'message'>,
    next: { cursor: string | null; index: number },
  ): void {
    const { list, limit } = this.#config;
    this.problem = { request: requestFor(list, { kind: 'cursor', limit, ...next }), ...problem };
    this.#finish(unproven(problem));
  }

  #finish(end: EndOfList): void {
    this.#next = null;
    this.#end = end;
  }

  #position({ cursor, index }: { cursor: string | null; index: number }): PagePosition {
    const { endpoint, limit } = this.#config;
    return endpoint.pagination === 'single' ? { kind: 'single' } : { kind: 'cursor', cursor, index, limit };
  }
}
