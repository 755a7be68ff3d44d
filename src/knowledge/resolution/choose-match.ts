// Of everybody whom a mention may mean: the one, nobody, or a question.
import type { Match } from './match.ts';

export interface Matched<T> {
  readonly candidate: T;
  readonly match: Match;
  /** What tells candidates apart that all fit: whether it is known by more than a name, and how full that name is. */
  readonly hasContext: boolean;
  readonly isInArtifact: boolean;
  readonly fullness: number;
}

export type Choice<T> =
  | { readonly kind: 'join'; readonly chosen: Matched<T> }
  | { readonly kind: 'new' }
  /** Best first. */
  | { readonly kind: 'ask'; readonly close: readonly Matched<T>[] };

/** A model is asked about so many at once. */
const mostAsked = 5;

/** `canAsk`: without a model, likeness of vectors alone is no reason to keep a question. */
export function chooseMatch<T>(matched: readonly Matched<T>[], canAsk: boolean): Choice<T> {
  const close = matched
    .filter(({ match }) => match.verdict !== 'different' && (canAsk || !match.isByVectorOnly))
    .sort((a, b) => b.match.points - a.match.points);
  if (close.length === 0) return { kind: 'new' };
  const same = close.filter(({ match }) => match.verdict === 'same');
  const chosen = theOne(same);
  if (chosen !== null) return { kind: 'join', chosen };
  return { kind: 'ask', close: close.slice(0, mostAsked) };
}

/** Narrowed step by step; null when two or more remain, or none. */
function theOne<T>(same: readonly Matched<T>[]): Matched<T> | null {
  let left = same;
  const narrow = (keep: (one: Matched<T>) => boolean) => {
    const kept = left.filter(keep);
    if (kept.length > 0) left = kept;
  };
  const best = Math.max(...left.map(({ match }) => match.points));
  narrow(({ match }) => match.points >= best - 0.99);
  narrow(({ isInArtifact }) => isInArtifact);
  const fullest = Math.max(...left.map(({ fullness }) => fullness));
  narrow(({ fullness }) => fullness === fullest);
  // Two of one name and different context: one that is known by name only is what such a mention became before.
  narrow(({ hasContext, match }) => !hasContext && match.name.relation === 'same');
  return left.length === 1 ? (left[0] ?? null) : null;
}
