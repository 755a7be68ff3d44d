// Hybrid search: results by words and vectors, on wish what the graph adds and who is mentioned, and what was left out.
import { CoreError } from '../../core/index.ts';
import type { SearchService } from '../desk-ports.ts';
import { isBlank } from '../documents/clean-input.ts';
import { eventCategories } from '../reading/types.ts';
import type { Space } from '../spaces/types.ts';
import type { ExpansionDeps } from './expand.ts';
import { expandByGraph } from './expand.ts';
import type { RankerDeps } from './rank.ts';
import { Ranker } from './rank.ts';
import type { SearchStore } from './results.ts';
import type { LexicalHit, SearchResponse, SearchHit, SearchRequest } from './types.ts';
import { Warnings } from './types.ts';

export interface SearchDeps extends ExpansionDeps, RankerDeps {
  readonly store: SearchStore;
  readonly options: ExpansionDeps['options'] & RankerDeps['options'];
}

interface OpenParts extends ExpansionDeps {
  readonly ranker: Ranker;
  readonly store: SearchStore;
}

export function openSearch(parts: SearchDeps): SearchService {
  const opened = { ...parts, ranker: new Ranker(parts) };
  return { search: (space, request, signal) => search(opened, space, request, signal) };
}

async function search(
  parts: OpenParts,
  space: Space,
  request: SearchRequest,
  signal: AbortSignal,
): Promise<SearchResponse> {
  refuseWrong(request);
  const { query, limit, filter, graphExpand, includeEntities } = request;
  const warnings = new Warnings();
  const ranked = await parts.ranker.rank(space, query, limit, filter, warnings, signal);
  const wish = { spaceId: space.spaceId, hits: ranked, request };
  const [primaryResults, relatedContext] = await Promise.all([
    shown(parts.store, space, query, ranked, signal),
    graphExpand ? expandByGraph(parts, wish, warnings, signal) : null,
  ]);
  const chunkIds = primaryResults.map(({ chunkId }) => chunkId);
  const eventIds = (relatedContext ?? []).map(({ id }) => id);
  const entities = includeEntities
    ? await parts.store.entities(space.spaceId, chunkIds, eventIds, signal)
    : null;
  return { primaryResults, relatedContext, entities, expandOptions, warning: warnings.toText() };
}

async function shown(
  store: SearchStore,
  space: Space,
  query: string,
  ranked: readonly LexicalHit[],
  signal: AbortSignal,
): Promise<readonly SearchHit[]> {
  const ids = ranked.map(({ chunkId }) => chunkId);
  const hits = new Map((await store.hits(space, ids, query, signal)).map((hit) => [hit.chunkId, hit]));
  return ranked.flatMap(({ chunkId, score }) => {
    const hit = hits.get(chunkId);
    return hit ? [{ ...hit, score }] : [];
  });
}

function refuseWrong({ query, limit, filter, graphBudget, graphSeedLimit }: SearchRequest): void {
  if (isBlank(query)) throw wrong('The query is empty, or shows nothing. Say what to look for.');
  within('limit', limit, 1, 50);
  within('graph_budget', graphBudget, 0, 50);
  within('graph_seed_limit', graphSeedLimit, 0, 50);
  if (filter.from && filter.to && filter.from > filter.to)
    throw wrong('The time to search from is after the time to search to.');
}

function within(name: string, value: number, min: number, max: number): void {
  if (!Number.isInteger(value) || value < min || value > max)
    throw wrong(`${name} must be a whole number from ${min} to ${max}, not ${value}.`);
}

const wrong = (message: string): CoreError => new CoreError('INPUT_INVALID', message);

// What was left out of an answer, in sentences: each thing once.

// What else a search could be asked for: said with every answer, so that whoever reads it (often a model) can go on.

export const expandOptions: SearchResponse['expandOptions'] = [
  {
    parameter: 'graph_expand',
    describe: 'Also give events that share an actor or a subject with the first results.',
    values: 'true or false',
  },
  { parameter: 'graph_budget', describe: 'Related items at most.', values: '0 to 50' },
  {
    parameter: 'graph_seed_limit',
    describe: 'How many of the first results are followed.',
    values: '0 to 50',
  },
  {
    parameter: 'graph_filters',
    describe: 'Only related events of these categories.',
    values: eventCategories.join(', '),
  },
  {
    parameter: 'include_entities',
    describe: 'Also give who and what is mentioned.',
    values: 'true or false',
  },
];
