// Search requests and responses.
import type { ArtifactType } from '../artifacts/types.ts';
import type { EventCategory } from '../reading/types.ts';

export interface SearchFilter {
  readonly types?: readonly ArtifactType[];
  readonly sources?: readonly string[];
  /** By the time of the source, or of ingest if the source has none. */
  readonly from?: Date;
  readonly to?: Date;
  /** Chunks with an event in one of these categories. */
  readonly categories?: readonly EventCategory[];
  /**
   * Chunks that mention one of these entities, or whose document does as a whole. Merged entities count as their
   * winner.
   */
  readonly entityIds?: readonly string[];
}

export interface SearchRequest {
  readonly query: string;
  /** 1 to 50. */
  readonly limit: number;
  readonly filter: SearchFilter;
  readonly graphExpand: boolean;
  /** Maximum number of related items, 0 to 50. */
  readonly graphBudget: number;
  /** How many of the first results are expanded. */
  readonly graphSeedLimit: number;
  readonly graphFilters: readonly EventCategory[];
  readonly includeEntities: boolean;
}

export const searchDefaults = {
  limit: 5,
  filter: {},
  graphExpand: false,
  graphBudget: 10,
  graphSeedLimit: 3,
  graphFilters: [],
  includeEntities: false,
} as const satisfies Omit<SearchRequest, 'query'>;

export interface SearchHit {
  readonly chunkId: number;
  readonly artifactUid: string;
  readonly revisionId: string;
  readonly type: ArtifactType;
  readonly sourceSystem: string;
  readonly sourceId: string;
  readonly title: string;
  readonly heading: string | null;
  readonly sourceTs: Date | null;
  readonly text: string;
  readonly startChar: number;
  readonly endChar: number;
  /** Comparable within one response only. */
  readonly score: number;
  /** Occurrences of the query's words in `text`. */
  readonly highlights: readonly { readonly start: number; readonly end: number }[];
}

export interface RelatedItem {
  readonly type: 'event';
  readonly id: string;
  readonly category: string;
  /** `same_actor:NAME` or `same_subject:NAME`. */
  readonly reason: string;
  readonly summary: string;
  readonly eventTime: Date | null;
  readonly artifactUid: string;
  readonly evidence: readonly {
    readonly quote: string;
    readonly artifactUid: string;
    readonly startChar: number;
    readonly endChar: number;
  }[];
}

export interface SearchEntity {
  readonly entityId: string;
  readonly name: string;
  readonly type: string;
  readonly mentions: number;
  /** Its relations to the documents found, from the source: owner, author, folder, … */
  readonly relations: readonly string[];
}

export interface SearchResponse {
  readonly primaryResults: readonly SearchHit[];
  /** Null unless requested; empty when nothing was found. */
  readonly relatedContext: readonly RelatedItem[] | null;
  readonly entities: readonly SearchEntity[] | null;
  /** Further request parameters; always present. */
  readonly expandOptions: readonly {
    readonly parameter: string;
    readonly describe: string;
    readonly values: string;
  }[];
  /** Everything that was omitted, in sentences; null when nothing was. */
  readonly warning: string | null;
}

/** A result before its text is loaded. */
export interface RankedChunk {
  readonly chunkId: number;
  readonly score: number;
}
