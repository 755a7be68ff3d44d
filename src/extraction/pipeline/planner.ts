// Decides which page is asked for next, over all types of a run. Pure: it learns from outcomes and knows no time.
import type { PageRequest, PageResult, ContentType, TypeProgress, TypeStatus } from '../types.ts';
import { ChildPaginator } from './child-paginator.ts';
import { OffsetPaginator, PagePaginator } from './numbered-paginator.ts';
import type { Feed, ListProblem, Replayed, Paginator } from './paginator.ts';
import { CursorPaginator } from './paginator.ts';

/** A type of which nothing is left to ask for. */
export interface FinishedType {
  readonly type: string;
  readonly total: number | null;
  /** Reasons, besides failed pages, why it is not complete. */
  readonly problems: readonly ListProblem[];
}

interface Planned {
  readonly type: ContentType;
  readonly plan: Paginator;
  /** Takes what parents' pages name. */
  readonly members: ChildPaginator | null;
  /** The type whose items name this one's; null when it finds its pages by itself. */
  readonly parent: string | null;
  /** Something of it is missing: what it names may be missing too. */
  hasMissingItems: boolean;
  isReported: boolean;
}

/**
 * Every page that `next` gives is answered by one of `committed`, `failed` and `dropped`. Types come in their order:
 * a later one is asked for only when the earlier ones have nothing to ask at the moment.
 */
export class Planner {
  readonly #planned = new Map<string, Planned>();

  /** `progress` is what earlier runs of the session did; positions they covered are not asked for again. */
  constructor(types: readonly ContentType[], progress: readonly TypeProgress[], batchSize: number) {
    for (const type of types) this.#planned.set(type.name, plannedOf(type, batchSize));
    for (const { type, done, failed } of progress) {
      const planned = this.#planned.get(type);
      if (planned) this.#replay(planned, done, failed);
    }
  }

  next(): PageRequest | null {
    for (const { plan } of this.#planned.values()) {
      const request = plan.next();
      if (request) return request;
    }
    return null;
  }

  committed(outcome: PageResult): void {
    const planned = this.#of(outcome.request);
    if (outcome.rejectedCount > 0) planned.hasMissingItems = true;
    planned.plan.committed(outcome);
    this.#tellChildren(outcome);
  }

  failed(request: PageRequest, isTransient: boolean): void {
    const planned = this.#of(request);
    planned.hasMissingItems = true;
    planned.plan.failed(request, isTransient);
  }

  dropped(request: PageRequest): void {
    this.#of(request).plan.dropped(request);
  }

  /**
   * Types that have finished since this was last asked, parents before their children. `settle` says what the vault
   * makes of each: what hangs on a type that is not completed cannot be complete either.
   */
  takeFinished(settle: (finished: FinishedType) => TypeStatus = () => 'completed'): readonly FinishedType[] {
    const all: FinishedType[] = [];
    // Finishing a parent can finish its children: once around per level.
    for (let before = -1; before !== all.length;) {
      before = all.length;
      for (const planned of this.#planned.values()) {
        if (planned.isReported || !this.#isFinished(planned)) continue;
        const problems = this.#problemsOf(planned);
        const finished = { type: planned.type.name, total: planned.plan.total, problems };
        // What cannot be settled now is finished all the same, and comes again.
        const status = settle(finished);
        planned.isReported = true;
        all.push(finished);
        if (status !== 'completed' || problems.length > 0) planned.hasMissingItems = true;
      }
    }
    return all;
  }

  /** Nothing is left, of any type. */
  get isFinished(): boolean {
    return this.#planned.values().every((planned) => planned.isReported);
  }

  totalOf(type: string): number | null {
    return this.#planned.get(type)?.plan.total ?? null;
  }

  #isFinished({ plan, parent }: Planned): boolean {
    const source = parent === null ? undefined : this.#planned.get(parent);
    return plan.isFinished && (source?.isReported ?? true);
  }

