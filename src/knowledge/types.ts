// Services of entities, events, search and graph.
import type { Entity, EntityFilter, EntityMerge, EntityPair, UndoneMerge } from './entities/types.ts';
import type { SearchResponse, SearchRequest } from './search/types.ts';
import type { Space } from './spaces/spaces.ts';

export interface EntityView extends Entity {
  readonly aliases: readonly string[];
  readonly mentionCount: number;
  readonly eventCount: number;
}

export interface EntityDetail extends EntityView {
  readonly mentions: readonly {
    readonly mentionId: string;
    readonly artifactUid: string;
    readonly title: string;
    readonly surfaceForm: string;
    readonly startChar: number | null;
    readonly endChar: number | null;
    readonly method: string;
    readonly confidence: number;
    /** What the source says it is to the document (owner, author, folder, …); null of what was read in the text. */
    readonly relation: string | null;
  }[];
  readonly pairs: readonly EntityPair[];
  readonly merges: readonly EntityMerge[];
}

export interface EntityService {
  list(filter: EntityFilter): Promise<readonly EntityView[]>;
  /** Fails with NOT_FOUND; a merged entity answers with the one it became part of. */
  get(space: Space, entityId: string): Promise<EntityDetail>;
  /** Everything of the loser goes to the winner, recorded. Fails with NOT_FOUND or KNOWLEDGE_MERGE_IMPOSSIBLE. */
  merge(
    space: Space,
    winnerId: string,
    loserId: string,
    reason: string,
    decidedBy: string,
  ): Promise<EntityMerge>;
  /**
   * Exactly undone; later merges into the same winner stay. Mentions that came since under the loser's name go with it.
   * Fails with KNOWLEDGE_MERGE_IMPOSSIBLE.
   */
  unmerge(space: Space, mergeId: string): Promise<UndoneMerge>;
  /** These mentions become an entity of their own, with the events they are nearest to. Merging both undoes it. */
  split(space: Space, entityId: string, mentionIds: readonly string[], name: string): Promise<Entity>;
  /** Open pairs, surest first, both sides with what speaks for and against. */
  review(
    space: Space,
    limit: number,
  ): Promise<readonly (EntityPair & { readonly a: EntityView; readonly b: EntityView })[]>;
  /**
   * Fails with CONFLICT when `same` is said of entities that were merged with others since they were looked at, and when
   * `same` or `later` is said of two that somebody said since are different.
   */
  decide(
    space: Space,
    pairId: string,
    verdict: 'same' | 'different' | 'later',
    decidedBy: string,
    /** When the two were looked at; default: for `same` when the pair was made, for the others now. */
    asOf?: Date,
  ): Promise<EntityPair>;
}

export interface SearchService {
  /** Fails only when the request is wrong or the state store is away; everything else is a warning. */
  search(space: Space, request: SearchRequest, signal: AbortSignal): Promise<SearchResponse>;
}

export interface GraphService {
  /** The job that rebuilds; null when one is already under way. CONFLICT when it is off, else KNOWLEDGE_GRAPH_UNAVAILABLE. */
  requestRebuild(): Promise<string | null>;
  status(): Promise<{ readonly backend: string; readonly state: string; readonly detail: string | null }>;
  /** Neighbours of an entity, for looking at: entities with the events that join them. CONFLICT when the graph is off. */
  around(
    space: Space,
    entityId: string,
    limit: number,
  ): Promise<{
    readonly nodes: readonly {
      readonly id: string;
      readonly kind: 'entity' | 'event';
      readonly label: string;
      readonly type: string;
    }[];
    readonly edges: readonly {
      readonly from: string;
      readonly to: string;
      readonly kind: string;
      readonly role: string | null;
    }[];
  }>;
}
