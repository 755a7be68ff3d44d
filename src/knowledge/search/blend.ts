// Joins the lexical ranking with what vectors say. How much they may say belongs to the embedder: with a weak one, equal
// shares are worse than words alone.
import type { Blend, LexicalHit } from '../ports.ts';

/** Re-ranks by (1 − weight) · score/best + weight · cosine. What has no vector yet is taken for an average one. */
export function rerank(
  hits: readonly LexicalHit[],
  cosines: ReadonlyMap<number, number>,
  { weight, depth }: Pick<Extract<Blend, { kind: 'rerank' }>, 'weight' | 'depth'>,
): readonly LexicalHit[] {
  const best = hits[0]?.score ?? 0;
  if (best <= 0 || cosines.size === 0) return hits;
  const average = [...cosines.values()].reduce((sum, cosine) => sum + cosine, 0) / cosines.size;
  const shared = ({ chunkId, score }: LexicalHit): LexicalHit => ({
    chunkId,
    score: (1 - weight) * (score / best) + weight * (cosines.get(chunkId) ?? average),
  });
  const head = byScore(hits.slice(0, depth).map(shared));
  // Beyond the depth the order stays, and nothing of it comes before what was re-ranked.
  const least = head.at(-1)?.score ?? 0;
  const tail = hits.slice(depth).map(({ chunkId, score }) => ({ chunkId, score: least * (score / best) }));
  return [...head, ...tail];
}

/** Reciprocal rank fusion: each list gives 1 / (k + place). */
export function fuse(
  lists: readonly (readonly { readonly chunkId: number }[])[],
  k: number,
): readonly LexicalHit[] {
  const scores = new Map<number, number>();
  for (const list of lists)
    for (const [index, { chunkId }] of list.entries())
      scores.set(chunkId, (scores.get(chunkId) ?? 0) + 1 / (k + index + 1));
  return byScore([...scores].map(([chunkId, score]) => ({ chunkId, score })));
}

const byScore = (hits: readonly LexicalHit[]): readonly LexicalHit[] =>
  hits.toSorted((a, b) => b.score - a.score || a.chunkId - b.chunkId);
