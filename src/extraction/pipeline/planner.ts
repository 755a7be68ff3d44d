// Decides which page is requested next, over all types of a run. Pure: it depends on results only, not on time.
import type {
  ContentType,
  EndCounts,
  Endpoint,
  EndOfList,
  ListRef,
  PagePosition,
  PageRequest,
  PageResult,
  TypeProgress,
  TypeState,
} from '../types.ts';
import { OffsetPaginator, PagePaginator } from './numbered-paginator.ts';
import type { ListConfig, ListProblem, Paginator } from './paginator.ts';
import { CursorPaginator, failedPages, firstItemOf, ListGroup, listKey, requestFor } from './paginator.ts';

/** A type with nothing left to request. */
export interface FinishedType {
  readonly type: string;
  readonly total: number | null;
  /** How its lists ended. */
  readonly ends: EndCounts;
  /** As in TypeEnd. */
  readonly areAllGone: boolean;
  readonly isRequestedById: boolean;
  /** Reasons, besides failed pages, why it is not complete. */
  readonly problems: readonly ListProblem[];
}

/**
 * Every page that `next` returns is settled by `committed` or `failed`. Types come in their order: a later one is
 * requested only while the earlier ones have nothing to request.
 */
export class Planner {
  readonly #types = new Map<string, TypePlan>();

  /** `progress` is what earlier runs of the session did; their pages are not requested again. */
  constructor(types: readonly ContentType[], progress: readonly TypeProgress[], batchSize: number) {
    for (const type of types) this.#types.set(type.name, new TypePlan(type, batchSize));
    for (const { type, done, failed } of progress) {
      const plan = this.#types.get(type);
      if (plan) this.#replay(plan, done, failed);
    }
  }

  next(): PageRequest | null {
    for (const plan of this.#types.values()) {
      const request = plan.next();
      if (request) return request;
    }
    return null;
  }

  committed(page: PageResult): void {
    this.#planOf(page.request).committed(page);
    this.#addChildren(page);
  }

  failed(request: PageRequest, isTransient: boolean): void {
    this.#planOf(request).failed(request, isTransient);
  }

  /**
   * Types that have finished since the last call, parents before their children. `finish` returns the vault's status of
   * each: children of a type that is not completed cannot be complete either.
   */
  takeFinished(finish: (finished: FinishedType) => TypeState = () => 'completed'): readonly FinishedType[] {
    const all: FinishedType[] = [];
    // Finishing a parent can finish its children: one round per level.
    for (let before = -1; before !== all.length;) {
      before = all.length;
      for (const plan of this.#types.values()) {
        const parent = this.#parentOf(plan);
        if (plan.isReported || !plan.isFinished || parent?.isReported === false) continue;
        const { ends, areAllGone, isRequestedById } = plan;
        const problems = [
          ...plan.problems,
          ...(parent?.hasMissingItems ? [parentProblem(plan, parent)] : []),
        ];
        const facts = { total: plan.total, ends, areAllGone, isRequestedById, problems };
        const finished = { type: plan.type.name, ...facts };
        // A `finish` that throws leaves the type finished and unreported: it is returned again.
        const state = finish(finished);
        plan.isReported = true;
        all.push(finished);
        if (state !== 'completed' || problems.length > 0) plan.hasMissingItems = true;
      }
    }
    return all;
  }

  /** No type has anything left to request. */
  get isFinished(): boolean {
    return this.#types.values().every((plan) => plan.isReported);
  }

  totalOf(type: string): number | null {
    return this.#types.get(type)?.total ?? null;
  }

