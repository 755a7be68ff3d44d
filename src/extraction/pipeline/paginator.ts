// What the plans of all kinds of pagination have in common.
import type { PageRequest, Pagination, PageResult } from '../types.ts';

/** A reason, besides failed pages, why a type is not complete. */
export interface ListProblem {
  readonly request: PageRequest;
  readonly cause: string;
  readonly message: string;
}

/** What is wrong with a list; its request is the page that would have been asked for next. */
export type ListProblemText = Omit<ListProblem, 'request'>;

export const repeatedPage: ListProblemText = {
  cause: 'repeated',
  message:
    'The page before holds the same items as the one before that: the source does not heed which page it is asked ' +
    'for, and going on would bring nothing new. Correct its pagination, and begin anew with --fresh.',
};

export const shortList = (total: number, came: number): ListProblemText => ({
  cause: 'short',
  message:
    `The source counts ${total} items in this list, but it ended after ${came}. Begin anew with --fresh; if that does ` +
    'not help, correct its pagination or its total.',
});

/** A page of an earlier run of the session. */
export type Replayed = { readonly done: PageResult } | { readonly failed: PageRequest };

/**
 * Which pages to ask for next. Every request that `next` gave is answered by exactly one of `committed`, `failed` and
 * `dropped`. Pure: no time, no I/O.
 */
export interface Paginator {
  /** The next page; null when there is none, or none before another one is answered. */
  next(): PageRequest | null;
  committed(outcome: PageResult): void;
  /** It will not come. `isTransient`: for a reason that may hit the next one as well. */
  failed(request: PageRequest, isTransient: boolean): void;
  /** It was not asked for after all; `next` gives it again. */
  dropped(request: PageRequest): void;
  /** The same as if it had been given by `next` and answered. Pages come in the order of the source. */
  replay(page: Replayed): void;
  /** Nothing is under way and nothing is left to ask for. */
  readonly isFinished: boolean;
  /** How many items the source says it has; null when it does not say. */
  readonly total: number | null;
  readonly problems: readonly ListProblem[];
}

/** After so many pages in a row failed for a reason that may hit the next one too, the rest is not asked for. */
const mostFailuresInRow = 10;

/** Counts failures in a row that are likely to go on: a source that is down must not be asked for every page. */
export class ConsecutiveFailures {
  #length = 0;

  note(isTransient: boolean): void {
    if (isTransient) this.#length++;
  }
  clear(): void {
    this.#length = 0;
  }
  get isTooLong(): boolean {
    return this.#length >= mostFailuresInRow;
  }
}

// One list that feeds a type, as its plan needs to know it.

export interface Feed {
  readonly type: string;
  /** Of the type's listings; empty for the one without a name. */
  readonly listing: string;
  readonly pagination: Pagination;
  /** Items asked for per page. */
  readonly limit: number;
  /** Its pages only say what is fetched one by one. */
  readonly isListing: boolean;
}

/** What every request of the feed begins with. */
export function requestHead(feed: Feed, place: string) {
  const key = feed.listing === '' ? place : `${feed.listing}/${place}`;
  return { type: feed.type, key, ...(feed.listing === '' ? {} : { listing: feed.listing }) };
}

/** How many a page held, stored or not. */
export function lengthOf(outcome: PageResult, isListing: boolean): number {
  const { children, itemCount, rejectedCount, rejectedMembers = 0 } = outcome;
  return (isListing ? children.length : itemCount) + rejectedCount - rejectedMembers;
}

/** Two pages that begin with the same item and end with the same one are the same page. */
export function haveSameEnds(one: PageResult, other: PageResult): boolean {
  const [first, last] = one.ends ?? [];
  return first !== undefined && first === other.ends?.[0] && last === other.ends[1];
}

// Plans pages of which each names the next: a cursor in the body, or a Link header. Also the one page of `whole`.

export class CursorPaginator implements Paginator {
  readonly #feed: Feed;
  readonly #seen = new Set<string>();
  #problem: ListProblem | null = null;
  /** What `next` gives: a cursor (null: the beginning); nothing at the end, or when a page did not come. */
  #ahead: { readonly cursor: string | null; readonly index: number } | null = { cursor: null, index: 0 };
  #isInFlight = false;
  total: number | null = null;

  constructor(feed: Feed) {
    this.#feed = feed;
  }

  get problems(): readonly ListProblem[] {
    return this.#problem ? [this.#problem] : [];
  }

  next(): PageRequest | null {
    if (this.#isInFlight || !this.#ahead) return null;
    this.#isInFlight = true;
    return this.#request(this.#ahead.cursor, this.#ahead.index);
  }

  committed(outcome: PageResult): void {
    this.#isInFlight = false;
    if (outcome.total !== null) this.total = outcome.total;
    const { request, next } = outcome;
    if (request.kind !== 'cursor' || next === null) {
      this.#ahead = null;
    } else if (this.#seen.has(next)) {
      this.#ahead = null;
      this.#problem = {
        request: this.#request(next, request.index + 1),
        cause: 'repeated',
        message:
          'The page before names a next page that was read already; going on would never end. Correct the pagination ' +
          'of the source, and begin anew with --fresh.',
      };
    } else {
      this.#seen.add(next);
      this.#ahead = { cursor: next, index: request.index + 1 };
    }
  }

  /** Nobody knows what comes after it. */
  failed(): void {
    this.#isInFlight = false;
    this.#ahead = null;
  }

  dropped(): void {
    this.#isInFlight = false;
  }

  replay(page: Replayed): void {
    if ('done' in page) this.committed(page.done);
    else this.failed();
  }

  get isFinished(): boolean {
    return !this.#isInFlight && this.#ahead === null;
  }

  #request(cursor: string | null, index: number): PageRequest {
    if (this.#feed.pagination === 'whole') return { ...requestHead(this.#feed, 'whole'), kind: 'whole' };
    const { limit } = this.#feed;
    return {
      ...requestHead(this.#feed, `cursor:${index}:${cursor ?? ''}`),
      kind: 'cursor',
      cursor,
      index,
      limit,
    };
  }
}
