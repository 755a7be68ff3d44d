// Plans what has an address each, told by the items of another type or by a listing of the type's own.
import type { ChildPosition, PageRequest, Pagination, ParsedPage, PageResult } from '../types.ts';
import type { Feed, ListProblemText, ListProblem, Replayed, Paginator } from './paginator.ts';
import {
  ConsecutiveFailures,
  haveSameEnds,
  lengthOf,
  repeatedPage,
  requestHead,
  shortList,
} from './paginator.ts';

type ChildRequest = Extract<PageRequest, { kind: 'child' }>;

/** Each child is one call, or a list of its own that is read page after page. */
export class ChildPaginator implements Paginator {
  readonly problems: ListProblem[] = [];
  readonly #feed: Feed;
  /** One item per child: then their number is the type's total. */
  readonly #isOneEach: boolean;
  readonly #lists: ChildLists;
  readonly #children = new Set<string>();
  /** Pages that were named or answered once, whatever their limit: see `pageOf`. */
  readonly #known = new Set<string>();
  /** By `pageOf`, in the order in which they were named. */
  readonly #waiting = new Map<string, ChildRequest>();
  /** Those that wait only because the page before may have been cut short by the server: how many that one held. */
  readonly #doubtful = new Map<string, number>();
  readonly #failures = new ConsecutiveFailures();
  #underWay = 0;

  constructor(feed: Feed, isOneEach: boolean) {
    this.#feed = feed;
    this.#isOneEach = isOneEach;
    this.#lists = new ChildLists(feed.pagination);
  }

