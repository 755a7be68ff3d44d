// Which chunks answer a query, best first: by words always, by vectors where there are any.
import type { Clock, Log } from '../../core/index.ts';
import { abortable, HeadworksError, kindOf, messageOf } from '../../core/index.ts';
import type { LedgerRecorder } from '../../ledger/index.ts';
import { withDeadline } from '../../resilience/index.ts';
import type { KnowledgeOptions } from '../options.ts';
import type { Blend, Embedder, Embedders } from '../vectors/types.ts';
import type { VectorIndex } from '../vectors/vector-index.ts';
import type { LexicalIndex } from './lexical-index.ts';
import { parseQuery } from './query.ts';
import type { LexicalHit, SearchFilter, Warnings } from './types.ts';

export interface RankerDeps {
  readonly lexical: LexicalIndex;
  readonly embedders: Embedders;
  readonly vectors: VectorIndex;
  readonly ledger: LedgerRecorder;
  readonly clock: Clock;
  readonly log: Log;
  readonly options: Pick<KnowledgeOptions, 'embeddingTimeoutMs'>;
}

/** A row of the ledger; its subject is the embedder's model, however many searches went without it. */
export const searchWithoutVectors = 'knowledge.search-without-vectors';

interface RankedSpace {
  readonly spaceId: number;
  readonly language: string;
}

/** Each half of a fusion gives this many. */
const fusedDepth = 100;
/** How many chunks have no vector yet is counted anew after this. */
const countTtlMs = 5_000;
const maxCounts = 10_000;

export class Ranker {
  readonly #deps: RankerDeps;
  readonly #counts = new Map<string, { readonly at: number; readonly sentence: string | null }>();

  constructor(deps: RankerDeps) {
    this.#deps = deps;
  }

  /** Fails only when the state store is away; vectors that are missing become a warning. */
  async rank(
    space: RankedSpace,
    query: string,
    limit: number,
    filter: SearchFilter,
    warnings: Warnings,
    signal: AbortSignal,
  ): Promise<readonly LexicalHit[]> {
    const embedder = this.#usableEmbedder(warnings);
    const wanted = embedder === null ? limit : Math.max(limit, depthOf(embedder));
    const lexical = this.#deps.lexical.search(space, query, wanted, filter, signal, (sentence) =>
      warnings.add(sentence),
    );
    if (embedder === null) return lexical;
    const [words, vector] = await Promise.all([
      lexical,
      this.#vectorOf(space, query, embedder, warnings, signal),
    ]);
    if (vector === null) return words.slice(0, limit);
    try {
      const blended = await this.#blend(space, query, words, { embedder, vector, filter }, signal);
      const missing = await this.#missing(space.spaceId, embedder.model);
      if (missing !== null) warnings.add(missing);
      return blended.slice(0, limit);
    } catch (error) {
      signal.throwIfAborted();
      if (kindOf(error).startsWith('STATE_')) throw error;
      this.#report(space, embedder, error, `vectors could not be compared (${kindOf(error)}).`, warnings);
      return words.slice(0, limit);
    }
  }

  /** Null when nobody embeds, which is no failure, or when the store cannot compare vectors. */
  #usableEmbedder(warnings: Warnings): Embedder | null {
    const { embedders, vectors } = this.#deps;
    const state = embedders.current();
    if (state.state === 'not-configured') return null;
    if (vectors.capability.available) return state.embedder;
    warnings.add(
      `Results are by words only: vectors cannot be compared. ${vectors.capability.reason} ${vectors.capability.remedy}`,
    );
    return null;
  }

  async #vectorOf(
    space: RankedSpace,
    query: string,
    embedder: Embedder,
    warnings: Warnings,
    signal: AbortSignal,
  ): Promise<Float32Array | null> {
    const { clock, options } = this.#deps;
    const deadline = withDeadline(signal, options.embeddingTimeoutMs, clock, 'embedding');
    try {
      const [vector] = await abortable(
        embedder.embed([parseQuery(query).words], deadline.signal),
        deadline.signal,
      );
      return vector ?? null;
    } catch (error) {
      signal.throwIfAborted();
      const why = `the query could not be embedded (${kindOf(error)}). ${messageOf(error)}`;
      this.#report(space, embedder, error, why, warnings);
      return null;
    } finally {
      deadline.dispose();
    }
  }

  #report(
    { spaceId }: RankedSpace,
    { model }: Embedder,
    error: unknown,
    why: string,
    warnings: Warnings,
  ): void {
    const { ledger, log } = this.#deps;
    const message = `Results are by words only: ${why}`;
    const cause = kindOf(error);
    const details = { space_id: spaceId, model, error_type: cause, error_message: messageOf(error) };
    warnings.add(message);
    // One that is left alone for a while has had its line.
    const isLeftAlone = error instanceof HeadworksError && error.retryAfterMs !== undefined;
    log[isLeftAlone ? 'debug' : 'warn']('a search went without vectors', details);
    void ledger.record({ kind: searchWithoutVectors, subject: model, cause, message, details });
  }

  async #blend(
    { spaceId }: RankedSpace,
    query: string,
    words: readonly LexicalHit[],
    by: { readonly embedder: Embedder; readonly vector: Float32Array; readonly filter: SearchFilter },
    signal: AbortSignal,
  ): Promise<readonly LexicalHit[]> {
    const { vectors } = this.#deps;
    const { blend, model } = by.embedder;
    if (blend.kind === 'rerank') {
      const ids = words.slice(0, blend.depth).map(({ chunkId }) => chunkId);
      return rerank(words, await vectors.cosines(spaceId, model, by.vector, ids, signal), blend);
    }
    const near = await vectors.nearest(spaceId, model, by.vector, fusedDepth, by.filter, signal);
    // What must hold a phrase is found by words alone; vectors may still order it.
    const found = new Set(words.map(({ chunkId }) => chunkId));
    const may = parseQuery(query).isExact ? near.filter(({ chunkId }) => found.has(chunkId)) : near;
    return fuse([words, may], blend.k);
  }

  /** Counting takes longer than searching in a large space: what was counted holds for a few seconds. */
  async #missing(spaceId: number, model: string): Promise<string | null> {
    const key = `${spaceId} ${model}`;
    const now = this.#deps.clock.monotonic();
    const known = this.#counts.get(key);
    if (known && now - known.at < countTtlMs) return known.sentence;
    const { missing, total } = await this.#deps.vectors.missing(spaceId, model);
    const sentence =
      missing === 0
        ? null
        : `Not every chunk is embedded yet (missing: ${missing} of ${total}); words find them all.`;
    if (this.#counts.size > maxCounts) this.#counts.clear();
    this.#counts.set(key, { at: now, sentence });
    return sentence;
  }
}

const depthOf = ({ blend }: Embedder): number => (blend.kind === 'rerank' ? blend.depth : fusedDepth);

// Joins the lexical ranking with what vectors say. How much they may say belongs to the embedder: with a weak one, equal
// shares are worse than words alone.

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
