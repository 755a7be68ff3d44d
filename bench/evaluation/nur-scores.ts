// Compares what was found with the ground truth: each true item is matched once, by the most similar found item.

export interface Score {
  readonly precision: number;
  readonly recall: number;
  readonly f1: number;
  readonly found: number;
  readonly expected: number;
  readonly matched: number;
}

export function scoreOf(matched: number, found: number, expected: number): Score {
  const precision = found === 0 ? 0 : matched / found;
  const recall = expected === 0 ? 0 : matched / expected;
  const f1 = precision + recall === 0 ? 0 : (2 * precision * recall) / (precision + recall);
  return { precision, recall, f1, found, expected, matched };
}

/** Totals over all documents. */
export const together = (scores: readonly Score[]): Score =>
  scoreOf(
    scores.reduce((sum, { matched }) => sum + matched, 0),
    scores.reduce((sum, { found }) => sum + found, 0),
    scores.reduce((sum, { expected }) => sum + expected, 0),
  );

/** `likeness` of 0: no match. The most similar pairs first, each side once. */
export function matchAll<Found, True>(
  found: readonly Found[],
  expected: readonly True[],
  likeness: (found: Found, expected: True) => number,
): Score {
  const pairs = found
    .flatMap((one, i) => expected.map((other, j) => ({ i, j, likeness: likeness(one, other) })))
    .filter((pair) => pair.likeness > 0)
    .sort((a, b) => b.likeness - a.likeness);
  const usedFound = new Set<number>();
  const usedTrue = new Set<number>();
  for (const { i, j } of pairs) {
    if (usedFound.has(i) || usedTrue.has(j)) continue;
    usedFound.add(i);
    usedTrue.add(j);
  }
  return scoreOf(usedTrue.size, found.length, expected.length);
}

const minNameSimilarity = 0.8;

/** Similarity of two names: 0 below 0.8, as in the original evaluation. */
export function nameLikeness(one: string, other: string): number {
  const likeness = textLikeness(one, other);
  return likeness >= minNameSimilarity ? likeness : 0;
}

const minOverlap = 0.5;

/** The share of the shorter quote's words in the other; 0 below a half. */
export function quoteOverlap(one: string, other: string): number {
  const [a, b] = [wordSet(one), wordSet(other)];
  const both = [...a].filter((word) => b.has(word)).length;
  const overlap = Math.min(a.size, b.size) === 0 ? 0 : both / Math.min(a.size, b.size);
  return overlap >= minOverlap ? overlap : 0;
}

const wordSet = (text: string): ReadonlySet<string> =>
  new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []);

// Similarity of two short texts, from 0 to 1.

/** Lower case, single spaces, no punctuation except hyphens, dots and @. */
const plain = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/\s+/g, ' ')
    .trim()
    .replaceAll(/[^\p{L}\p{N}_\s\-@.]/gu, '');

/**
 * Ratcliff and Obershelp: the longest common substring, then recursively left and right of it. For texts of a sentence
 * or two.
 */
export function textLikeness(one: string, other: string): number {
  const [a, b] = [plain(one), plain(other)];
  return a.length + b.length === 0 ? 1 : (2 * shared(a, b)) / (a.length + b.length);
}

function shared(a: string, b: string): number {
  if (a === '' || b === '') return 0;
  const { at, inOther, length } = longestCommon(a, b);
  if (length === 0) return 0;
  return (
    length +
    shared(a.slice(0, at), b.slice(0, inOther)) +
    shared(a.slice(at + length), b.slice(inOther + length))
  );
}

function longestCommon(a: string, b: string) {
  let best = { at: 0, inOther: 0, length: 0 };
  let lengths = new Uint32Array(b.length + 1);
  for (let i = 0; i < a.length; i++) {
    const next = new Uint32Array(b.length + 1);
    for (let j = 0; j < b.length; j++) {
      if (a[i] !== b[j]) continue;
      const length = (lengths[j] ?? 0) + 1;
      next[j + 1] = length;
      if (length > best.length) best = { at: i - length + 1, inOther: j - length + 1, length };
    }
    lengths = next;
  }
  return best;
}
