// Ranks the chunks of a space for a query: the lexical ranking, blended with further sources one after the other.
import type { Blend } from '../vectors/embedder.ts';
import type { LexicalIndex } from './lexical-index.ts';
import type { RankedChunk, SearchFilter, Warnings } from './types.ts';

export interface RankRequest {
  readonly space: { readonly spaceId: number; readonly language: string };
  readonly query: string;
  readonly limit: number;
  readonly filter: SearchFilter;
  /** Receives a sentence for everything that is omitted. */
  readonly warnings: Warnings;
}

/** A ranking besides the lexical one. */
export interface RankSource {
  readonly name: string;
  /** Lexical results that the source needs; 0 while it is not configured or unavailable. */
  lexicalDepth(): number;
  /**
   * Null while it is not configured or unavailable; the latter adds a warning. Fails only with the signal, when the state
   * store is down, or as `lexical` does.
   */
  rank(
    request: RankRequest & { readonly lexical: Promise<readonly RankedChunk[]> },
    signal: AbortSignal,
  ): Promise<SourceRanking | null>;
}

export interface SourceRanking {
  /** For `rerank`: the cosine of each lexical result. For `rrf`: the best chunks, best first. */
  readonly chunks: readonly RankedChunk[];
  readonly blend: Blend;
}

export class Ranker {
  readonly #lexical: Pick<LexicalIndex, 'search'>;
  readonly #sources: readonly RankSource[];

  constructor(lexical: Pick<LexicalIndex, 'search'>, sources: readonly RankSource[]) {
    this.#lexical = lexical;
    this.#sources = sources;
  }

  /** Fails only with the signal or when the state store is down: a missing source is a warning. */
  async rank(request: RankRequest, signal: AbortSignal): Promise<readonly RankedChunk[]> {
    const { space, query, limit, filter, warnings } = request;
    const depth = Math.max(limit, ...this.#sources.map((source) => source.lexicalDepth()));
    const lexical = this.#lexical.search(space, query, depth, filter, signal, (sentence) =>
      warnings.add(sentence),
    );
    const [ranked, ...rankings] = await Promise.all([
      lexical,
      ...this.#sources.map((source) => source.rank({ ...request, lexical }, signal)),
    ]);
    return rankings
      .filter((ranking) => ranking !== null)
      .reduce((blended, { chunks, blend }) => applyBlend(blended, chunks, blend), ranked)
      .slice(0, limit);
  }
}

const applyBlend = (
  ranked: readonly RankedChunk[],
  chunks: readonly RankedChunk[],
  blend: Blend,
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
