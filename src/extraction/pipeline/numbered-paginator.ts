// Pagination by number: the position of an item (offset) or the number of a page.
import type { EndOfList, PagePosition, PageResult } from '../types.ts';
import type { ListConfig, ListProblem, Paginator } from './paginator.ts';
import {
  DistinctElements,
  failedPages,
  missingPage,
  repeatedPage,
  requestFor,
  shortList,
  unproven,
} from './paginator.ts';

/** Where the end is unknown, this many consecutive failed pages are treated as the end. */
const failedPagesAtEnd = 2;

/** The numbers that one request covers. */
interface Span {
  readonly start: number;
  readonly length: number;
}

/** A committed page with the number of requested and received items. */
interface ReceivedPage extends Span {
  readonly page: PageResult;
  readonly limit: number;
  readonly count: number;
  /** It has items that no earlier page had. */
  readonly hasNewItems: boolean;
}

/**
 * Keeps the numbers that were requested. A root list with a total requests all pages up to it at once. Everything else is
 * requested one page after the other until there is evidence of the end, which a total alone is not: totals may be capped,
 * cached, or count what this user cannot see.
 */
abstract class NumberedPaginator implements Paginator {
  total: number | null = null;
  problem: ListProblem | null = null;
  protected readonly config: ListConfig;
  protected readonly requested = new RangeSet();
  /** The most items on one page of this list. */
  protected largestPage = 0;
  /** Committed and failed pages. */
  protected settledPages = 0;
  readonly #isChild: boolean;
  readonly #distinct = new DistinctElements();
  #inFlight = 0;
  #consecutiveFailures = 0;
  #hasFailed = false;
  /** The committed page with the highest number, and the one with the highest number that has items. */
  #last: ReceivedPage | null = null;
  #lastWithItems: ReceivedPage | null = null;
  /** Lowest number of a page without a list. */
  #firstMissing = Number.POSITIVE_INFINITY;
  /** The number up to which committed pages were requested. */
  #committedTo = 0;

  constructor(config: ListConfig) {
    this.config = config;
    this.#isChild = config.list.parents.length > 0;
  }

  next(): PagePosition | null {
    const gap = this.#nextGap();
    if (!gap) return null;
    const span = { start: gap.start, length: Math.min(this.nextLength(), gap.end - gap.start) };
    const position = this.positionAt(span);
    this.replay(position);
    return position;
  }

  replay(position: PagePosition): void {
    const { start, length } = this.spanOf(position);
    this.#inFlight++;
    this.requested.add(start, start + length);
  }

  /** A permanent failure affects the next page too; after a transient one a single page is skipped. */
  onFailed(isTransient: boolean): void {
    this.#inFlight--;
    this.settledPages++;
    this.#hasFailed = true;
    this.#consecutiveFailures = isTransient ? this.#consecutiveFailures + 1 : failedPagesAtEnd;
  }