  /** What a parent's page told. Children that are known already are not asked for twice. */
  add({ childKey, parentKey }: ParsedPage['children'][number]): void {
    const name = JSON.stringify([parentKey, childKey]);
    if (this.#children.has(name)) return;
    this.#children.add(name);
    this.#await(this.#request(childKey, parentKey, this.#firstPosition()));
  }

  get total(): number | null {
    return this.#isOneEach ? this.#children.size : null;
  }

  next(): PageRequest | null {
    if (this.#failures.isTooLong) return null;
    const [request] = this.#waiting.values();
    if (!request) return null;
    this.#forget(pageOf(request));
    this.#underWay++;
    return request;
  }

  committed(page: PageResult): void {
    this.#underWay--;
    this.#failures.clear();
    this.#goOn(page);
  }

  failed(_request: PageRequest, isTransient: boolean): void {
    this.#underWay--;
    this.#failures.note(isTransient);
  }

  dropped(request: PageRequest): void {
    this.#underWay--;
    if (request.kind === 'child') this.#waiting.set(pageOf(request), request);
  }

  replay(page: Replayed): void {
    const request = 'done' in page ? page.done.request : page.failed;
    if (request.kind !== 'child') return;
    this.#children.add(JSON.stringify([request.parentKey, request.childKey]));
    this.#known.add(pageOf(request));
    this.#forget(pageOf(request));
    if ('done' in page) this.#goOn(page.done);
  }

  get isFinished(): boolean {
    return this.#underWay === 0 && (this.#waiting.size === 0 || this.#failures.isTooLong);
  }

  #await(request: ChildRequest): boolean {
    const page = pageOf(request);
    if (this.#known.has(page)) return false;
    this.#known.add(page);
    this.#waiting.set(page, request);
    return true;
  }

  #forget(page: string): void {
    this.#waiting.delete(page);
    this.#doubtful.delete(page);
  }

  /** Asks for the next page of a child's list, if there is one. */
  #goOn(page: PageResult): void {
    const { request } = page;
    if (request.kind !== 'child' || this.#isOneEach) return;
    const largestBefore = this.#lists.largest;
    const position = request.position ?? { index: 0, cursor: null, limit: this.#feed.limit };
    const after = this.#lists.after(page, position, request);
    // The server gives more than it seemed: lists that were shorter than that ended there.
    if (this.#lists.largest > largestBefore)
      for (const [waiting, count] of this.#doubtful) if (count < this.#lists.largest) this.#forget(waiting);
    if (!after) return;
    const next = this.#request(request.childKey, request.parentKey, after.position);
    if (after.problem) this.problems.push({ request: next, ...after.problem });
    else if (this.#await(next) && after.doubt !== null) this.#doubtful.set(pageOf(next), after.doubt);
  }

  #firstPosition(): ChildPosition | undefined {
    return this.#feed.pagination === 'whole'
      ? undefined
      : { index: 0, cursor: null, limit: this.#feed.limit };
  }

  #request(childKey: string, parentKey: string | null, position: ChildPosition | undefined): ChildRequest {
    const child = parentKey === null ? childKey : `${parentKey}::${childKey}`;
    const place = position ? `/${position.index}*${position.limit}:${position.cursor ?? ''}` : '';
    const head = {
      ...requestHead(this.#feed, `child:${child}${place}`),
      kind: 'child',
      childKey,
      parentKey,
    } as const;
    return position ? { ...head, position } : head;
  }
}

/** A list is read with the limit it was begun with: its third page is its third page, whatever the limit is now. */
const pageOf = ({ parentKey, childKey, position }: ChildRequest): string =>
  JSON.stringify([parentKey, childKey, position?.index ?? 0]);

// Where the list of a child goes on after a page of it.

export interface After {
  readonly position: ChildPosition;
  /** Why the list ends here although more of it should be there: the position is then not asked for. */
  readonly problem: ListProblemText | null;
  /** How many the page held, if it was not full and only that the server may give no more speaks for another. */
  readonly doubt: number | null;
}

interface Child {
  readonly parentKey: string | null;
  readonly childKey: string;
}

/** What the pages of one child told so far. */
interface List {
  last: { readonly index: number; readonly page: PageResult } | null;
  /** The largest told: a list that shrinks while it is read moves items past us. */
  total: number | null;
  /** Items on its pages. */
  came: number;
  readonly cursors: Set<string>;
}

/**
 * Named pages go on as long as they name a new one; numbered ones until the total, or until a page that holds less than
 * the server has been seen to give: that of any child, so that mostly no call is needed to find out. A list that ends
 * before its total is not complete, and says so.
 */
export class ChildLists {
  readonly #pagination: Pagination;
  /** Those that go on. */
  readonly #lists = new Map<string, List>();
  /** The most items that came on one page, of any child. */
  largest = 0;
  #hasLinks = false;

  constructor(pagination: Pagination) {
    this.#pagination = pagination;
  }

  /** Null where the list ends. */
  after(page: PageResult, at: ChildPosition, { parentKey, childKey }: Child): After | null {
    const child = JSON.stringify([parentKey, childKey]);
    const list = this.#lists.get(child) ?? { last: null, total: null, came: 0, cursors: new Set() };
    if (page.total !== null) list.total = Math.max(list.total ?? 0, page.total);
    list.came += lengthOf(page, false);
    const isNumbered = this.#pagination === 'offset' || this.#pagination === 'page';
    const after = isNumbered ? this.#afterNumbered(page, at, list) : this.#afterNamed(page, at, list);
    list.last = { index: at.index, page };
    if (after && !after.problem) this.#lists.set(child, list);
    else this.#lists.delete(child);
    return after;
  }

  /** Also after the only page of a list that has no others. */
  #afterNamed(page: PageResult, { index, cursor, limit }: ChildPosition, list: List): After | null {
    const { total, came, cursors } = list;
    const next = this.#pagination === 'whole' ? null : page.next;
    const position = { index: index + 1, cursor: next, limit };
    if (next === null)
      return total !== null && came < total
        ? { position, problem: shortList(total, came), doubt: null }
        : null;
    if (cursor !== null) cursors.add(cursor);
    return { position, problem: cursors.has(next) ? repeatedPage : null, doubt: null };
  }

  #afterNumbered(page: PageResult, at: ChildPosition, { last, total }: List): After | null {
    const { index, limit, offset = index * limit } = at;
    const count = lengthOf(page, false);
    const reached = offset + count;
    this.largest = Math.max(this.largest, count);
    if (page.next !== null) this.#hasLinks = true;
    const isFull = count >= limit;
    const seemsToGoOn = page.next !== null || (!this.#hasLinks && count >= Math.min(limit, this.largest));
    const hasMore = total === null ? count > 0 && seemsToGoOn : reached < total;
    // With a total, the page before was not the last: the same again lacks something, also where it seems to be the end.
    const isRepeated =
      (hasMore || total !== null) && count > 0 && last?.index === index - 1 && haveSameEnds(last.page, page);
    if (!hasMore && !isRepeated) return null;
    const shortage = count === 0 && total !== null ? shortList(total, reached) : null;
    return {
      position: {
        index: index + 1,
        cursor: null,
        limit,
        ...(isFull && offset === index * limit ? {} : { offset: reached }),
      },
      problem: isRepeated ? repeatedPage : shortage,
      doubt: total === null && page.next === null && !isFull ? count : null,
    };
  }
}
