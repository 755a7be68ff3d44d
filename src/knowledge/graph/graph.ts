// The graph of entities and events, behind a port: plain SQL by default, Apache AGE when chosen.
import { KnowledgeError } from '../errors.ts';

export const graphBackends = ['sql', 'age', 'off'] as const;
export type GraphBackend = (typeof graphBackends)[number];

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

/** What is put into the graph together: one chunk's worth, or a batch of a rebuild. */
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

export interface ExpansionRequest {
  readonly spaceId: number;
  readonly seedEventIds: readonly string[];
  /** Never related, though no seeds: those that others are expanded from. */
  readonly exceptEventIds?: readonly string[];
  /** Related items at most. */
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

/** A batch of a rebuild, and what to ask for to go on behind it. */
export interface RebuildBatch extends GraphBatch {
  readonly position: string;
}

export interface RebuildResult {
  readonly entities: number;
  readonly events: number;
  /** When it began; what was put in since then has to be put in again. Null: nothing was built. */
  readonly since: Date | null;
}

export interface Graph {
  readonly backend: GraphBackend;
  /** False: the tables themselves are the graph, and nothing has to be put into it. */
  readonly isSeparateStore: boolean;
  /** Looked at again after a while, never cached for ever; makes the graph when it is missing. */
  availability(signal: AbortSignal): Promise<GraphAvailability>;
  /** Somebody has a reason to think that it is back: `availability` looks at once. */
  askAgain?(): void;
  /** Nothing is in it: it was made just now, or another backend was used before. Fails as `remove`. */
  isEmpty(signal: AbortSignal): Promise<boolean>;
  /** Of these events, those that are not in it (yet). Fails as `remove`. */
  missing(spaceId: number, eventIds: readonly string[], signal: AbortSignal): Promise<number>;
  /** Idempotent. Goes on after single failures and names them; fails with KNOWLEDGE_GRAPH_UNAVAILABLE as a whole. */
  upsert(part: GraphBatch, signal: AbortSignal): Promise<readonly GraphFailure[]>;
  /** Nodes with their edges. Fails with KNOWLEDGE_GRAPH_UNAVAILABLE. */
  remove(
    spaceId: number,
    ids: { readonly entityIds: readonly string[]; readonly eventIds: readonly string[] },
    signal: AbortSignal,
  ): Promise<void>;
  /** Takes out what the tables no longer hold of a space; of a space that is gone, everything. Fails as `remove`. */
  prune(spaceId: number, signal: AbortSignal): Promise<void>;
  /** Fails with KNOWLEDGE_GRAPH_UNAVAILABLE or DEADLINE_EXCEEDED: the caller answers without and says so. */
  expand(request: ExpansionRequest, signal: AbortSignal): Promise<readonly RelatedEvent[]>;
  /**
   * Builds beside what is there and swaps at the end; until then, and when it fails, the old one answers. One that was
   * interrupted goes on where it was. What is upserted meanwhile goes to the old one: put it in again afterwards.
   */
  rebuild(
    parts: (after: string | null) => AsyncIterable<RebuildBatch>,
    progress: (done: { readonly entities: number; readonly events: number }) => void,
    signal: AbortSignal,
  ): Promise<RebuildResult>;
}

// GRAPH_BACKEND=off: a capability that is not wanted. Nothing is written, nothing is expanded, nothing is recorded.

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
