// Suggestions for mistyped names.

/** Share of letter pairs in common (Sørensen–Dice). */
const minSimilarity = 0.5;
/** Share of letters that stay the same. */
const minUnchanged = 2 / 3;
const maxSuggestions = 3;
/** A shorter text is part of nearly every name. */
const minPartLength = 3;

/**
 * Names that contain the typed text, share half of its letter pairs (names share stems, not beginnings), or differ in
 * less than a third of the letters. The most similar first, three at most. Case and punctuation do not count.
 */
export function nearNames(typed: string, names: Iterable<string>): readonly string[] {
  const text = normalize(typed);
  const scored = [...new Set(names)].map((name) => ({ name, score: scoreOf(text, normalize(name)) }));
  return scored
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || (a.name < b.name ? -1 : 1))
    .slice(0, maxSuggestions)
    .map(({ name }) => name);
}

/** The most similar name, if one is near. */
export function nearest(typed: string, names: Iterable<string>): string | undefined {
  return nearNames(typed, names)[0];
}

const normalize = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');

/** 0: not near. */
function scoreOf(text: string, name: string): number {
  const similarity = similarityOf(pairsOf(text), pairsOf(name));
  if (text.length >= minPartLength && name.includes(text)) return 1 + similarity;
  const unchanged = 1 - editDistance(text, name) / Math.max(text.length, name.length, 1);
  return Math.max(similarity >= minSimilarity ? similarity : 0, unchanged >= minUnchanged ? unchanged : 0);
}

function similarityOf(some: ReadonlySet<string>, others: ReadonlySet<string>): number {
  return (2 * some.intersection(others).size) / (some.size + others.size || 1);
}

function pairsOf(text: string): ReadonlySet<string> {
  return new Set(Array.from({ length: Math.max(text.length - 1, 0) }, (_, at) => text.slice(at, at + 2)));
}

/** The number of letters to add, remove, replace or swap with the next one (optimal string alignment). */
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
