// Services of search and graph.
import type { SearchResponse, SearchRequest } from './search/types.ts';
import type { Space } from './spaces/spaces.ts';

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
