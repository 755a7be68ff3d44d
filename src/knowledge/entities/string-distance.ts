// Edit distance and similarity of short strings.

/** Insertions, deletions, substitutions and adjacent transpositions; more than `max` is returned as `max + 1`. */
export function editDistance(a: string, b: string, max = 3): number {
  if (a === b) return 0;
  if (Math.abs(a.length - b.length) > max) return max + 1;
  // Skip the common prefix and suffix, usually most of the string.
  let start = 0;
  while (start < a.length && a[start] === b[start]) start++;
  let [endA, endB] = [a.length, b.length];
  while (endA > start && endB > start && a[endA - 1] === b[endB - 1]) {
    endA--;
    endB--;
  }
  return middleDistance(a.slice(start, endA), b.slice(start, endB), max);
}

function middleDistance(a: string, b: string, max: number): number {
  if (a === '' || b === '') return Math.min(a.length + b.length, max + 1);
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    let min = i;
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      let best = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + cost);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        best = Math.min(best, (before[j - 2] ?? 0) + 1);
      row.push(best);
      if (best < min) min = best;
    }
    if (min > max) return max + 1;
    before = last;
    last = row;
  }
  return Math.min(last[b.length] ?? max + 1, max + 1);
}

/** Jaro-Winkler similarity, 0 to 1; favors a common prefix. */
export function jaroWinkler(a: string, b: string): number {
  const jaro = jaroSimilarity(a, b);
  let prefix = 0;
  while (prefix < 4 && prefix < a.length && a[prefix] === b[prefix]) prefix++;
  return jaro + prefix * 0.1 * (1 - jaro);
}

function jaroSimilarity(a: string, b: string): number {
  if (a === b) return a === '' ? 0 : 1;
  const reach = Math.max(0, Math.floor(Math.max(a.length, b.length) / 2) - 1);
  const taken = new Set<number>();
  const matchesOfA: string[] = [];
  for (let i = 0; i < a.length; i++)
    for (let j = Math.max(0, i - reach); j <= Math.min(b.length - 1, i + reach); j++)
      if (!taken.has(j) && a[i] === b[j]) {
        taken.add(j);
        matchesOfA.push(a[i] ?? '');
        break;
      }
  const matches = matchesOfA.length;
  if (matches === 0) return 0;
  const matchesOfB = [...taken].sort((x, y) => x - y).map((index) => b[index]);
  const swapped = matchesOfA.filter((letter, index) => letter !== matchesOfB[index]).length / 2;
  return (matches / a.length + matches / b.length + (matches - swapped) / matches) / 3;
}

/** One typo in a word of at least four letters, two in one of nine. */
export function isTypingError(a: string, b: string): boolean {
  const length = Math.min(a.length, b.length);
  if (length < 4) return false;
  return editDistance(a, b, 2) <= (length >= 9 ? 2 : 1);
}

/** Adjacent letters transposed, or a letter doubled: common typos by which names rarely differ. */
export function isTransposition(a: string, b: string): boolean {
  if (Math.min(a.length, b.length) < 4 || editDistance(a, b, 1) !== 1) return false;
  const undoubled = (text: string) => text.replaceAll(/(.)\1/gu, '$1');
  return undoubled(a) === undoubled(b) || (a.length === b.length && sortedLetters(a) === sortedLetters(b));
}

const sortedLetters = (text: string): string => Array.from(text).sort().join('');
