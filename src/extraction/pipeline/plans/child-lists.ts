// Where the list of a child goes on after a page of it.
import type { ChildPosition, Paging, SettledPage } from '../../ports.ts';
import { haveSameEnds, lengthOf } from './feed.ts';
import type { ListProblem } from './type-plan.ts';
import { repeatedPage, shortList } from './type-plan.ts';

export interface After {
  readonly position: ChildPosition;
  /** Why the list ends here although more of it should be there: the position is then not asked for. */
  readonly problem: ListProblem | null;
  /** How many the page held, if it was not full and only that the server may give no more speaks for another. */
  readonly doubt: number | null;
}

interface Child {
  readonly parentKey: string | null;
  readonly childKey: string;
}

/** What the pages of one child told so far. */
interface List {
  last: { readonly index: number; readonly page: SettledPage } | null;
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
  readonly #paging: Paging;
  /** Those that go on. */
  readonly #lists = new Map<string, List>();
  /** The most items that came on one page, of any child. */
  largest = 0;
  #hasLinks = false;

  constructor(paging: Paging) {
    this.#paging = paging;
  }

  /** Null where the list ends. */
  after(page: SettledPage, at: ChildPosition, { parentKey, childKey }: Child): After | null {
    const child = JSON.stringify([parentKey, childKey]);
    const list = this.#lists.get(child) ?? { last: null, total: null, came: 0, cursors: new Set() };
    if (page.total !== null) list.total = Math.max(list.total ?? 0, page.total);
    list.came += lengthOf(page, false);
    const isNumbered = this.#paging === 'offset' || this.#paging === 'page';
    const after = isNumbered ? this.#afterNumbered(page, at, list) : this.#afterNamed(page, at, list);
    list.last = { index: at.index, page };
    if (after && !after.problem) this.#lists.set(child, list);
    else this.#lists.delete(child);
    return after;
  }

  /** Also after the only page of a list that has no others. */
  #afterNamed(page: SettledPage, { index, cursor, limit }: ChildPosition, list: List): After | null {
    const { total, came, cursors } = list;
    const next = this.#paging === 'whole' ? null : page.next;
    const position = { index: index + 1, cursor: next, limit };
    if (next === null)
      return total !== null && came < total
        ? { position, problem: shortList(total, came), doubt: null }
        : null;
    if (cursor !== null) cursors.add(cursor);
    return { position, problem: cursors.has(next) ? repeatedPage : null, doubt: null };
  }

  #afterNumbered(page: SettledPage, at: ChildPosition, { last, total }: List): After | null {
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