  #problemsOf({ type, plan, parent }: Planned): readonly ListProblem[] {
    const source = parent === null ? undefined : this.#planned.get(parent);
    if (parent === null || !source?.hasMissingItems) return plan.problems;
    const problem: ListProblem = {
      request: { type: type.name, kind: 'whole', key: `parents:${parent}` },
      cause: 'parent-incomplete',
      message: `Not all ${parent} could be read, so members of ${type.name} may be missing.`,
    };
    return [...plan.problems, problem];
  }

  #replay(planned: Planned, done: readonly PageResult[], failed: readonly PageRequest[]): void {
    const pages = [
      ...done.map((outcome) => ({ done: outcome })),
      ...failed.filter(({ key }) => !key.startsWith('parents:')).map((request) => ({ failed: request })),
    ].sort((a, b) => place(requestOf(a)) - place(requestOf(b)));
    if (failed.length > 0 || done.some(({ rejectedCount }) => rejectedCount > 0))
      planned.hasMissingItems = true;
    for (const page of pages) {
      planned.plan.replay(page);
      if ('done' in page) this.#tellChildren(page.done);
    }
  }

  #tellChildren({ children }: PageResult): void {
    for (const child of children) this.#planned.get(child.type)?.members?.add(child);
  }

  #of({ type }: PageRequest): Planned {
    const planned = this.#planned.get(type);
    if (!planned) throw new RangeError(`The type "${type}" is not planned.`);
    return planned;
  }
}

function plannedOf(type: ContentType, batchSize: number): Planned {
  const state = { type, hasMissingItems: false, isReported: false };
  const isListed = type.parent?.from === 'self';
  const feed = (listing: string): Feed => ({
    type: type.name,
    listing,
    pagination: type.pagination,
    limit: type.pageSize ?? batchSize,
    isListing: isListed,
  });
  const isOneEach = isListed || (type.pagination === 'whole' && type.shape.items.kind === 'single');
  const members = type.parent
    ? new ChildPaginator(
        { ...feed(''), pagination: isListed ? 'whole' : type.pagination, isListing: false },
        isOneEach,
      )
    : null;
  if (members && !isListed) return { ...state, plan: members, members, parent: type.parent?.from ?? null };
  const lists = (type.listings ?? [{ name: '' }]).map(({ name }) => [name, listPlan(feed(name))] as const);
  return { ...state, plan: new FeedsPlan(new Map(lists), members), members, parent: null };
}

function listPlan(feed: Feed): Paginator {
  if (feed.pagination === 'offset') return new OffsetPaginator(feed);
  return feed.pagination === 'page' ? new PagePaginator(feed) : new CursorPaginator(feed);
}

const requestOf = (page: { done: PageResult } | { failed: PageRequest }): PageRequest =>
  'done' in page ? page.done.request : page.failed;

const childrenLast = 2 ** 40;

/** Replayed in the order of the source, listings before members. */
function place(request: PageRequest): number {
  switch (request.kind) {
    case 'offset':
      return request.offset;
    case 'page':
      return request.page * request.limit;
    case 'cursor':
      return request.index;
    case 'whole':
      return 0;
    case 'child':
  }
  return childrenLast + (request.position?.index ?? 0);
}

// Plans a type that is fed by several lists, or by lists whose members are then fetched one by one (looks).

export class FeedsPlan implements Paginator {
  /** By the name of the listing. */
  readonly #lists: ReadonlyMap<string, Paginator>;
  readonly #members: ChildPaginator | null;

  constructor(lists: ReadonlyMap<string, Paginator>, members: ChildPaginator | null) {
    this.#lists = lists;
    this.#members = members;
  }

  /** The lists first: only they say how much there is. */
  next(): PageRequest | null {
    for (const list of this.#lists.values()) {
      const request = list.next();
      if (request) return request;
    }
    return this.#members?.next() ?? null;
  }
  committed(outcome: PageResult): void {
    this.#planOf(outcome.request).committed(outcome);
  }
  failed(request: PageRequest, isTransient: boolean): void {
    this.#planOf(request).failed(request, isTransient);
  }
  dropped(request: PageRequest): void {
    this.#planOf(request).dropped(request);
  }
  replay(page: Replayed): void {
    this.#planOf('done' in page ? page.done.request : page.failed).replay(page);
  }
  get isFinished(): boolean {
    return this.#listsAreFinished && (this.#members?.isFinished ?? true);
  }
  get total(): number | null {
    const totals = this.#lists
      .values()
      .map((list) => list.total)
      .toArray();
    if (totals.every((total) => total !== null)) return totals.reduce((sum, total) => sum + total, 0);
    return this.#listsAreFinished ? (this.#members?.total ?? null) : null;
  }
  get problems(): readonly ListProblem[] {
    return this.#lists
      .values()
      .flatMap((list) => list.problems)
      .toArray();
  }

  get #listsAreFinished(): boolean {
    return this.#lists.values().every((list) => list.isFinished);
  }

  #planOf(request: PageRequest): Paginator {
    const plan = request.kind === 'child' ? this.#members : this.#lists.get(request.listing ?? '');
    if (!plan) throw new TypeError(`Nothing planned the page "${request.key}" of ${request.type}.`);
    return plan;
  }
}
