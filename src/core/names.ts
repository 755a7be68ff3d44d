// Suggestions for mistyped names.

const nearEnough = 0.5;
const mostNames = 3;
/** Fewer characters than this are part of nearly every name. */
const tellingLength = 3;

/**
 * Names that hold what was typed, then those that have half of their pairs of letters in common with it: names share
 * stems, not beginnings. The nearest first, three at most; empty when nothing is near.
 */
export function nearNames(typed: string, names: Iterable<string>): readonly string[] {
  const plain = plainOf(typed);
  const wanted = pairsOf(plain);
  const near: { readonly name: string; readonly likeness: number }[] = [];
  for (const name of new Set(names)) {
    const other = plainOf(name);
    const likeness = likenessOf(wanted, pairsOf(other));
    const isPart = plain.length >= tellingLength && other.includes(plain);
    if (isPart || likeness >= nearEnough) near.push({ name, likeness: likeness + Number(isPart) });
  }
  near.sort((a, b) => b.likeness - a.likeness || (a.name < b.name ? -1 : 1));
  return near.slice(0, mostNames).map(({ name }) => name);
}

/** Sørensen–Dice: 1 for the same pairs, 0 for none in common. */
function likenessOf(some: ReadonlySet<string>, others: ReadonlySet<string>): number {
  return (2 * some.intersection(others).size) / (some.size + others.size || 1);
}

const plainOf = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');

function pairsOf(plain: string): ReadonlySet<string> {
  const pairs = new Set<string>();
  for (let index = 0; index + 1 < plain.length; index++) pairs.add(plain.slice(index, index + 2));
  return pairs;
}

/** The candidate that differs least. Case, dashes and underscores do not count; more than a third is not near. */
export function nearest(typed: string, candidates: Iterable<string>): string | undefined {
  const wanted = plain(typed);
  let best: string | undefined;
  let bestDistance = Number.POSITIVE_INFINITY;
  for (const candidate of candidates) {
    const other = plain(candidate);
    const distance = editDistance(wanted, other);
    if (distance < bestDistance && distance <= Math.max(wanted.length, other.length) / 3) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[-_\s]/g, '');
}

/** How many letters to add, drop, change or swap with their neighbour (optimal string alignment). */
function editDistance(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const change = from[row - 1] === to[column - 1] ? 0 : 1;
      let distance = Math.min(
        at(last, column) + 1,
        at(current, column - 1) + 1,
        at(last, column - 1) + change,
      );
      if (row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1])
        distance = Math.min(distance, at(beforeLast, column - 2) + 1);
      current.push(distance);
    }
    beforeLast = last;
    last = current;
  }
  return at(last, to.length);
}

const at = (row: readonly number[], column: number): number => row[column] ?? Number.POSITIVE_INFINITY;
