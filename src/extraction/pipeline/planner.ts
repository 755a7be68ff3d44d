// Decides which page is asked for next, over all types of a run. Pure: it learns from outcomes and knows no time.
import type { PageRequest, SettledPage, SourceType, TypeProgress, TypeStatus } from '../ports.ts';
import { ChainPlan } from './plans/chain-plan.ts';
import { ChildPlan } from './plans/child-plan.ts';
import type { Feed } from './plans/feed.ts';
import { FeedsPlan } from './plans/feeds-plan.ts';
import { OffsetPlan } from './plans/offset-plan.ts';
import { PagePlan } from './plans/page-plan.ts';
import type { PlanProblem, TypePlan } from './plans/type-plan.ts';

/** A type of which nothing is left to ask for. */
export interface FinishedType {
  readonly type: string;
  readonly total: number | null;
  /** Reasons, besides failed pages, why it is not complete. */
  readonly problems: readonly PlanProblem[];
}

interface Planned {
  readonly type: SourceType;
  readonly plan: TypePlan;
  /** Takes what parents' pages name. */
  readonly members: ChildPlan | null;
  /** The type whose items name this one's; null when it finds its pages by itself. */
  readonly parent: string | null;
  /** Something of it is missing: what it names may be missing too. */
  isLacking: boolean;
  isReported: boolean;
}

/**
 * Every page that `next` gives is answered by one of `committed`, `failed` and `dropped`. Types come in their order:
 * a later one is asked for only when the earlier ones have nothing to ask at the moment.
 */
export class Planner {
  readonly #planned = new Map<string, Planned>();

  /** `progress` is what earlier runs of the session did; positions they covered are not asked for again. */
  constructor(types: readonly SourceType[], progress: readonly TypeProgress[], batchSize: number) {
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

  committed(outcome: SettledPage): void {
    const planned = this.#of(outcome.request);
    if (outcome.rejectedCount > 0) planned.isLacking = true;
    planned.plan.committed(outcome);
    this.#tellChildren(outcome);
  }

  failed(request: PageRequest, isTransient: boolean): void {
    const planned = this.#of(request);
    planned.isLacking = true;
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
        if (status !== 'completed' || problems.length > 0) planned.isLacking = true;
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

  #problemsOf({ type, plan, parent }: Planned): readonly PlanProblem[] {
    const source = parent === null ? undefined : this.#planned.get(parent);
    if (parent === null || !source?.isLacking) return plan.problems;
    const problem: PlanProblem = {
      request: { type: type.name, kind: 'whole', key: `parents:${parent}` },
      cause: 'parent-incomplete',
      message: `Not all ${parent} could be read, so members of ${type.name} may be missing.`,
    };
    return [...plan.problems, problem];
  }

  #replay(planned: Planned, done: readonly SettledPage[], failed: readonly PageRequest[]): void {
    const pages = [
      ...done.map((outcome) => ({ done: outcome })),
      ...failed.filter(({ key }) => !key.startsWith('parents:')).map((request) => ({ failed: request })),
    ].sort((a, b) => place(requestOf(a)) - place(requestOf(b)));
    if (failed.length > 0 || done.some(({ rejectedCount }) => rejectedCount > 0)) planned.isLacking = true;
    for (const page of pages) {
      planned.plan.replay(page);
      if ('done' in page) this.#tellChildren(page.done);
    }
  }

  #tellChildren({ children }: SettledPage): void {
    for (const child of children) this.#planned.get(child.type)?.members?.add(child);
  }

  #of({ type }: PageRequest): Planned {
    const planned = this.#planned.get(type);
    if (!planned) throw new RangeError(`The type "${type}" is not planned.`);
    return planned;
  }
}

function plannedOf(type: SourceType, batchSize: number): Planned {
  const state = { type, isLacking: false, isReported: false };
  const isListed = type.parent?.from === 'self';
  const feed = (listing: string): Feed => ({
    type: type.name,
    listing,
    paging: type.paging,
    limit: type.pageSize ?? batchSize,
    isListing: isListed,
  });
  const isOneEach = isListed || (type.paging === 'whole' && type.shape.items.kind === 'single');
  const members = type.parent
    ? new ChildPlan({ ...feed(''), paging: isListed ? 'whole' : type.paging, isListing: false }, isOneEach)
    : null;
  if (members && !isListed) return { ...state, plan: members, members, parent: type.parent?.from ?? null };
  const lists = (type.listings ?? [{ name: '' }]).map(({ name }) => [name, listPlan(feed(name))] as const);
  return { ...state, plan: new FeedsPlan(new Map(lists), members), members, parent: null };
}

function listPlan(feed: Feed): TypePlan {
  if (feed.paging === 'offset') return new OffsetPlan(feed);
  return feed.paging === 'page' ? new PagePlan(feed) : new ChainPlan(feed);
}

const requestOf = (page: { done: SettledPage } | { failed: PageRequest }): PageRequest =>
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
