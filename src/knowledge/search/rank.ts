// Blends the lexical ranking with a vector ranking.
import type { Blend } from '../vectors/embedder.ts';
import type { RankedChunk } from './types.ts';

export interface VectorRanking {
  /** For `rerank`: the cosine of each lexical result. For `rrf`: the best chunks, best first. */
  readonly chunks: readonly RankedChunk[];
  readonly blend: Blend;
}

export const blendRankings = (
  ranked: readonly RankedChunk[],
  { chunks, blend }: VectorRanking,
): readonly RankedChunk[] =>
  blend.kind === 'rrf'
    ? fuse([ranked, chunks], blend.k)
    : rerank(ranked, new Map(chunks.map(({ chunkId, score }) => [chunkId, score])), blend);

/** Re-ranks by (1 − weight) · score/best + weight · cosine. A chunk without a vector gets the average cosine. */
export function rerank(
  ranked: readonly RankedChunk[],
  cosines: ReadonlyMap<number, number>,
  { weight, depth }: Pick<Extract<Blend, { kind: 'rerank' }>, 'weight' | 'depth'>,
): readonly RankedChunk[] {
  const best = ranked[0]?.score ?? 0;
  if (best <= 0 || cosines.size === 0) return ranked;
  const average = [...cosines.values()].reduce((sum, cosine) => sum + cosine, 0) / cosines.size;
  const blended = ({ chunkId, score }: RankedChunk): RankedChunk => ({
    chunkId,
    score: (1 - weight) * (score / best) + weight * (cosines.get(chunkId) ?? average),
  });
  const head = byScore(ranked.slice(0, depth).map(blended));
  // Beyond the depth the order stays, below everything that was re-ranked.
  const least = head.at(-1)?.score ?? 0;
  const tail = ranked.slice(depth).map(({ chunkId, score }) => ({ chunkId, score: least * (score / best) }));
  return [...head, ...tail];
}

/** Reciprocal rank fusion: each list contributes 1 / (k + rank). */
export function fuse(
  lists: readonly (readonly { readonly chunkId: number }[])[],
  k: number,
): readonly RankedChunk[] {
  const scores = new Map<number, number>();
  for (const list of lists)
    for (const [index, { chunkId }] of list.entries())
      scores.set(chunkId, (scores.get(chunkId) ?? 0) + 1 / (k + index + 1));
  return byScore([...scores].map(([chunkId, score]) => ({ chunkId, score })));
}

const byScore = (ranked: readonly RankedChunk[]): readonly RankedChunk[] =>
  ranked.toSorted((a, b) => b.score - a.score || a.chunkId - b.chunkId);
