// Hybrid search: lexical and vector ranking, optional graph expansion and entities, and a warning for everything
// omitted.
import { CoreError } from '../../core/index.ts';
import { isBlank } from '../documents/parse-input.ts';
import { eventCategories } from '../reading/types.ts';
import type { Space } from '../spaces/spaces.ts';
import type { ExpansionDeps } from './expand.ts';
import { expandByGraph } from './expand.ts';
import type { LexicalIndex } from './lexical-index.ts';
import { blendRankings } from './rank.ts';
import type { SearchStore } from './results.ts';
import type { RankedChunk, SearchHit, SearchRequest, SearchResponse } from './types.ts';
import { Warnings } from './types.ts';
import type { RankRequest, VectorSourceDeps } from './vector-source.ts';
import { VectorSource } from './vector-source.ts';

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
    const warnings = new Warnings();
    const ranked = await this.#rank({ space, query, limit, filter, warnings }, signal);
    const input = { spaceId: space.spaceId, hits: ranked, request };
    const [primaryResults, relatedContext] = await Promise.all([
      loadHits(store, space, query, ranked, signal),
      graphExpand ? expandByGraph(this.#deps, input, warnings, signal) : null,
    ]);
    const chunkIds = primaryResults.map(({ chunkId }) => chunkId);
    const eventIds = (relatedContext ?? []).map(({ id }) => id);
    const entities = includeEntities ? await store.entities(space.spaceId, chunkIds, eventIds, signal) : null;
    return { primaryResults, relatedContext, entities, expandOptions, warning: warnings.toText() };
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
  within('limit', limit, 1, 50);
  within('graph_budget', graphBudget, 0, 50);
  within('graph_seed_limit', graphSeedLimit, 0, 50);
  if (filter.from && filter.to && filter.from > filter.to)
    throw wrong('The start of the search period is after its end.');
}

function within(name: string, value: number, min: number, max: number): void {
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
