// Plans pages of which each names the next: a cursor in the body, or a Link header. Also the one page of `whole`.
import type { SettledPage, PageRequest } from '../../ports.ts';
import type { Feed } from './feed.ts';
import { requestHead } from './feed.ts';
import type { PlanProblem, Replayed, TypePlan } from './type-plan.ts';

export class ChainPlan implements TypePlan {
  readonly #feed: Feed;
  readonly #seen = new Set<string>();
  #problem: PlanProblem | null = null;
  /** What `next` gives: a cursor (null: the beginning); nothing at the end, or when a page did not come. */
  #ahead: { readonly cursor: string | null; readonly index: number } | null = { cursor: null, index: 0 };
  #isUnderWay = false;
  total: number | null = null;

  constructor(feed: Feed) {
    this.#feed = feed;
  }

  get problems(): readonly PlanProblem[] {
    return this.#problem ? [this.#problem] : [];
  }

  next(): PageRequest | null {
    if (this.#isUnderWay || !this.#ahead) return null;
    this.#isUnderWay = true;
    return this.#request(this.#ahead.cursor, this.#ahead.index);
  }

  committed(outcome: SettledPage): void {
    this.#isUnderWay = false;
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
    this.#isUnderWay = false;
    this.#ahead = null;
  }

  dropped(): void {
    this.#isUnderWay = false;
  }

  replay(page: Replayed): void {
    if ('done' in page) this.committed(page.done);
    else this.failed();
  }

  get isFinished(): boolean {
    return !this.#isUnderWay && this.#ahead === null;
  }

  #request(cursor: string | null, index: number): PageRequest {
    if (this.#feed.paging === 'whole') return { ...requestHead(this.#feed, 'whole'), kind: 'whole' };
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
