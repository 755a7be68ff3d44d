// Plans a type that is fed by several lists, or by lists whose members are then fetched one by one (looks).
import type { SettledPage, PageRequest } from '../../ports.ts';
import type { ChildPlan } from './child-plan.ts';
import type { PlanProblem, Replayed, TypePlan } from './type-plan.ts';

export class FeedsPlan implements TypePlan {
  /** By the name of the listing. */
  readonly #lists: ReadonlyMap<string, TypePlan>;
  readonly #members: ChildPlan | null;

  constructor(lists: ReadonlyMap<string, TypePlan>, members: ChildPlan | null) {
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
  committed(outcome: SettledPage): void {
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
  get problems(): readonly PlanProblem[] {
    return this.#lists
      .values()
      .flatMap((list) => list.problems)
      .toArray();
  }

  get #listsAreFinished(): boolean {
    return this.#lists.values().every((list) => list.isFinished);
  }

  #planOf(request: PageRequest): TypePlan {
    const plan = request.kind === 'child' ? this.#members : this.#lists.get(request.listing ?? '');
    if (!plan) throw new TypeError(`Nothing planned the page "${request.key}" of ${request.type}.`);
    return plan;
  }
}