  #replay(plan: TypePlan, done: readonly PageResult[], failed: readonly PageRequest[]): void {
    const pages = [
      ...done.map((page) => ({ request: page.request, page })),
      ...failed
        .filter(({ key }) => !key.startsWith(parentKeyPrefix))
        .map((request) => ({ request, page: null })),
    ];
    if (failed.length > 0 || done.some(({ rejectedCount }) => rejectedCount > 0)) plan.hasMissingItems = true;
    for (const { request, page } of pages.sort((a, b) => replayOrder(a.request, b.request))) {
      plan.replay(request, page);
      if (page) this.#addChildren(page);
    }
  }

  #addChildren({ children }: PageResult): void {
    for (const list of children) this.#types.get(list.type)?.addChild(list);
  }

  /** The parent of a type that is not listed by itself. */
  #parentOf({ type }: TypePlan): TypePlan | undefined {
    return type.parent && type.parent.type !== type.name ? this.#types.get(type.parent.type) : undefined;
  }

  #planOf({ list }: PageRequest): TypePlan {
    const plan = this.#types.get(list.type);
    if (!plan) throw new RangeError(`The type "${list.type}" is not planned.`);
    return plan;
  }
}

interface List {
  readonly ref: ListRef;
  readonly group: ListGroup;
  readonly paginator: Paginator;
}

/** The lists of one type: root lists first, because only they have totals, then child lists. */
class TypePlan {
  readonly type: ContentType;
  readonly problems: ListProblem[] = [];
  isReported = false;
  /** Something of it is missing: the children it names may be missing too. */
  hasMissingItems = false;
  readonly #batchSize: number;
  readonly #rootLists: readonly List[];
  /** Lists by key, until they have ended. */
  readonly #open = new Map<string, List>();
  /** Child lists that may have a page to request, in the order in which they were named. */
  readonly #ready = new Set<List>();
  readonly #knownChildren = new Set<string>();
  readonly #childGroup = new ListGroup();
  readonly #ends: Partial<Record<EndOfList['by'], number>> = {};
  #inFlight = 0;
  /** Child lists whose item or parent does not exist any more. */
  #goneChildren = 0;

