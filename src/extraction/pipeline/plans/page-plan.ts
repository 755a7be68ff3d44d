// Plans pages that are asked for by their number.
import type { PageRequest } from '../../ports.ts';
import type { Feed } from './feed.ts';
import { requestHead } from './feed.ts';
import type { Arrival, Place } from './numbered-plan.ts';
import { NumberedPlan } from './numbered-plan.ts';
import type { Replayed } from './type-plan.ts';

/**
 * Numbers mean something only with the limit they were asked with: it never changes, also not from run to run. A server
 * with a limit of its own counts in pages of that, so the largest page that came says how many there are.
 */
export class PagePlan extends NumberedPlan {
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
