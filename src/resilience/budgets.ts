// Named timeout budgets: how long each kind of outside call may take, in one place.
import { abortable } from '../core/abort.ts';
import type { Clock } from '../core/clock.ts';
import { withDeadline } from './deadline.ts';

/** Milliseconds per operation, from the founding document 004, with what happens when the time is over. */
export const defaultBudgets = {
  /** Then: the entity is created without an embedding. */
  embedding: 10_000,
  /** Finding candidates for the same entity. Then: a new entity. */
  candidates: 5_000,
  /** The language model's word on a merge. Then: created with `needs_review`. */
  confirmation: 30_000,
  /** Then: skipped, the rest goes on. */
  graphNodeUpsert: 5_000,
  /** Then: skipped, the rest goes on. */
  graphEdgeUpsert: 5_000,
  /** Then: no related context. */
  graphExpansion: 500,
  /** From a chunk to its revision. Then: that chunk is left out. */
  chunkLookup: 2_000,
} as const;

export type BudgetName = keyof typeof defaultBudgets;
export type Budgets = Readonly<Record<BudgetName, number>>;

/** The defaults with some of them changed. Throws RangeError naming a budget that is not above 0. */
export function budgetsWith(changes: Partial<Budgets>): Budgets {
  for (const [name, ms] of Object.entries(changes))
    if (!(ms > 0)) throw new RangeError(`budget ${name} must be more than 0 ms, not ${ms}`);
  return { ...defaultBudgets, ...changes };
}

export interface BudgetOptions {
  readonly clock: Clock;
  /** The caller's signal; its own deadline, if earlier, wins. */
  readonly signal?: AbortSignal | undefined;
  readonly budgets?: Budgets;
}

/**
 * Runs `work` with the named budget. Work that ignores its signal is left behind: the promise rejects with
 * DEADLINE_EXCEEDED (or the caller's reason) all the same.
 */
export async function withBudget<T>(
  name: BudgetName,
  work: (signal: AbortSignal) => Promise<T>,
  { clock, signal, budgets = defaultBudgets }: BudgetOptions,
): Promise<T> {
  const deadline = withDeadline(signal, budgets[name], clock, name);
  try {
    deadline.signal.throwIfAborted();
    return await abortable(work(deadline.signal), deadline.signal);
  } finally {
    deadline.dispose();
  }
}
