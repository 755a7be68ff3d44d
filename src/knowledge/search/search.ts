// Hybrid search: lexical and vector ranking, optional graph expansion and entities, and a warning for everything
// omitted.
import type { Clock, Log } from '../../core/index.ts';
import { CoreError, HeadworksError, kindOf, messageOf, withTimeout } from '../../core/index.ts';
import type { LedgerRecorder } from '../../ledger/index.ts';
import { searchDegradations } from '../degradations.ts';
import { isBlank } from '../documents/parse-text.ts';
import type { KnowledgeOptions } from '../options.ts';
import { eventCategories } from '../reading/types.ts';
import type { Space } from '../spaces/spaces.ts';
import type { Embedder, Embedders, Blend } from '../vectors/embedders.ts';
import type { VectorIndex } from '../vectors/vector-index.ts';
import type { ExpansionDeps } from './expand.ts';
import { expandByGraph } from './expand.ts';
import type { LexicalIndex } from './lexical-index.ts';
import { parseQuery } from './query.ts';
import type { SearchStore } from './results.ts';
import type { RankedChunk, SearchHit, SearchRequest, SearchResponse, SearchFilter } from './types.ts';

export interface SearchDeps extends ExpansionDeps, VectorSourceDeps {
  readonly lexical: LexicalIndex;
  readonly store: SearchStore;
  readonly options: ExpansionDeps['options'] & VectorSourceDeps['options'];
}

export class Search {
  readonly #deps: SearchDeps;
  readonly #vectors: VectorSource;

  constructor(deps: SearchDeps) {
    this.#deps = deps;
    this.#vectors = new VectorSource(deps);
  }

