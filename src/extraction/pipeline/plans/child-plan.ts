// Plans what has an address each, told by the items of another type or by a listing of the type's own.
import type { ChildPosition, PageRequest, ParsedPage, SettledPage } from '../../ports.ts';
import { ChildLists } from './child-lists.ts';
import type { Feed } from './feed.ts';
import { requestHead } from './feed.ts';
import type { PlanProblem, Replayed, TypePlan } from './type-plan.ts';
import { FailureRow } from './type-plan.ts';

type ChildRequest = Extract<PageRequest, { kind: 'child' }>;

/** Each child is one call, or a list of its own that is read page after page. */
export class ChildPlan implements TypePlan {
  readonly problems: PlanProblem[] = [];
  readonly #feed: Feed;
  /** One item per child: then their number is the type's total. */
  readonly #isOneEach: boolean;
  readonly #lists: ChildLists;
  readonly #children = new Set<string>();
  /** Pages that were named or answered once, whatever their limit: see `pageOf`. */
  readonly #known = new Set<string>();
  /** By `pageOf`, in the order in which they were named. */
  readonly #waiting = new Map<string, ChildRequest>();
  /** Those that wait only because the page before may have been cut short by the server: how many that one held. */
  readonly #doubtful = new Map<string, number>();
  readonly #failures = new FailureRow();
  #underWay = 0;

  constructor(feed: Feed, isOneEach: boolean) {
    this.#feed = feed;
    this.#isOneEach = isOneEach;
    this.#lists = new ChildLists(feed.paging);
  }

  /** What a parent's page told. Children that are known already are not asked for twice. */
  add({ childKey, parentKey }: ParsedPage['children'][number]): void {
    const name = JSON.stringify([parentKey, childKey]);
    if (this.#children.has(name)) return;
    this.#children.add(name);
    this.#await(this.#request(childKey, parentKey, this.#firstPosition()));
  }

  get total(): number | null {
    return this.#isOneEach ? this.#children.size : null;
  }

  next(): PageRequest | null {
    if (this.#failures.isTooLong) return null;
    const [request] = this.#waiting.values();
    if (!request) return null;
    this.#forget(pageOf(request));
    this.#underWay++;
    return request;
  }

  committed(page: SettledPage): void {
    this.#underWay--;
    this.#failures.clear();
    this.#goOn(page);
  }

  failed(_request: PageRequest, isTransient: boolean): void {
    this.#underWay--;
    this.#failures.note(isTransient);
  }

  dropped(request: PageRequest): void {
    this.#underWay--;
    if (request.kind === 'child') this.#waiting.set(pageOf(request), request);
  }

  replay(page: Replayed): void {
    const request = 'done' in page ? page.done.request : page.failed;
    if (request.kind !== 'child') return;
    this.#children.add(JSON.stringify([request.parentKey, request.childKey]));
    this.#known.add(pageOf(request));
    this.#forget(pageOf(request));
    if ('done' in page) this.#goOn(page.done);
  }

  get isFinished(): boolean {
    return this.#underWay === 0 && (this.#waiting.size === 0 || this.#failures.isTooLong);
  }

  #await(request: ChildRequest): boolean {
    const page = pageOf(request);
    if (this.#known.has(page)) return false;
    this.#known.add(page);
    this.#waiting.set(page, request);
    return true;
  }

  #forget(page: string): void {
    this.#waiting.delete(page);
    this.#doubtful.delete(page);
  }

  /** Asks for the next page of a child's list, if there is one. */
  #goOn(page: SettledPage): void {
    const { request } = page;
    if (request.kind !== 'child' || this.#isOneEach) return;
    const largestBefore = this.#lists.largest;
    const position = request.position ?? { index: 0, cursor: null, limit: this.#feed.limit };
    const after = this.#lists.after(page, position, request);
    // The server gives more than it seemed: lists that were shorter than that ended there.
    if (this.#lists.largest > largestBefore)
      for (const [waiting, count] of this.#doubtful) if (count < this.#lists.largest) this.#forget(waiting);
    if (!after) return;
    const next = this.#request(request.childKey, request.parentKey, after.position);
    if (after.problem) this.problems.push({ request: next, ...after.problem });
    else if (this.#await(next) && after.doubt !== null) this.#doubtful.set(pageOf(next), after.doubt);
  }

  #firstPosition(): ChildPosition | undefined {
    return this.#feed.paging === 'whole' ? undefined : { index: 0, cursor: null, limit: this.#feed.limit };
  }

  #request(childKey: string, parentKey: string | null, position: ChildPosition | undefined): ChildRequest {
    const child = parentKey === null ? childKey : `${parentKey}::${childKey}`;
    const place = position ? `/${position.index}*${position.limit}:${position.cursor ?? ''}` : '';
    const head = {
      ...requestHead(this.#feed, `child:${child}${place}`),
      kind: 'child',
      childKey,
      parentKey,
    } as const;
    return position ? { ...head, position } : head;
  }
}

/** A list is read with the limit it was begun with: its third page is its third page, whatever the limit is now. */
const pageOf = ({ parentKey, childKey, position }: ChildRequest): string =>
  JSON.stringify([parentKey, childKey, position?.index ?? 0]);
