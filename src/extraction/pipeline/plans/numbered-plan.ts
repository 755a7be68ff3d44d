// What plans by number have in common, be it the position of an item or the number of a page.
import type { PageRequest, SettledPage } from '../../ports.ts';
import type { Feed } from './feed.ts';
import { haveSameEnds, lengthOf } from './feed.ts';
import { Ranges } from './ranges.ts';
import type { PlanProblem, Replayed, TypePlan } from './type-plan.ts';
import { FailureRow, repeatedPage } from './type-plan.ts';

/** Where the end is not known, this many holes in a row are taken for it. */
const holesAtTheEnd = 2;

/** The numbers that one request covers. */
export interface Place {
  readonly start: number;
  readonly length: number;
}

/** A page that came, and how many it was asked for and held. */
export interface Arrival extends Place {
  readonly page: SettledPage;
  readonly limit: number;
  readonly count: number;
}

/**
 * Keeps the numbers that were asked for. With a total all the others are asked for at once; without, one page after
 * the other until one that holds less than the server can give. What it can give only its answers show: where the
 * first page is not full and nothing tells the total, the server may have a limit of its own, and one more is asked for.
 */
export abstract class NumberedPlan implements TypePlan {
  readonly problems: PlanProblem[] = [];
  total: number | null = null;
  protected readonly feed: Feed;
  protected readonly asked = new Ranges();
  /** The most items that came on one page. */
  protected largest = 0;
  /** Pages that came or were given up. */
  protected settled = 0;
  /** Learned without a total. */
  protected end: number | null = null;
  readonly #failures = new FailureRow();
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

  committed(page: SettledPage): void {
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

  #learn(page: SettledPage): void {
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
