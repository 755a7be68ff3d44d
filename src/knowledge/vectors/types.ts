// Vectors: who makes them, how much their word counts, where they are kept.
import type { SearchFilter } from '../search/types.ts';

/** How a vector ranking joins the lexical one: the weight belongs to the embedder. */
export type Blend =
  /** Reciprocal rank fusion, for embedders that are as good as BM25 or better. */
  | { readonly kind: 'rrf'; readonly k: number }
  /** The best `depth` lexical results re-ranked: (1 − weight) · BM25/max + weight · cosine. */
  | { readonly kind: 'rerank'; readonly weight: number; readonly depth: number };

export interface Embedder {
  /** Vectors of different models never meet. */
  readonly model: string;
  readonly blend: Blend;
  /** Texts that one call should take at most, so that it ends in time even on a busy machine. Default 32. */
  readonly maxBatchSize?: number;
  /** One unit-length vector per text. Fails with KNOWLEDGE_EMBEDDING_FAILED. */
  embed(texts: readonly string[], signal: AbortSignal): Promise<readonly Float32Array[]>;
}

/** What embeds here and now; looked up at every use, since models come and go. */
export type EmbedderState =
  | { readonly state: 'ready'; readonly embedder: Embedder }
  /** A capability that was not asked for: no rows, no alarms. */
  | { readonly state: 'not-configured'; readonly why: string };

export interface Embedders {
  current(): EmbedderState;
}

/** A chunk as an embedder reads it. */
export interface UnembeddedChunk {
  readonly chunkId: number;
  readonly spaceId: number;
  readonly revisionId: string;
  /** Embedding was tried before, by any model: its own ingest is done with it. */
  readonly wasTried: boolean;
  readonly title: string;
  readonly heading: string | null;
  readonly text: string;
}

export interface VectorIndex {
  /** Can the store compare vectors (pgvector)? If not, why, and what would help. */
  readonly capability:
    | { readonly available: true }
    | { readonly available: false; readonly reason: string; readonly remedy: string };
  put(
    spaceId: number,
    model: string,
    vectors: readonly { readonly chunkId: number; readonly vector: Float32Array }[],
  ): Promise<void>;
  /** Of these chunks, those that have a vector of the model: their cosine with the query. */
  cosines(
    spaceId: number,
    model: string,
    query: Float32Array,
    chunkIds: readonly number[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<number, number>>;
  /** The nearest chunks of latest revisions that pass the filter, best first. */
  nearest(
    spaceId: number,
    model: string,
    query: Float32Array,
    limit: number,
    filter: SearchFilter,
    signal: AbortSignal,
  ): Promise<readonly { readonly chunkId: number; readonly cosine: number }[]>;
  /**
   * Chunks of latest revisions, of any space, without a vector of the model, lowest id first, ids above `after`; not those
   * that the model has refused.
   */
  lacking(wish: {
    readonly model: string;
    readonly after: number;
    readonly limit: number;
  }): Promise<readonly UnembeddedChunk[]>;
  /** Chunks of latest revisions without a vector of the model: how many of how many. */
  missing(spaceId: number, model: string): Promise<{ readonly missing: number; readonly total: number }>;
  /** Deletes vectors of other models, when every chunk has one of this model. */
  forgetOthers(spaceId: number, model: string): Promise<number>;
}
