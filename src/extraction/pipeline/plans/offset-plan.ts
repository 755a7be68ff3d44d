// Plans pages that are asked for by the position of their first item.
import type { PageRequest } from '../../ports.ts';
import { requestHead } from './feed.ts';
import type { Arrival, Place } from './numbered-plan.ts';
import { NumberedPlan } from './numbered-plan.ts';

/**
 * A page that is short of its limit although more is there may show the server's own limit: what it left out is asked
 * for again. Pages are then asked for in multiples of the largest that came: a server with that limit needs no call
 * more for it, since what it leaves out divides into whole pages, and one that has none shows so at once.
 */
export class OffsetPlan extends NumberedPlan {
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

  /** The rest of a short page, asked for again, ends as that page did: the server leaves items out, and counts them. */
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