  constructor(type: ContentType, batchSize: number) {
    this.type = type;
    this.#batchSize = batchSize;
    const isRoot = ({ isListingOnly }: Endpoint) =>
      type.parent === undefined || (type.parent.type === type.name && isListingOnly === true);
    this.#rootLists = type.endpoints.filter(isRoot).map(({ name }) => {
      return this.#openList({ type: type.name, endpoint: name, parents: [] }, new ListGroup());
    });
  }

  addChild(ref: ListRef): void {
    const key = listKey(ref);
    if (this.#knownChildren.has(key)) return;
    this.#knownChildren.add(key);
    this.#ready.add(this.#openList(ref, this.#childGroup));
  }

  next(): PageRequest | null {
    for (const list of this.#rootLists) {
      const position = list.paginator.next();
      if (position) return this.#request(list, position);
    }
    for (const list of this.#ready) {
      const position = list.paginator.next();
      if (position) return this.#request(list, position);
      if (this.#childGroup.hasFailedTooOften) return null;
      this.#ready.delete(list);
      this.#closeIfEnded(list);
    }
    return null;
  }

  committed(page: PageResult): void {
    if (page.rejectedCount > 0) this.hasMissingItems = true;
    this.#countGone(page);
    this.#settle(page.request, ({ group, paginator }) => {
      group.recordSuccess();
      paginator.onCommitted(page);
    });
  }

  failed(request: PageRequest, isTransient: boolean): void {
    this.hasMissingItems = true;
    this.#settle(request, ({ group, paginator }) => {
      group.recordFailure(isTransient);
      paginator.onFailed(isTransient);
    });
  }

  /** A page of an earlier run; `page` null: it failed. Failures of earlier runs do not count as consecutive ones. */
  replay({ list, position }: PageRequest, page: PageResult | null): void {
    if (list.parents.length > 0) this.addChild(list);
    const paginator = this.#open.get(listKey(list))?.paginator;
    paginator?.replay(position);
    if (!page) return paginator?.onFailed(true);
    this.#countGone(page);
    paginator?.onCommitted(page);
  }

  #countGone({ isNotFound, request }: PageResult): void {
    const isFirst = request.list.parents.length > 0 && firstItemOf(request) === 0;
    if (isNotFound === true && isFirst) this.#goneChildren++;
  }

  get areAllGone(): boolean {
    return this.#goneChildren > 1 && this.#goneChildren === this.#knownChildren.size;
  }

  /** Nothing is in flight and nothing is left to request. */
  get isFinished(): boolean {
    if (this.#inFlight > 0) return false;
    if (this.#rootLists.some(({ paginator }) => paginator.end === null)) return false;
    if (this.#childGroup.hasFailedTooOften) return true;
    for (const list of this.#ready) {
      if (list.paginator.end === null) return false;
      this.#ready.delete(list);
      this.#closeIfEnded(list);
    }
    return true;
  }

  /**
   * Sum of the totals of the root lists if all are known; for items requested one by one, their number once all are
   * named.
   */
  get total(): number | null {
    const totals = this.#rootLists.map(({ paginator }) => paginator.total);
    if (totals.length > 0 && totals.every((total) => total !== null))
      return totals.reduce((sum, total) => sum + total, 0) - this.#goneChildren;
    const areNamed = this.#rootLists.every(({ paginator }) => paginator.end !== null);
    return areNamed && this.isRequestedById ? this.#knownChildren.size - this.#goneChildren : null;
  }

  get ends(): EndCounts {
    for (const list of this.#open.values()) this.#close(list, list.paginator.end ?? failedPages);
    return this.#ends;
  }

  get isRequestedById(): boolean {
    const { parent, endpoints, shape } = this.type;
    const ofChildren = endpoints.filter(({ isListingOnly }) => isListingOnly !== true);
    return parent !== undefined && ofChildren.every((endpoint) => isSingleItem(endpoint, shape));
  }

  #request({ ref }: List, position: PagePosition): PageRequest {
    this.#inFlight++;
    return requestFor(ref, position);
  }

  #settle(request: PageRequest, apply: (list: List) => void): void {
    const list = this.#open.get(listKey(request.list));
    if (!list) throw new TypeError(`No list planned the page "${request.key}" of ${this.type.name}.`);
    this.#inFlight--;
    apply(list);
    if (list.ref.parents.length === 0) return;
    this.#ready.delete(list);
    if (list.paginator.end === null) this.#ready.add(list);
    else this.#closeIfEnded(list);
  }

  #openList(ref: ListRef, group: ListGroup): List {
    const endpoint = this.type.endpoints.find(({ name }) => name === ref.endpoint);
    if (!endpoint) throw new RangeError(`${ref.type} has no endpoint "${ref.endpoint}".`);
    const paginator = paginatorFor({
      list: ref,
      endpoint,
      limit: endpoint.pageSize ?? this.#batchSize,
      group,
      isSingleItem: isSingleItem(endpoint, this.type.shape),
    });
    const list = { ref, group, paginator };
    this.#open.set(listKey(ref), list);
    return list;
  }

  /** Child lists can be many: what has ended is only counted. */
  #closeIfEnded(list: List): void {
    const { end } = list.paginator;
    if (end) this.#close(list, end);
  }

  #close({ ref, paginator }: List, { by }: EndOfList): void {
    if (!this.#open.delete(listKey(ref))) return;
    this.#ends[by] = (this.#ends[by] ?? 0) + 1;
    if (paginator.problem) this.problems.push(paginator.problem);
  }
}

const isSingleItem = ({ pagination, shape }: Endpoint, typeShape: ContentType['shape']): boolean =>
  pagination === 'single' && (shape ?? typeShape).items.kind === 'single';

function paginatorFor(config: ListConfig): Paginator {
  const { pagination } = config.endpoint;
  if (pagination === 'offset') return new OffsetPaginator(config);
  return pagination === 'page' ? new PagePaginator(config) : new CursorPaginator(config);
}

const parentKeyPrefix = 'parents:';

/** Stored like a failed page, but never requested nor replayed. */
function parentProblem({ type }: TypePlan, { type: { name: parent } }: TypePlan): ListProblem {
  const list = { type: type.name, endpoint: '', parents: [] };
  return {
    request: { key: `${parentKeyPrefix}${parent}`, list, position: { kind: 'single' } },
    cause: 'parent-incomplete',
    message: `Not all ${parent} could be read, so items of ${type.name} may be missing.`,
  };
}

/** In the order of the source, root lists before child lists. */
function replayOrder(one: PageRequest, other: PageRequest): number {
  return one.list.parents.length - other.list.parents.length || firstItemOf(one) - firstItemOf(other);
}
