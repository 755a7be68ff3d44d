// The graph of entities and events. Backends: plain SQL (default), Apache AGE, off.
import { KnowledgeError } from '../errors.ts';

export const graphBackends = ['sql', 'age', 'off'] as const;
export type GraphBackend = (typeof graphBackends)[number];

/** The stored cause of graph steps of older revisions: their chunks are not in the graph on purpose. */
export const supersededCause = 'SUPERSEDED';

export interface EntityNode {
  readonly entityId: string;
  readonly name: string;
  readonly type: string;
}

export interface EventNode {
  readonly eventId: string;
  readonly category: string;
  readonly narrative: string;
  readonly eventTime: Date | null;
}

/** Nodes and edges of one chunk, or a batch of a rebuild. */
export interface GraphBatch {
  readonly spaceId: number;
  readonly entities: readonly EntityNode[];
  readonly events: readonly EventNode[];
  readonly actedIn: readonly { readonly entityId: string; readonly eventId: string; readonly role: string }[];
  readonly about: readonly { readonly eventId: string; readonly entityId: string }[];
  readonly possiblySame: readonly {
    readonly entityA: string;
    readonly entityB: string;
    readonly confidence: number;
    readonly reason: string;
  }[];
}

/** A node or edge that could not be written; the others were. */
export interface GraphFailure {
  readonly what: 'entity' | 'event' | 'acted-in' | 'about' | 'possibly-same';
  readonly id: string;
  readonly cause: string;
}

export type GraphAvailability =
  | { readonly state: 'available' }
  | { readonly state: 'off' }
  | { readonly state: 'unavailable'; readonly reason: string; readonly remedy: string };

/** Fails with KNOWLEDGE_GRAPH_UNAVAILABLE. */
export function assertAvailable(state: GraphAvailability): void {
  if (state.state === 'unavailable')
    throw new KnowledgeError('KNOWLEDGE_GRAPH_UNAVAILABLE', `${state.reason} ${state.remedy}`);
}

export interface ExpansionRequest {
  readonly spaceId: number;
  readonly seedEventIds: readonly string[];
  /** Also excluded from the results: seeds of other groups. */
  readonly exceptEventIds?: readonly string[];
  /** Maximum number of related events. */
  readonly budget: number;
  readonly categories?: readonly string[];
}

/** An event that shares an actor or a subject with a seed. */
export interface RelatedEvent {
  readonly eventId: string;
  /** `same_actor:NAME` or `same_subject:NAME`. */
  readonly reason: string;
  readonly viaEntityId: string;
  readonly score: number;
}

/** A batch of a rebuild and the position after it. */
export interface RebuildBatch extends GraphBatch {
  readonly position: string;
}

export interface RebuildResult {
  readonly entities: number;
  readonly events: number;
  /** When it started: changes since then must be applied again. Null: nothing was built. */
  readonly since: Date | null;
}

export interface Graph {
  readonly backend: GraphBackend;
  /** False: the tables themselves are the graph. */
  readonly isSeparateStore: boolean;
  /** Checked again after a while; creates a missing graph. */
  availability(signal: AbortSignal): Promise<GraphAvailability>;
  /** `availability` checks at once the next time. */
  resetCooldown?(): void;
  /** It was just created, or another backend was used before. Fails as `remove`. */
  isEmpty(signal: AbortSignal): Promise<boolean>;
  /** How many of these events are not in the graph. Fails as `remove`. */
  missing(spaceId: number, eventIds: readonly string[], signal: AbortSignal): Promise<number>;
  /**
   * Idempotent. Continues after single failures and returns them; fails with KNOWLEDGE_GRAPH_UNAVAILABLE as a whole.
   */
  upsert(part: GraphBatch, signal: AbortSignal): Promise<readonly GraphFailure[]>;
  /** Nodes with their edges. Fails with KNOWLEDGE_GRAPH_UNAVAILABLE. */
  remove(
    spaceId: number,
    ids: { readonly entityIds: readonly string[]; readonly eventIds: readonly string[] },
    signal: AbortSignal,
  ): Promise<void>;
  /** Removes what the tables of a space no longer have; for a deleted space, everything. Fails as `remove`. */
  prune(spaceId: number, signal: AbortSignal): Promise<void>;
  /**
   * Fails with KNOWLEDGE_GRAPH_UNAVAILABLE or DEADLINE_EXCEEDED: the search responds without related items and a
   * warning.
   */
  expand(request: ExpansionRequest, signal: AbortSignal): Promise<readonly RelatedEvent[]>;
  /**
   * Builds a second graph and swaps at the end; until then, and if it fails, the old one serves. An interrupted rebuild
   * continues. Upserts in the meantime go to the old graph and must be repeated afterwards.
   */
  rebuild(
    parts: (after: string | null) => AsyncIterable<RebuildBatch>,
    progress: (done: { readonly entities: number; readonly events: number }) => void,
    signal: AbortSignal,
  ): Promise<RebuildResult>;
}

// GRAPH_BACKEND=off: not configured. Nothing is written, expanded or recorded.

export const offGraph: Graph = {
  backend: 'off',
  isSeparateStore: false,
  availability: async () => ({ state: 'off' }),
  isEmpty: async () => false,
  missing: async () => 0,
  upsert: async () => [],
  remove: async () => undefined,
  prune: async () => undefined,
  expand: () => Promise.reject(graphIsOff()),
  rebuild: () => Promise.reject(graphIsOff()),
};

function graphIsOff(): KnowledgeError {
  return new KnowledgeError(
    'KNOWLEDGE_GRAPH_UNAVAILABLE',
    'The graph is switched off. Set GRAPH_BACKEND to sql or age and start again.',
  );
}
