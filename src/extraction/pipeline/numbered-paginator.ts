// What plans by number have in common, be it the position of an item or the number of a page.
import type { PageRequest, PageResult } from '../types.ts';
import type { Feed, ListProblem, Replayed, Paginator } from './paginator.ts';
import { ConsecutiveFailures, haveSameEnds, lengthOf, repeatedPage, requestHead } from './paginator.ts';

/** Where the end is not known, this many holes in a row are taken for it. */
const holesAtTheEnd = 2;

/** The numbers that one request covers. */
export interface Place {
  readonly start: number;
  readonly length: number;
}

/** A page that came, and how many it was asked for and held. */
export interface Arrival extends Place {
  readonly page: PageResult;
  readonly limit: number;
  readonly count: number;
}

/**
 * Keeps the numbers that were asked for. With a total all the others are asked for at once; without, one page after
 * the other until one that holds less than the server can give. What it can give only its answers show: where the
 * first page is not full and nothing tells the total, the server may have a limit of its own, and one more is asked for.
 */
export abstract class NumberedPaginator implements Paginator {
  readonly problems: ListProblem[] = [];
  total: number | null = null;
  protected readonly feed: Feed;
  protected readonly asked = new Ranges();
  /** The most items that came on one page. */
  protected largest = 0;
  /** Pages that came or were given up. */
  protected settled = 0;
  /** Learned without a total. */
  protected end: number | null = null;
  readonly #failures = new ConsecutiveFailures();
  #underWay = 0;
  #holesInRow = 0;
  #hasLinks = false;
  #last: Arrival | null = null;

  constructor(feed: Feed) {
    this.feed = feed;
  }

  next(): PageRequest | null {
    const gap = this.#nextGap();
    if (!gap) return null;
    const place = { start: gap.start, length: Math.min(this.nextLength(), gap.end - gap.start) };
    this.#underWay++;
    this.asked.add(place.start, place.start + place.length);
    return this.requestAt(place);
  }

  committed(page: PageResult): void {
    this.#underWay--;
    this.#failures.clear();
    this.#learn(page);
  }

  failed(_request: PageRequest, isTransient: boolean): void {
    this.#underWay--;
    this.settled++;
    this.#failures.note(isTransient);
    // Whoever is refused for good will be refused the next page too; after a server's failure one hole is stepped over.
    this.#holesInRow = isTransient ? this.#holesInRow + 1 : holesAtTheEnd;
  }

  dropped(request: PageRequest): void {
    this.#underWay--;
    const { start, length } = this.placeOf(request);
    this.asked.remove(start, start + length);
  }

  replay(page: Replayed): void {
    const { start, length } = this.placeOf('done' in page ? page.done.request : page.failed);
    this.asked.add(start, start + length);
    if ('done' in page) return this.#learn(page.done);
    this.settled++;
    this.#holesInRow++;
  }

  get isFinished(): boolean {
    return this.#underWay === 0 && this.#nextGap() === null;
  }

  /** How many numbers the next request covers, if the gap is that long. */
  protected abstract nextLength(): number;
  protected abstract requestAt(place: Place): PageRequest;
  protected abstract placeOf(request: PageRequest): Place;
  /** The number at which a list of so many items ends. */
  protected abstract endWith(total: number): number;
  /** The number up to which a page reached. */
  protected abstract reachedBy(arrival: Arrival): number;
  /** Called for every page that came, after all that is common was learned of it. */
  protected abstract arrived(arrival: Arrival): void;

  #nextGap(): { readonly start: number; readonly end: number } | null {
    if (this.#failures.isTooLong || this.problems.length > 0) return null;
    const gap = this.asked.firstGap();
    const end = this.total === null ? this.end : this.endWith(this.total);
    if (end !== null) return gap.start < end ? gap : null;
    // One after the other: only the answer tells whether there is more.
    return this.#underWay > 0 || this.#holesInRow >= holesAtTheEnd ? null : gap;
  }

  #learn(page: PageResult): void {
    const limit = 'limit' in page.request ? page.request.limit : 0;
    const count = lengthOf(page, this.feed.isListing);
    const arrival: Arrival = { ...this.placeOf(page.request), page, limit, count };
    this.settled++;
    this.#holesInRow = 0;
    // The largest told: a source that shrinks while it is read moves items past us, and a smaller total would call
    // that complete.
    if (page.total !== null) this.total = Math.max(this.total ?? 0, page.total);
    if (page.next !== null) this.#hasLinks = true;
    this.largest = Math.max(this.largest, count);
    if (this.total === null) this.#learnTheEnd(arrival);
    this.arrived(arrival);
  }

  #learnTheEnd(arrival: Arrival): void {
    const { page, count, limit, start, length } = arrival;
    const last = this.#last;
    this.#last = arrival;
    if (count > 0 && last && last.start < start && haveSameEnds(last.page, page)) {
      this.problems.push({ request: this.requestAt({ start: start + length, length }), ...repeatedPage });
      return;
    }
    const isLast = this.#hasLinks ? page.next === null : count === 0 || count < Math.min(limit, this.largest);
    if (isLast) this.end = Math.min(this.end ?? Number.POSITIVE_INFINITY, this.reachedBy(arrival));
  }
}