  get end(): EndOfList | null {
    if (this.#inFlight > 0 || this.#nextGap() !== null) return null;
    if (this.problem) return unproven(this.problem);
    const by = this.#hasFailed ? null : this.#evidence();
    if (by === null) return failedPages;
    const { total } = this;
    const { count } = this.#distinct;
    return total === null || count >= total ? { by } : unproven(shortList(total, count));
  }

  /** How many numbers the next request covers, if the gap is that long. */
  protected abstract nextLength(): number;
  protected abstract positionAt(span: Span): PagePosition;
  protected abstract spanOf(position: PagePosition): Span;
  /** The number up to which a list of this many items is requested at once. */
  protected abstract endOf(total: number): number;
  /** Called for every committed page, after the common state was updated. */
  protected abstract onReceived(page: ReceivedPage): void;

  #nextGap(): { readonly start: number; readonly end: number } | null {
    if (this.problem || this.config.group.hasFailedTooOften) return null;
    const gap = this.requested.firstGap();
    if (!this.#isChild && this.total !== null && gap.start < this.endOf(this.total)) return gap;
    // From here on only the previous page shows whether there is another.
    if (this.#inFlight > 0 || this.#evidence() !== null) return null;
    const canSkipFailed = !this.#isChild && this.total === null;
    const isStopped = canSkipFailed ? this.#consecutiveFailures >= failedPagesAtEnd : this.#hasFailed;
    return isStopped ? null : gap;
  }

  onCommitted(page: PageResult): void {
    this.#inFlight--;
    const { position } = page.request;
    const count = page.elements.length;
    const limit = 'limit' in position ? position.limit : 0;
    const hasNewItems = this.#distinct.add(page) > 0;
    const received: ReceivedPage = { ...this.spanOf(position), page, limit, count, hasNewItems };
    this.settledPages++;
    this.#consecutiveFailures = 0;
    // The largest total wins: a source that shrinks while it is read moves items past the reader, and a smaller total
    // would call that complete.
    if (page.total !== null) this.total = Math.max(this.total ?? 0, page.total);
    if (page.next !== null) this.config.group.hasLinks = true;
    this.largestPage = Math.max(this.largestPage, count);
    if (received.start >= (this.#last?.start ?? 0)) this.#last = received;
    if (count > 0 && received.start >= (this.#lastWithItems?.start ?? 0)) this.#lastWithItems = received;
    if (page.hasNoList === true) this.#firstMissing = Math.min(this.#firstMissing, received.start);
    if (this.#firstMissing < (this.#lastWithItems?.start ?? 0)) return this.#fail(missingPage, received);
    const isRepeated = this.#isRepeated(received);
    this.#committedTo = Math.max(this.#committedTo, received.start + received.length);
    if (isRepeated) return this.#fail(repeatedPage, received);
    this.onReceived(received);
    if (this.#isChild) this.#checkChildTotal(received);
  }

  /** Why the list is known to end with its last page; null when only another request can show it. */
  #evidence(): 'no-next' | 'empty-page' | 'not-found' | 'total' | null {
    const last = this.#last;
    if (!last) return null;
    if (last.count === 0) return last.page.hasNoList === true ? this.#evidenceOfMissing(last) : 'empty-page';
    const isFull = last.count >= last.limit;
    const isTotal = this.#distinct.count === this.total;
    if (this.config.group.hasLinks) return last.page.next === null && (!isFull || isTotal) ? 'no-next' : null;
    return !isFull && isTotal ? 'total' : null;
  }

  /**
   * Whether a page without a list (404, 204, `null`), which may be a failure, shows the end: there is another sign of it. Two
   * in a row are one; a short page is none.
   */
  #evidenceOfMissing({ start, length, page }: ReceivedPage): 'empty-page' | 'not-found' | null {
    const last = this.#lastWithItems;
    if (!last) return 'empty-page';
    const namesNone = this.config.group.hasLinks && last.page.next === null;
    if (namesNone || this.#distinct.count === this.total) return 'empty-page';
    if (start < last.start + last.length + length) return null;
    return page.isNotFound === true ? 'not-found' : 'empty-page';
  }

  /** The vault compares the items of a root list with its total; a child list has only its own pages. */
  #checkChildTotal(received: ReceivedPage): void {
    const { total } = this;
    const { count } = this.#distinct;
    if (total !== null && count < total && this.#evidence() !== null)
      this.#fail(shortList(total, count), received);
  }

  /**
   * A page without new items at numbers that no page covered: the source ignores them. Not for pages that are requested at
   * once: the vault compares their items with the total.
   */
  #isRepeated({ start, count, hasNewItems }: ReceivedPage): boolean {
    if (count === 0 || hasNewItems || start < this.#committedTo) return false;
    return this.#isChild || this.total === null || start >= this.endOf(this.total);
  }

  #fail(problem: Pick<ListProblem, 'cause' | 'message'>, { start, length }: Span): void {
    const position = this.positionAt({ start: start + length, length });
    this.problem = { request: requestFor(this.config.list, position), ...problem };
  }
}

/**
 * Pages by the position of their first item. A short page with more items behind it may show the server's own limit:
 * the rest is requested again. Pages are then requested in multiples of the largest page: a server with that limit needs
 * no additional call, and one without shows so at once.
 */
export class OffsetPaginator extends NumberedPaginator {
  /** A page had fewer items than requested, and the list did not end there. */
  #seemsCapped = false;

  protected override nextLength(): number {
    const { limit } = this.config;
    const isSmaller = this.#seemsCapped && this.largestPage < limit;
    return isSmaller ? Math.floor(limit / this.largestPage) * this.largestPage : limit;
  }

  protected override endOf(total: number): number {
    return total;
  }

  /** The rest of a short page that adds nothing new is not requested again: the server counts items that it hides. */
  protected override onReceived({ start, length, count, hasNewItems }: ReceivedPage): void {
    if (count === 0 || count >= length || !hasNewItems) return;
    if (length > this.largestPage) this.#seemsCapped = true;
    this.requested.remove(start + count, start + length);
  }

  protected override positionAt({ start, length }: Span): PagePosition {
    return { kind: 'offset', offset: start, limit: length };
  }

  protected override spanOf(position: PagePosition): Span {
    if (position.kind === 'offset') return { start: position.offset, length: position.limit };
    throw new TypeError(`A page by ${position.kind} has no offset.`);
  }
}

/**
 * Pages by their number. A number has a meaning only with its limit, so the limit never changes, not even between runs.
 * A server with a limit of its own counts in pages of that size, so the largest page gives the number of pages.
 */
export class PagePaginator extends NumberedPaginator {
  #limit: number;

  constructor(config: ListConfig) {
    super(config);
    this.#limit = config.limit;
  }

  override replay(position: PagePosition): void {
    if (position.kind === 'page') this.#limit = position.limit;
    super.replay(position);
  }

  protected override nextLength(): number {
    return 1;
  }

  /** If the first page of a list is not full, a second page shows whether that is the server's limit. */
  protected override endOf(total: number): number {
    const isUnclear = this.settledPages < 2 && this.largestPage < this.#limit;
    const pages = Math.ceil(total / Math.max(this.largestPage, 1));
    return isUnclear || this.largestPage === 0 ? Math.min(pages, 2) : pages;
  }

  /** Items that a page left out have no page number of their own; the total shows that they are missing. */
  protected override onReceived(): void {}

  protected override positionAt({ start }: Span): PagePosition {
    return { kind: 'page', page: start, limit: this.#limit };
  }

  protected override spanOf(position: PagePosition): Span {
    if (position.kind === 'page') return { start: position.page, length: 1 };
    throw new TypeError(`A page by ${position.kind} has no number.`);
  }
}

interface Range {
  readonly start: number;
  /** Exclusive. */
  readonly end: number;
}

/** A set of whole numbers stored as sorted, separate ranges. */
class RangeSet {
  #ranges: readonly Range[] = [];

  add(start: number, end: number): void {
    if (start >= end) return;
    const before = this.#ranges.filter((range) => range.end < start);
    const after = this.#ranges.filter((range) => range.start > end);
    const touching = this.#ranges.filter((range) => range.end >= start && range.start <= end);
    const merged = {
      start: Math.min(start, ...touching.map((range) => range.start)),
      end: Math.max(end, ...touching.map((range) => range.end)),
    };
    this.#ranges = [...before, merged, ...after];
  }

  remove(start: number, end: number): void {
    this.#ranges = this.#ranges.flatMap((range) =>
      [
        { start: range.start, end: Math.min(range.end, start) },
        { start: Math.max(range.start, end), end: range.end },
      ].filter((rest) => rest.start < rest.end),
    );
  }

  /** The first range that is not in the set; its end may be infinite. */
  firstGap(): Range {
    const [first, second] = this.#ranges;
    if (!first || first.start > 0) return { start: 0, end: first?.start ?? Number.POSITIVE_INFINITY };
    return { start: first.end, end: second?.start ?? Number.POSITIVE_INFINITY };
  }
}
