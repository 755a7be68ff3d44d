// Plans pages that are asked for by position: offset and limit, or page number.
import type { PageOutcome, PageRequest } from '../../ports.ts';
import type { Feed } from './feed.ts';
import { lengthOf, requestHead } from './feed.ts';
import { Ranges } from './ranges.ts';
import type { Replayed, TypePlan } from './type-plan.ts';
import { FailureRow } from './type-plan.ts';

/** Where the end is not known, this many holes in a row are taken for it. */
const holesAtTheEnd = 2;

/**
 * Keeps the positions that were asked for. With a total all the others are asked for at once; without, one page after
 * the other until a short one. A page that is short of its limit although more is there tells the server's own limit:
 * what it left out is asked for again, in pages of that size.
 */
export class OffsetPlan implements TypePlan {
  readonly problems = [];
  readonly #feed: Feed;
  readonly #asked = new Ranges();
  readonly #failures = new FailureRow();
  #limit: number;
  #underWay = 0;
  #end: number | null = null;
  #holesInRow = 0;
  #hasLinks = false;
  total: number | null = null;

  constructor(feed: Feed) {
    this.#feed = feed;
    this.#limit = feed.limit;
  }

  next(): PageRequest | null {
    const gap = this.#nextGap();
    if (!gap) return null;
    this.#underWay++;
    this.#asked.add(gap.start, gap.start + gap.length);
    return this.#request(gap.start, gap.length);
  }

  committed(outcome: PageOutcome): void {
    this.#underWay--;
    this.#failures.clear();
    this.#learn(outcome);
  }

  failed(_request: PageRequest, isTransient: boolean): void {
    this.#underWay--;
    this.#failures.note(isTransient);
    // Whoever is refused for good will be refused the next page too; after a server's failure one hole is stepped over.
    this.#holesInRow = isTransient ? this.#holesInRow + 1 : holesAtTheEnd;
  }

  dropped(request: PageRequest): void {
    this.#underWay--;
    const { start, length } = placeOf(request);
    this.#asked.remove(start, start + length);
  }

  replay(page: Replayed): void {
    const request = 'done' in page ? page.done.request : page.failed;
    // Page numbers mean something only with the limit they were asked with: it stays.
    if (request.kind === 'page') this.#limit = request.limit;
    const { start, length } = placeOf(request);
    this.#asked.add(start, start + length);
    if ('done' in page) this.#learn(page.done);
    else this.#holesInRow++;
  }

  get isFinished(): boolean {
    return this.#underWay === 0 && this.#nextGap() === null;
  }

  #nextGap(): { start: number; length: number } | null {
    if (this.#failures.isTooLong) return null;
    const gap = this.#asked.firstGap();
    if (this.#end === null) {
      // One after the other: only the answer tells whether there is more.
      if (this.#underWay > 0 || this.#holesInRow >= holesAtTheEnd) return null;
    } else if (gap.start >= this.#end) {
      return null;
    }
    return { start: gap.start, length: Math.min(this.#limit, gap.end - gap.start) };
  }

  #learn(outcome: PageOutcome): void {
    const { start, length } = placeOf(outcome.request);
    const count = lengthOf(outcome, this.#feed.isListing);
    const reached = start + count;
    this.#holesInRow = 0;
    if (outcome.total !== null) {
      // The largest told: a source that shrinks while it is read moves items past us, and a smaller total would call
      // that complete.
      this.total = Math.max(this.total ?? 0, outcome.total);
      this.#end = Math.max(this.#end ?? 0, outcome.total);
    }
    if (outcome.next !== null) this.#hasLinks = true;
    const isShort = count < length;
    const hasMore = this.total === null ? outcome.next !== null : reached < (outcome.total ?? this.total);
    if (isShort && hasMore && count > 0) {
      this.#limit = Math.min(this.#limit, count);
      this.#asked.remove(reached, start + length);
    } else if (this.total === null && !hasMore && (isShort || this.#hasLinks)) {
      this.#end = Math.min(this.#end ?? reached, reached);
    }
  }

  #request(start: number, length: number): PageRequest {
    if (this.#feed.paging === 'offset')
      return {
        ...requestHead(this.#feed, `offset:${start}+${length}`),
        kind: 'offset',
        offset: start,
        limit: length,
      };
    const [page, limit] = [start / this.#limit, this.#limit];
    return { ...requestHead(this.#feed, `page:${page}*${limit}`), kind: 'page', page, limit };
  }
}

function placeOf(request: PageRequest): { start: number; length: number } {
  if (request.kind === 'offset') return { start: request.offset, length: request.limit };
  if (request.kind === 'page') return { start: request.page * request.limit, length: request.limit };
  throw new TypeError(`The page "${request.key}" of ${request.type} has no position.`);
}
