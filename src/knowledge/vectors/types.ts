// Vectors: who makes them, how much their word counts, where they are kept.
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

/** The cause of an embed step whose text the embedder refused while it accepts others: only its repair tries again. */
export const refusedCause = 'EMBEDDING_REFUSED';
