// What the plans of all kinds of paging have in common.
import type { SettledPage, PageRequest } from '../../ports.ts';

/** A reason, besides failed pages, why a type is not complete. */
export interface PlanProblem {
  readonly request: PageRequest;
  readonly cause: string;
  readonly message: string;
}

/** What is wrong with a list; its request is the page that would have been asked for next. */
export type ListProblem = Omit<PlanProblem, 'request'>;

export const repeatedPage: ListProblem = {
  cause: 'repeated',
  message:
    'The page before holds the same items as the one before that: the source does not heed which page it is asked ' +
    'for, and going on would bring nothing new. Correct its pagination, and begin anew with --fresh.',
};

export const shortList = (total: number, came: number): ListProblem => ({
  cause: 'short',
  message:
    `The source counts ${total} items in this list, but it ended after ${came}. Begin anew with --fresh; if that does ` +
    'not help, correct its pagination or its total.',
});

/** A page of an earlier run of the session. */
export type Replayed = { readonly done: SettledPage } | { readonly failed: PageRequest };

/**
 * Which pages to ask for next. Every request that `next` gave is answered by exactly one of `committed`, `failed` and
 * `dropped`. Pure: no time, no I/O.
 */
export interface TypePlan {
  /** The next page; null when there is none, or none before another one is answered. */
  next(): PageRequest | null;
  committed(outcome: SettledPage): void;
  /** It will not come. `isTransient`: for a reason that may hit the next one as well. */
  failed(request: PageRequest, isTransient: boolean): void;
  /** It was not asked for after all; `next` gives it again. */
  dropped(request: PageRequest): void;
  /** The same as if it had been given by `next` and answered. Pages come in the order of the source. */
  replay(page: Replayed): void;
  /** Nothing is under way and nothing is left to ask for. */
  readonly isFinished: boolean;
  /** How many items the source says it has; null when it does not say. */
  readonly total: number | null;
  readonly problems: readonly PlanProblem[];
}

/** After so many pages in a row failed for a reason that may hit the next one too, the rest is not asked for. */
const mostFailuresInRow = 10;

/** Counts failures in a row that are likely to go on: a source that is down must not be asked for every page. */
export class FailureRow {
  #length = 0;

  note(isTransient: boolean): void {
    if (isTransient) this.#length++;
  }
  clear(): void {
    this.#length = 0;
  }
  get isTooLong(): boolean {
    return this.#length >= mostFailuresInRow;
  }
}
