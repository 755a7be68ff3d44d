// What the graph is made of, read from the tables. Adapter: postgres/postgres-graph-source.ts.
import type { GraphPart, RebuildPart } from '../ports.ts';

export interface GraphSource {
  /** Of each chunk that is there: its live entities, its events, the edges between them, and possibly-same pairs. */
  chunkParts(spaceId: number, chunkIds: readonly number[]): Promise<ReadonlyMap<number, GraphPart>>;
  /** Of these entities, those that are live, with every event they take part in. */
  entityPart(spaceId: number, entityIds: readonly string[]): Promise<GraphPart>;
  /** Events of older revisions of these chunks' artifacts that the graph was given, and the chunks they stand in. */
  superseded(
    spaceId: number,
    chunkIds: readonly number[],
  ): Promise<{ readonly chunkIds: readonly number[]; readonly eventIds: readonly string[] }>;
  /** Everything of every space: entities, then events with their edges, then pairs; behind the position given. */
  all(after: string | null): AsyncIterable<RebuildPart>;
  /** How much that is. */
  counts(): Promise<{ readonly entities: number; readonly events: number }>;
  /** What was put into the graph, merged or parted since then: by space. */
  changedSince(since: Date): Promise<readonly ChangedSpace[]>;
  /** A few events of the space that share somebody with others: what a try-out expands from. */
  sampleEvents(spaceId: number, limit: number): Promise<readonly string[]>;
}

export interface ChangedSpace {
  readonly spaceId: number;
  readonly chunkIds: readonly number[];
  readonly entityIds: readonly string[];
}

export const emptyPart = (spaceId: number): GraphPart => ({
  spaceId,
  entities: [],
  events: [],
  actedIn: [],
  about: [],
  possiblySame: [],
});
