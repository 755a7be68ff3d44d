// The vector ranking of a search: embeds the query and compares it with the vectors of chunks. A failure is a warning and a
// ledger row; the search continues with the lexical ranking.
import type { Clock, Log } from '../../core/index.ts';
import { HeadworksError, kindOf, messageOf, withTimeout } from '../../core/index.ts';
import type { LedgerRecorder } from '../../ledger/index.ts';
import type { KnowledgeOptions } from '../options.ts';
import type { Embedder, Embedders } from '../vectors/embedder.ts';
import type { VectorIndex } from '../vectors/vector-index.ts';
import { parseQuery } from './query.ts';
import type { VectorRanking } from './rank.ts';
import type { RankedChunk, SearchFilter, Warnings } from './types.ts';

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
  readonly warnings: Warnings;
}

/** Ledger kind; the subject is the model, however many searches ran without it. */
export const searchWithoutVectors = 'knowledge.search-without-vectors';

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
   * Null while it is not configured or unavailable; the latter adds a warning. Fails only with the signal, when the state
   * store is down, or as `found` does.
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
  #usableEmbedder(warnings: Warnings): Embedder | null {
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
    void ledger.record({ kind: searchWithoutVectors, subject: model, cause, message, details });
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
