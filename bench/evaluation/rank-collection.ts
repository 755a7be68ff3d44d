// Ingests a collection, runs its queries, and compares the rankings with its judgments.
import { chunkText } from '../../src/knowledge/documents/chunk.ts';
import { defaultBatchSize, embeddedText } from '../../src/knowledge/ingest/embed-step.ts';
import type { ArtifactStore } from '../../src/knowledge/artifacts/artifact-store.ts';
import type { Blend, Embedder } from '../../src/knowledge/vectors/embedders.ts';
import type { RankedChunk } from '../../src/knowledge/search/types.ts';
import type { Space } from '../../src/knowledge/spaces/spaces.ts';
import type { LexicalIndex } from '../../src/knowledge/search/lexical-index.ts';
import { fuse, rerank } from '../../src/knowledge/search/search.ts';
import type { VectorIndex } from '../../src/knowledge/vectors/vector-index.ts';
import type { Collection, CollectionDocument, CollectionQuery } from './collections.ts';
import type { RankingFigures } from './metrics.ts';
import { rankingFigures } from './metrics.ts';

export interface CollectionDeps {
  readonly artifacts: Pick<ArtifactStore, 'accept' | 'chunks'>;
  readonly lexical: LexicalIndex;
  readonly vectors: VectorIndex;
  /** Null: lexical only. */
  readonly embedder: Embedder | null;
  readonly onProgress: (what: string, done: number, total: number) => void;
  readonly signal: AbortSignal;
}

export interface CollectionScores {
  readonly documents: number;
  readonly chunks: number;
  readonly queries: number;
  /** Lexical only. */
  readonly lexical: RankingFigures;
  /** With vectors, blended as in a search; null without an embedder. */
  readonly hybrid: BlendScores | null;
  /** Every blend tried, when calibrating. */
  readonly calibration: readonly BlendScores[] | null;
}

export interface BlendScores {
  readonly blend: Blend;
  readonly figures: RankingFigures;
}

const depth = 100;

export async function evaluateCollection(
  space: Space,
  collection: Collection,
  parts: CollectionDeps,
  isCalibrating: boolean,
): Promise<CollectionScores> {
  const chunks = await ingestOne(space, collection.documents, parts);
  if (parts.embedder) await embedAll(space, chunks, parts.embedder, parts);
  const found: Found[] = [];
  for (const query of collection.queries) {
    parts.signal.throwIfAborted();
    found.push({ query, ...(await runQuery(space, query, parts)) });
    parts.onProgress('queries', found.length, collection.queries.length);
  }
  const documentOf = new Map(chunks.map(({ chunkId, document }) => [chunkId, document.id]));
  const figures = (rank: (one: Found) => readonly RankedChunk[]): RankingFigures =>
    rankingFigures(
      found.map((one) => ({
        judgments: one.query.judgments,
        ranking: [...new Set(rank(one).map(({ chunkId }) => documentOf.get(chunkId) ?? ''))],
      })),
    );
  const scored = (blend: Blend): BlendScores => ({ blend, figures: figures((one) => blended(one, blend)) });
  return {
    documents: collection.documents.length,
    chunks: chunks.length,
    queries: collection.queries.length,
    lexical: figures(({ words }) => words),
    hybrid: parts.embedder ? scored(parts.embedder.blend) : null,
    calibration: parts.embedder && isCalibrating ? blendsToTry.map(scored) : null,
  };
}

const blendsToTry: readonly Blend[] = [
  ...[0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.7].map(
    (weight) => ({ kind: 'rerank', weight, depth }) as const,
  ),
  { kind: 'rrf', k: 60 },
];

/** A smaller loss may be noise. */
const tolerance = 0.005;

/** The best blend that finds no less than the lexical ranking; null when none is better. */
export function bestBlend({ lexical, calibration }: CollectionScores): BlendScores | null {
  const gain = ({ figures }: BlendScores): number =>
    figures.ndcgAt10 + figures.recallAt10 - lexical.ndcgAt10 - lexical.recallAt10;
  const safe = (calibration ?? []).filter(
    ({ figures }) =>
      figures.ndcgAt10 >= lexical.ndcgAt10 - tolerance &&
      figures.recallAt10 >= lexical.recallAt10 - tolerance,
  );
  const best = safe.toSorted((a, b) => gain(b) - gain(a))[0];
  return best && gain(best) > 0 ? best : null;
}

interface TakenChunk {
  readonly chunkId: number;
  readonly document: CollectionDocument;
  readonly heading: string | null;
  readonly text: string;
}

/** A document without words has no chunk and is never found. */
async function ingestOne(
  space: Space,
  documents: readonly CollectionDocument[],
  { artifacts, onProgress, signal }: CollectionDeps,
): Promise<readonly TakenChunk[]> {
  const taken: TakenChunk[] = [];
  for (const [index, document] of documents.entries()) {
    signal.throwIfAborted();
    const { id, title, text } = document;
    const incoming = {
      type: 'doc',
      sourceSystem: 'evaluation',
      sourceId: id,
      title,
      text,
      sourceTs: null,
      metadata: {},
      warnings: [],
      mentions: [],
    } as const;
    const { revisionId } = await artifacts.accept(space, incoming, chunkText(text), async () => null);
    for (const chunk of await artifacts.chunks(revisionId)) taken.push({ ...chunk, document });
    onProgress('documents', index + 1, documents.length);
  }
  return taken;
}

async function embedAll(
  space: Space,
  chunks: readonly TakenChunk[],
  embedder: Embedder,
  { vectors, onProgress, signal }: CollectionDeps,
): Promise<void> {
  const size = embedder.maxBatchSize ?? defaultBatchSize;
  for (let first = 0; first < chunks.length; first += size) {
    const batch = chunks.slice(first, first + size);
    const texts = batch.map((chunk) => embeddedText({ ...chunk, title: chunk.document.title }));
    const made = await embedder.embed(texts, signal);
    const rows = batch.flatMap(({ chunkId }, index) => {
      const vector = made[index];
      return vector ? [{ chunkId, vector }] : [];
    });
    await vectors.put(space.spaceId, embedder.model, rows);
    onProgress('vectors', first + batch.length, chunks.length);
  }
}

interface Found {
  readonly query: CollectionQuery;
  readonly words: readonly RankedChunk[];
  readonly cosines: ReadonlyMap<number, number>;
  readonly near: readonly { readonly chunkId: number }[];
}

async function runQuery(
  space: Space,
  { text }: CollectionQuery,
  { lexical, vectors, embedder, signal }: CollectionDeps,
): Promise<Omit<Found, 'query'>> {
  const words = await lexical.search(space, text, depth, {}, signal);
  const [vector] = embedder ? await embedder.embed([text], signal) : [];
  if (!embedder || !vector) return { words, cosines: new Map(), near: [] };
  const { spaceId } = space;
  const ids = words.map(({ chunkId }) => chunkId);
  return {
    words,
    cosines: await vectors.cosines(spaceId, embedder.model, vector, ids, signal),
    near: await vectors.nearest(spaceId, embedder.model, vector, depth, {}, signal),
  };
}

const blended = ({ words, cosines, near }: Found, blend: Blend): readonly RankedChunk[] =>
  blend.kind === 'rerank' ? rerank(words, cosines, blend) : fuse([words, near], blend.k);
