// How alike two short texts are, from 0 to 1: what they share in order, counted twice, of all they have.

/** Small letters, single blanks, no punctuation but hyphens, points and @. */
const plain = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/\s+/g, ' ')
    .trim()
    .replaceAll(/[^\p{L}\p{N}_\s\-@.]/gu, '');

/** Ratcliff and Obershelp: the longest common piece, then the same left and right of it. For texts of a sentence or two. */
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
