// Pagination by number: the position of an item (offset) or the number of a page.
import type { EndOfList, PagePosition, PageResult } from '../types.ts';
import type { ListConfig, ListProblem, Paginator } from './paginator.ts';
import {
  failedPages,
  haveSameEdges,
  pageLength,
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
}

/**
 * Keeps the numbers that were requested. A root list with a total requests all the others at once; without one, and for
 * child lists, one page after the other until a page with fewer items than the server returns. Its
 * maximum shows only in its pages: where the first page is not full and there is no total, the server may have a limit of its own,
 * and one more page is requested.
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
  /** Items on all pages, repeated ones included. */
  protected itemCount = 0;
  readonly #isChild: boolean;
  #end: { readonly at: number; readonly by: 'no-next' | 'empty-page' | 'short-page' } | null = null;
  #inFlight = 0;
  #consecutiveFailures = 0;
  #hasFailed = false;
  #last: ReceivedPage | null = null;

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
    if (this.#hasFailed) return failedPages;
    if (this.total === null) return this.#end ? { by: this.#end.by } : failedPages;
    return this.itemCount >= this.total ? { by: 'total' } : unproven(shortList(this.total, this.itemCount));
  }

  /** How many numbers the next request covers, if the gap is that long. */
  protected abstract nextLength(): number;
  protected abstract positionAt(span: Span): PagePosition;
  protected abstract spanOf(position: PagePosition): Span;
  /** The number at which a list of this many items ends. */
  protected abstract endOf(total: number): number;
  /** The number up to which a page reached. */
  protected abstract reachedBy(page: ReceivedPage): number;
  /** Called for every committed page, after the common state was updated. */
  protected abstract onReceived(page: ReceivedPage, hasEnded: boolean): void;

  #nextGap(): { readonly start: number; readonly end: number } | null {
    if (this.problem || this.config.group.hasFailedTooOften) return null;
    if (this.#isChild && (this.#inFlight > 0 || this.#hasFailed)) return null;
    this.#applySiblings();
    const gap = this.requested.firstGap();
    const end = this.total === null ? this.#end?.at : this.endOf(this.total);
    if (end !== undefined) return gap.start < end ? gap : null;
    // Without a known end only the previous page shows whether there is another.
    return this.#inFlight > 0 || this.#consecutiveFailures >= failedPagesAtEnd ? null : gap;
  }

  onCommitted(page: PageResult): void {
    this.#inFlight--;
    const { position } = page.request;
    const { group, endpoint } = this.config;
    const count = pageLength(page, endpoint);
    const limit = 'limit' in position ? position.limit : 0;
    const received: ReceivedPage = { ...this.spanOf(position), page, limit, count };
    const previous = this.#last;
    this.#last = received;
    this.settledPages++;
    this.itemCount += count;
    this.#consecutiveFailures = 0;
    // The largest total wins: a source that shrinks while it is read moves items past the reader, and a smaller total
    // would call that complete.
    if (page.total !== null) this.total = Math.max(this.total ?? 0, page.total);
    if (page.next !== null) group.hasLinks = true;
    this.largestPage = Math.max(this.largestPage, count);
    group.largestPage = Math.max(group.largestPage, count);
    if (this.#isRepeated(received, previous)) return this.#fail(repeatedPage, received);
    if (this.total === null) this.#findEnd(received);
    this.onReceived(received, this.#end !== null);
    if (this.#isChild && this.#isShort(count))
      this.#fail(shortList(this.total ?? 0, this.itemCount), received);
  }

  /** The list has ended before its total: with an empty page, or with all positions requested. */
  #isShort(count: number): boolean {
    const { total } = this;
    if (total === null || this.itemCount >= total) return false;
    return count === 0 || this.requested.firstGap().start >= this.endOf(total);
  }

  /** The vault compares the items of a root list with its total; a child list has only its own pages. */
  #isRepeated({ start, count, page }: ReceivedPage, previous: ReceivedPage | null): boolean {
    if (count === 0 || !previous || previous.start >= start) return false;
    return (this.total === null || this.#isChild) && haveSameEdges(previous.page, page);
  }

  #findEnd(received: ReceivedPage): void {
    const by = this.#endedBy(received);
    if (!by) return;
    const at = Math.min(this.#end?.at ?? Number.POSITIVE_INFINITY, this.reachedBy(received));
    this.#end = { at, by };
  }

  #endedBy({ page, count, limit }: ReceivedPage): 'no-next' | 'empty-page' | 'short-page' | null {
    const { group } = this.config;
    if (group.hasLinks) return page.next === null ? 'no-next' : null;
    if (count === 0) return 'empty-page';
    return count < Math.min(limit, group.largestPage) ? 'short-page' : null;
  }

  /** A larger page of a sibling list shows that this list's last page was short: its next page need not be requested. */
  #applySiblings(): void {
    if (this.#isChild && this.total === null && !this.#end && this.#last) this.#findEnd(this.#last);
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
  /** The last item of short pages, by the position at which they should have ended. */
  readonly #lastIds = new Map<number, string | undefined>();

  protected override nextLength(): number {
    const { limit } = this.config;
    const isSmaller = this.#seemsCapped && this.largestPage < limit;
    return isSmaller ? Math.floor(limit / this.largestPage) * this.largestPage : limit;
  }

  protected override endOf(total: number): number {
    return total;
  }

  protected override reachedBy({ start, count }: ReceivedPage): number {
    return start + count;
  }

  protected override onReceived(received: ReceivedPage, hasEnded: boolean): void {
    const { start, length, count, page } = received;
    const reached = start + count;
    const hasMore = this.total === null ? !hasEnded : reached < (page.total ?? this.total);
    if (count === 0 || count >= length || !hasMore) return;
    if (length > this.largestPage) this.#seemsCapped = true;
    if (!this.#addsNothing(received)) this.requested.remove(reached, start + length);
  }

  /** The rest of a short page ends with the same item as that page: the server counts items that it does not return. */
  #addsNothing({ start, length, page }: ReceivedPage): boolean {
    const end = start + length;
    const last = page.edgeIds?.[1];
    const isKnown = last !== undefined && this.#lastIds.get(end) === last;
    this.#lastIds.set(end, last);
    return isKnown;
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

  /**
   * A child list is read page by page until its total, or an empty page. Of a root list whose first page is not full, a
   * second page shows first whether that is the server's limit.
   */
  protected override endOf(total: number): number {
    if (this.config.list.parents.length > 0)
      return this.itemCount >= total ? this.settledPages : Number.POSITIVE_INFINITY;
    const pages = Math.ceil(total / Math.max(this.largestPage, 1));
    return this.settledPages < 2 && this.largestPage < this.#limit ? Math.min(pages, 2) : pages;
  }

  protected override reachedBy({ start }: ReceivedPage): number {
    return start + 1;
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