// Plans pages that are asked for by the position of their first item.

/**
 * A page that is short of its limit although more is there may show the server's own limit: what it left out is asked
 * for again. Pages are then asked for in multiples of the largest that came: a server with that limit needs no call
 * more for it, since what it permits out divides into whole pages, and one that has none shows so at once.
 */
export class OffsetPaginator extends NumberedPaginator {
  /** It was asked for more than it ever gave, and did not give it. */
  #seemsCapped = false;
  /** The last item of pages that came short, by the position at which they were to end. */
  readonly #tails = new Map<number, string | undefined>();

  protected override nextLength(): number {
    const { limit } = this.feed;
    const isSmaller = this.#seemsCapped && this.largest < limit;
    return isSmaller ? Math.floor(limit / this.largest) * this.largest : limit;
  }

  protected override endWith(total: number): number {
    return total;
  }

  protected override reachedBy({ start, count }: Arrival): number {
    return start + count;
  }

  protected override arrived(arrival: Arrival): void {
    const { start, length, count, page } = arrival;
    const reached = start + count;
    const hasMore = this.total === null ? this.end === null : reached < (page.total ?? this.total);
    if (count === 0 || count >= length || !hasMore) return;
    if (length > this.largest) this.#seemsCapped = true;
    if (!this.#bringsNothing(arrival)) this.asked.remove(reached, start + length);
  }

  /** The rest of a short page, asked for again, ends as that page did: the server permits items out, and counts them. */
  #bringsNothing({ start, length, page }: Arrival): boolean {
    const end = start + length;
    const last = page.ends?.[1];
    const isKnown = last !== undefined && this.#tails.get(end) === last;
    this.#tails.set(end, last);
    return isKnown;
  }

  protected override requestAt({ start, length }: Place): PageRequest {
    const head = requestHead(this.feed, `offset:${start}+${length}`);
    return { ...head, kind: 'offset', offset: start, limit: length };
  }

  protected override placeOf(request: PageRequest): Place {
    if (request.kind === 'offset') return { start: request.offset, length: request.limit };
    throw new TypeError(`The page "${request.key}" of ${request.type} has no offset.`);
  }
}

// Plans pages that are asked for by their number.

/**
 * Numbers mean something only with the limit they were asked with: it never changes, also not from run to run. A server
 * with a limit of its own counts in pages of that, so the largest page that came says how many there are.
 */
export class PagePaginator extends NumberedPaginator {
  #limit: number;

  constructor(feed: Feed) {
    super(feed);
    this.#limit = feed.limit;
  }

  override replay(page: Replayed): void {
    const request = 'done' in page ? page.done.request : page.failed;
    if (request.kind === 'page') this.#limit = request.limit;
    super.replay(page);
  }

  protected override nextLength(): number {
    return 1;
  }

  /** Where the first page is not full, a second one tells first whether that is the server's limit. */
  protected override endWith(total: number): number {
    const pages = Math.ceil(total / Math.max(this.largest, 1));
    return this.settled < 2 && this.largest < this.#limit ? Math.min(pages, 2) : pages;
  }

  protected override reachedBy({ start }: Arrival): number {
    return start + 1;
  }

  /** What a page left out has no number of its own: the total tells that it is missing. */
  protected override arrived(): void {}

  protected override requestAt({ start }: Place): PageRequest {
    const head = requestHead(this.feed, `page:${start}*${this.#limit}`);
    return { ...head, kind: 'page', page: start, limit: this.#limit };
  }

  protected override placeOf(request: PageRequest): Place {
    if (request.kind === 'page') return { start: request.page, length: 1 };
    throw new TypeError(`The page "${request.key}" of ${request.type} has no number.`);
  }
}

// A set of whole numbers kept as ranges: which positions of a type have been asked for.

interface Range {
  readonly start: number;
  /** Not included. */
  readonly end: number;
}

export class Ranges {
  /** Sorted, apart from each other. */
  #ranges: readonly Range[] = [];

  add(start: number, end: number): void {
    if (start >= end) return;
    const before = this.#ranges.filter((range) => range.end < start);
    const after = this.#ranges.filter((range) => range.start > end);
    const touched = this.#ranges.filter((range) => range.end >= start && range.start <= end);
    const merged = {
      start: Math.min(start, ...touched.map((range) => range.start)),
      end: Math.max(end, ...touched.map((range) => range.end)),
    };
    this.#ranges = [...before, merged, ...after];
  }

  remove(start: number, end: number): void {
    this.#ranges = this.#ranges.flatMap((range) =>
      [
        { start: range.start, end: Math.min(range.end, start) },
        { start: Math.max(range.start, end), end: range.end },
      ].filter((left) => left.start < left.end),
    );
  }

  /** The first range that is not in the set; it may have no end. */
  firstGap(): Range {
    const [first, second] = this.#ranges;
    if (!first || first.start > 0) return { start: 0, end: first?.start ?? Number.POSITIVE_INFINITY };
    return { start: first.end, end: second?.start ?? Number.POSITIVE_INFINITY };
  }
}
