// Where the list of a child goes on after a page of it.
import type { ChildPosition, Paging, SettledPage } from '../../ports.ts';
import { haveSameEnds, lengthOf } from './feed.ts';

export interface After {
  readonly position: ChildPosition;
  /** The page was the same as the one before it: going on would never end. */
  readonly isRepeated: boolean;
  /** How many the page held, if it was not full and only that the server may give no more speaks for another. */
  readonly doubt: number | null;
}

interface Child {
  readonly parentKey: string | null;
  readonly childKey: string;
}

/**
 * Named pages go on as long as they name a new one; numbered ones until the total, or until a page that holds less than
 * the server has been seen to give: that of any child, so that mostly no call is needed to find out.
 */
export class ChildLists {
  readonly #paging: Paging;
  /** The newest page of each child that goes on. */
  readonly #last = new Map<string, { readonly index: number; readonly page: SettledPage }>();
  readonly #cursors = new Map<string, Set<string>>();
  /** The most items that came on one page, of any child. */
  largest = 0;
  #hasLinks = false;

  constructor(paging: Paging) {
    this.#paging = paging;
  }

  /** Null where the list ends. */
  after(page: SettledPage, at: ChildPosition, { parentKey, childKey }: Child): After | null {
    const child = JSON.stringify([parentKey, childKey]);
    const isNamed = this.#paging === 'cursor' || this.#paging === 'link';
    const after = isNamed ? this.#afterNamed(page, at, child) : this.#afterNumbered(page, at, child);
    if (!after) {
      this.#last.delete(child);
      this.#cursors.delete(child);
    }
    return after;
  }

  #afterNamed({ next }: SettledPage, { index, cursor, limit }: ChildPosition, child: string): After | null {
    if (next === null) return null;
    const seen = this.#cursors.get(child) ?? new Set();
    if (cursor !== null) seen.add(cursor);
    this.#cursors.set(child, seen);
    return { position: { index: index + 1, cursor: next, limit }, isRepeated: seen.has(next), doubt: null };
  }

  #afterNumbered(page: SettledPage, at: ChildPosition, child: string): After | null {
    const { index, limit, offset = index * limit } = at;
    const count = lengthOf(page, false);
    const reached = offset + count;
    this.largest = Math.max(this.largest, count);
    if (page.next !== null) this.#hasLinks = true;
    const isFull = count >= limit;
    const hasMore =
      page.total === null
        ? page.next !== null || (!this.#hasLinks && count >= Math.min(limit, this.largest))
        : reached < page.total;
    if (!hasMore || count === 0) return null;
    const last = this.#last.get(child);
    const isRepeated = page.total === null && last?.index === index - 1 && haveSameEnds(last.page, page);
    this.#last.set(child, { index, page });
    return {
      position: {
        index: index + 1,
        cursor: null,
        limit,
        ...(isFull && offset === index * limit ? {} : { offset: reached }),
      },
      isRepeated,
      doubt: page.total === null && page.next === null && !isFull ? count : null,
    };
  }
}