  /** Fails only when the request is invalid or the state store is down; everything else is a warning. */
  async search(space: Space, request: SearchRequest, signal: AbortSignal): Promise<SearchResponse> {
    assertValid(request);
    const { store } = this.#deps;
    const { query, limit, filter, graphExpand, includeEntities } = request;
    const warnings = new Set<string>();
    const ranked = await this.#rank({ space, query, limit, filter, warnings }, signal);
    const input = { spaceId: space.spaceId, hits: ranked, request };
    const [primaryResults, relatedContext] = await Promise.all([
      loadHits(store, space, query, ranked, signal),
      graphExpand ? expandByGraph(this.#deps, input, warnings, signal) : null,
    ]);
    const chunkIds = primaryResults.map(({ chunkId }) => chunkId);
    const eventIds = (relatedContext ?? []).map(({ id }) => id);
    const entities = includeEntities ? await store.entities(space.spaceId, chunkIds, eventIds, signal) : null;
    return {
      primaryResults,
      relatedContext,
      entities,
      expandOptions,
      warning: [...warnings].join(' ') || null,
    };
  }

  async #rank(request: RankRequest, signal: AbortSignal): Promise<readonly RankedChunk[]> {
    const { space, query, limit, filter, warnings } = request;
    const depth = Math.max(limit, this.#vectors.lexicalDepth());
    const onDropped = (sentence: string) => warnings.add(sentence);
    const lexical = this.#deps.lexical.search(space, query, depth, filter, signal, onDropped);
    const [ranked, vector] = await Promise.all([lexical, this.#vectors.rank(request, lexical, signal)]);
    return (vector ? blendRankings(ranked, vector) : ranked).slice(0, limit);
  }
}

async function loadHits(
  store: SearchStore,
  space: Space,
  query: string,
  ranked: readonly RankedChunk[],
  signal: AbortSignal,
): Promise<readonly SearchHit[]> {
  const ids = ranked.map(({ chunkId }) => chunkId);
  const hits = new Map((await store.hits(space, ids, query, signal)).map((hit) => [hit.chunkId, hit]));
  return ranked.flatMap(({ chunkId, score }) => {
    const hit = hits.get(chunkId);
    return hit ? [{ ...hit, score }] : [];
  });
}

function assertValid({ query, limit, filter, graphBudget, graphSeedLimit }: SearchRequest): void {
  if (isBlank(query)) throw wrong('The query is empty or has no visible characters. Enter a search term.');
  assertInRange('limit', limit, 1, 50);
  assertInRange('graph_budget', graphBudget, 0, 50);
  assertInRange('graph_seed_limit', graphSeedLimit, 0, 50);
  if (filter.from && filter.to && filter.from > filter.to)
    throw wrong('The start of the search period is after its end.');
}

function assertInRange(name: string, value: number, min: number, max: number): void {
  if (!Number.isInteger(value) || value < min || value > max)
    throw wrong(`${name} must be a whole number from ${min} to ${max}, not ${value}.`);
}

const wrong = (message: string): CoreError => new CoreError('INPUT_INVALID', message);

// Further request parameters, returned with every response so that the reader (often a model) can refine the search.

export const expandOptions: SearchResponse['expandOptions'] = [
  {
    parameter: 'graph_expand',
    describe: 'Also return events that share an actor or a subject with the first results.',
    values: 'true or false',
  },
  { parameter: 'graph_budget', describe: 'Maximum number of related items.', values: '0 to 50' },
  {
    parameter: 'graph_seed_limit',
    describe: 'How many of the first results are expanded.',
    values: '0 to 50',
  },
  {
    parameter: 'graph_filters',
    describe: 'Only related events of these categories.',
    values: eventCategories.join(', '),
  },
  {
    parameter: 'include_entities',
    describe: 'Also return the entities mentioned.',
    values: 'true or false',
  },
];

// The vector ranking of a search: embeds the query and compares it with the vectors of chunks. A failure is a warning and a
// ledger row; the search continues with the lexical ranking.

export interface VectorSourceDeps {
  readonly embedders: Embedders;
  readonly vectors: Pick<VectorIndex, 'capability' | 'cosines' | 'nearest' | 'missing'>;
  readonly ledger: LedgerRecorder;
  readonly clock: Clock;
  readonly log: Log;
  readonly options: Pick<KnowledgeOptions, 'embeddingTimeoutMs'>;
}

export interface RankRequest {
  readonly space: { readonly spaceId: number; readonly language: string };
  readonly query: string;
  readonly limit: number;
  readonly filter: SearchFilter;
  /** Receives a sentence for everything that is omitted. */
  readonly warnings: Set<string>;
}

/** Chunks that a fused ranking contributes. */
const fusedDepth = 100;
/** How long the number of chunks without a vector is cached. */
const countTtlMs = 5_000;
const maxCounts = 10_000;

export class VectorSource {
  readonly #deps: VectorSourceDeps;
  readonly #counts = new Map<string, { readonly at: number; readonly sentence: string | null }>();

  constructor(deps: VectorSourceDeps) {
    this.#deps = deps;
  }

  /** Lexical results that it needs; 0 while it is not configured or unavailable. */
  lexicalDepth(): number {
    const { embedders, vectors } = this.#deps;
    const state = embedders.current();
    if (state.state === 'not-configured' || !vectors.capability.available) return 0;
    const { blend } = state.embedder;
    return blend.kind === 'rerank' ? blend.depth : fusedDepth;
  }

  /**
   * Null when vector search is not configured, or is unavailable, which adds a warning. Fails when the signal aborts or the
   * state store is down, and with the error of `found`.
   */
  async rank(
    request: RankRequest,
    found: Promise<readonly RankedChunk[]>,
    signal: AbortSignal,
  ): Promise<VectorRanking | null> {
    const { space, query, warnings, filter } = request;
    const embedder = this.#usableEmbedder(warnings);
    if (embedder === null) return null;
    const [vector, lexical] = await Promise.all([this.#embed(request, embedder, signal), found]);
    if (vector === null) return null;
    try {
      const chunks = await this.#compare(space.spaceId, query, lexical, { embedder, vector, filter }, signal);
      const missing = await this.#missingSentence(space.spaceId, embedder.model);
      if (missing !== null) warnings.add(missing);
      return { chunks, blend: embedder.blend };
    } catch (error) {
      signal.throwIfAborted();
      if (kindOf(error).startsWith('STATE_')) throw error;
      this.#report(request, embedder, error, `vectors could not be compared (${kindOf(error)}).`);
      return null;
    }
  }

  /** Null without an embedder, which is not a degradation, or when the store cannot compare vectors. */
  #usableEmbedder(warnings: Set<string>): Embedder | null {
    const { embedders, vectors } = this.#deps;
    const state = embedders.current();
    if (state.state === 'not-configured') return null;
    if (vectors.capability.available) return state.embedder;
    warnings.add(
      `Results are lexical only: vectors cannot be compared. ${vectors.capability.reason} ${vectors.capability.remedy}`,
    );
    return null;
  }

  async #embed(request: RankRequest, embedder: Embedder, signal: AbortSignal): Promise<Float32Array | null> {
    const { clock, options } = this.#deps;
    const text = parseQuery(request.query).words;
    try {
      const [vector] = await withTimeout((timeout) => embedder.embed([text], timeout), {
        clock,
        timeoutMs: options.embeddingTimeoutMs,
        operation: 'embedding',
        signal,
      });
      return vector ?? null;
    } catch (error) {
      signal.throwIfAborted();
      const why = `the query could not be embedded (${kindOf(error)}). ${messageOf(error)}`;
      this.#report(request, embedder, error, why);
      return null;
    }
  }

  async #compare(
    spaceId: number,
    query: string,
    lexical: readonly RankedChunk[],
    by: { readonly embedder: Embedder; readonly vector: Float32Array; readonly filter: SearchFilter },
    signal: AbortSignal,
  ): Promise<readonly RankedChunk[]> {
    const { vectors } = this.#deps;
    const { blend, model } = by.embedder;
    if (blend.kind === 'rerank') {
      const ids = lexical.slice(0, blend.depth).map(({ chunkId }) => chunkId);
      const cosines = await vectors.cosines(spaceId, model, by.vector, ids, signal);
      return [...cosines].map(([chunkId, score]) => ({ chunkId, score }));
    }
    const near = await vectors.nearest(spaceId, model, by.vector, fusedDepth, by.filter, signal);
    const ranked = near.map(({ chunkId, cosine }) => ({ chunkId, score: cosine }));
    // Only the lexical index can check exact phrases; vectors may still change the order.
    const found = new Set(lexical.map(({ chunkId }) => chunkId));
    return parseQuery(query).isExact ? ranked.filter(({ chunkId }) => found.has(chunkId)) : ranked;
  }

  #report({ space, warnings }: RankRequest, { model }: Embedder, error: unknown, why: string): void {
    const { ledger, log } = this.#deps;
    const message = `Results are lexical only: ${why}`;
    const cause = kindOf(error);
    const details = { space_id: space.spaceId, model, error_type: cause, error_message: messageOf(error) };
    warnings.add(message);
    // The failure that started a cooldown has been logged.
    const isCoolingDown = error instanceof HeadworksError && error.retryAfterMs !== undefined;
    log[isCoolingDown ? 'debug' : 'warn']('search without vectors', details);
    void ledger.record({ kind: searchDegradations.withoutVectors, subject: model, cause, message, details });
  }

  /** Counting takes longer than searching in a large space, so the count is cached for a few seconds. */
  async #missingSentence(spaceId: number, model: string): Promise<string | null> {
    const key = `${spaceId} ${model}`;
    const now = this.#deps.clock.monotonic();
    const cached = this.#counts.get(key);
    if (cached && now - cached.at < countTtlMs) return cached.sentence;
    const { missing, total } = await this.#deps.vectors.missing(spaceId, model);
    const sentence =
      missing === 0
        ? null
        : `Not every chunk is embedded yet (missing: ${missing} of ${total}); lexical search covers all of them.`;
    if (this.#counts.size > maxCounts) this.#counts.clear();
    this.#counts.set(key, { at: now, sentence });
    return sentence;
  }
}

// Blends the lexical ranking with a vector ranking.

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
