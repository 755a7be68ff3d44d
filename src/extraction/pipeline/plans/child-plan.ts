// Plans what has an address each, told by the items of another type or by a listing of the type's own.
import type { ChildPosition, PageOutcome, PageRequest, ParsedPage } from '../../ports.ts';
import type { Feed } from './feed.ts';
import { lengthOf, requestHead } from './feed.ts';
import type { PlanProblem, Replayed, TypePlan } from './type-plan.ts';
import { FailureRow } from './type-plan.ts';

type ChildRequest = Extract<PageRequest, { kind: 'child' }>;

/** Each child is one call, or a list of its own that is read page after page. */
export class ChildPlan implements TypePlan {
  readonly problems: PlanProblem[] = [];
  readonly #feed: Feed;
  /** One item per child: then their number is the type's total. */
  readonly #isOneEach: boolean;
  readonly #children = new Set<string>();
  /** Pages that were named or answered once. */
  readonly #known = new Set<string>();
  /** By key, in the order in which they were named. */
  readonly #waiting = new Map<string, ChildRequest>();
  readonly #failures = new FailureRow();
  #underWay = 0;

  constructor(feed: Feed, isOneEach: boolean) {
    this.#feed = feed;
    this.#isOneEach = isOneEach;
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
    this.#waiting.delete(request.key);
    this.#underWay++;
    return request;
  }

  committed(outcome: PageOutcome): void {
    this.#underWay--;
    this.#failures.clear();
    this.#goOn(outcome);
  }

  failed(_request: PageRequest, isTransient: boolean): void {
    this.#underWay--;
    this.#failures.note(isTransient);
  }

  dropped(request: PageRequest): void {
    this.#underWay--;
    if (request.kind === 'child') this.#waiting.set(request.key, request);
  }

  replay(page: Replayed): void {
    const request = 'done' in page ? page.done.request : page.failed;
    if (request.kind !== 'child') return;
    this.#children.add(JSON.stringify([request.parentKey, request.childKey]));
    this.#known.add(request.key);
    this.#waiting.delete(request.key);
    if ('done' in page) this.#goOn(page.done);
  }

  get isFinished(): boolean {
    return this.#underWay === 0 && (this.#waiting.size === 0 || this.#failures.isTooLong);
  }

  #await(request: ChildRequest): void {
    if (this.#known.has(request.key)) return;
    this.#known.add(request.key);
    this.#waiting.set(request.key, request);
  }

  /** Asks for the next page of a child's list, if there is one. */
  #goOn(outcome: PageOutcome): void {
    const { request } = outcome;
    if (request.kind !== 'child' || request.position === undefined) return;
    const position = nextPosition(request.position, outcome, this.#feed);
    if (position) this.#await(this.#request(request.childKey, request.parentKey, position));
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

/** Named pages go on as long as they name a new one; numbered ones until the total or a page that is not full. */
function nextPosition(
  { index, cursor, limit }: ChildPosition,
  outcome: PageOutcome,
  { paging }: Feed,
): ChildPosition | null {
  const next = index + 1;
  if (paging === 'cursor' || paging === 'link')
    return outcome.next === null || outcome.next === cursor
      ? null
      : { index: next, cursor: outcome.next, limit };
  const count = lengthOf(outcome, false);
  const hasMore = outcome.total === null ? count >= limit : index * limit + count < outcome.total;
  if (!hasMore || count === 0) return null;
  // The first page tells the server's own limit, if that is lower.
  return { index: next, cursor: null, limit: index === 0 ? Math.min(limit, count) : limit };
}
