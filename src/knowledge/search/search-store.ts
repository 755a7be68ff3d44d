// What a search reads beside the two indexes.
import type { RelatedItem, SearchEntity, SearchHit } from '../ports.ts';

export interface SearchStore {
  /** Texts and places of chunks, in any order; a chunk that is gone by now is left out. */
  hits(
    space: { readonly spaceId: number; readonly language: string },
    chunkIds: readonly number[],
    query: string,
    signal: AbortSignal,
  ): Promise<readonly Omit<SearchHit, 'score'>[]>;
  /** Events of a chunk of a latest revision, surest first. */
  eventsOf(spaceId: number, chunkId: number, signal: AbortSignal): Promise<readonly string[]>;
  /** Chunks of the space that wait to be put into a graph apart: it was away, or did not take them. At most 1,000. */
  waitingForGraph(spaceId: number, signal: AbortSignal): Promise<number>;
  /** Events as related items, in any order, without the reason. */
  events(
    spaceId: number,
    eventIds: readonly string[],
    signal: AbortSignal,
  ): Promise<readonly Omit<RelatedItem, 'reason'>[]>;
  /** Who and what these chunks or their documents mention, or takes part in these events; most mentioned first. */
  entities(
    spaceId: number,
    chunkIds: readonly number[],
    eventIds: readonly string[],
    signal: AbortSignal,
  ): Promise<readonly SearchEntity[]>;
}
