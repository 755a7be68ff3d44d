// Knowledge as people, the HTTP API and workflows handle it. Every call names the space; who may name which is the
// caller's business (see `SpaceDesk.of`).
import type {
  IngestResult,
  ArtifactFilter,
  ArtifactStatus,
  ArtifactType,
  Entity,
  EntityFilter,
  EntityMerge,
  EntityPair,
  EventFilter,
  SearchResponse,
  SearchRequest,
  Revision,
  Space,
  StoredEvent,
  UndoneMerge,
  StructuredMention,
} from './ports.ts';

export interface SpaceDesk {
  /** The space of this owner; the default one is made at first need. Fails with NOT_FOUND, never telling of others'. */
  of(organizationId: string | null, name?: string): Promise<Space>;
  list(organizationId: string | null | undefined): Promise<readonly Space[]>;
  add(organizationId: string | null, name: string, language?: string): Promise<Space>;
  remove(space: Space): Promise<void>;
}

/** A file or text that somebody brings. */
export interface IngestRequest {
  readonly content:
    | { readonly text: string }
    | { readonly name: string; readonly mediaType: string; readonly bytes: Uint8Array };
  readonly type?: ArtifactType;
  readonly title?: string;
  readonly sourceSystem?: string;
  readonly sourceId?: string;
  readonly sourceTs?: Date;
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly mentions?: readonly StructuredMention[];
}

/**
 * What models would have to do to read it. Questions whether two names mean the same are not counted: how many there
 * are shows only when names are compared.
 */
export interface IngestEstimate {
  readonly chunks: number;
  /** Of the text. */
  readonly tokens: number;
  /** 0, as their tokens, where rules read. */
  readonly modelCalls: number;
  /** The text and everything that is said around it. */
  readonly promptTokens: number;
  readonly answerTokens: number;
  readonly embeddingCalls: number;
}

export interface ArtifactView extends Revision {
  readonly status: ArtifactStatus;
}

export interface ArtifactDesk {
  /** Largest file or text that is taken in. */
  readonly maxDocumentBytes: number;
  /** Fails with INPUT_INVALID or KNOWLEDGE_DOCUMENT_UNREADABLE; then nothing was written. */
  ingest(space: Space, wish: IngestRequest, signal: AbortSignal): Promise<IngestResult>;
  estimate(space: Space, wish: IngestRequest, signal: AbortSignal): Promise<IngestEstimate>;
  list(filter: ArtifactFilter): Promise<readonly Revision[]>;
  /** Fails with NOT_FOUND. */
  get(space: Space, artifactUid: string): Promise<ArtifactView & { readonly text: string }>;
  revisions(space: Space, artifactUid: string): Promise<readonly Revision[]>;
  remove(space: Space, artifactUid: string): Promise<void>;
}

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

export interface EventService {
  list(filter: EventFilter): Promise<readonly StoredEvent[]>;
  get(space: Space, eventId: string): Promise<StoredEvent>;
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

/** A folder of this machine that is read again and again. */
export interface KnowledgeFolder {
  readonly folderId: string;
  readonly spaceId: number;
  /** Of the space. */
  readonly spaceName: string;
  readonly organizationId: string | null;
  readonly path: string;
  /** Five fields, UTC; null: watched. */
  readonly cron: string | null;
  /** Documents go when their files did. */
  readonly removesMissing: boolean;
  readonly createdAt: Date;
  readonly lastRunAt: Date | null;
  readonly lastResult: FolderResult | null;
}

/** A document whose file is not in its folder any more. */
export interface MissingFile {
  readonly path: string;
  readonly artifactUid: string;
}

/** What a walk through a folder came to; files that did not change are not counted. */
export interface FolderResult {
  readonly added: number;
  readonly revised: number;
  readonly unchanged: number;
  readonly failed: number;
  /** Documents that were removed, because their files went. */
  readonly removed: number;
  /** Documents that stay though their files went: how many, and the first hundred. */
  readonly missingCount: number;
  readonly missing: readonly MissingFile[];
  /** The first few failures, in sentences. */
  readonly problems: readonly string[];
}

export interface FolderRequest {
  readonly path: string;
  readonly cron: string | null;
  /** Left out: no for a new folder, as it was for one that is known. */
  readonly removesMissing?: boolean;
}

export interface FolderDesk {
  /** Of one space, or of all. */
  list(spaceId?: number): Promise<readonly KnowledgeFolder[]>;
  /** A folder that this space has already gets the new schedule. Fails with INPUT_INVALID. */
  add(
    space: Space,
    wish: FolderRequest,
  ): Promise<KnowledgeFolder & { readonly outcome: 'added' | 'changed' }>;
  /** What was read stays. Fails with NOT_FOUND. */
  remove(folderId: string): Promise<void>;
  /**
   * Reads it now, files that failed before included. `removesMissing`: this once, and however many files went, as long
   * as the folder has any. Fails with NOT_FOUND, or CONFLICT while another process reads it.
   */
  scan(
    folderId: string,
    options: { readonly removesMissing: boolean },
    signal: AbortSignal,
  ): Promise<FolderResult>;
}

/** All of it. */
export interface KnowledgeDesks {
  readonly spaces: SpaceDesk;
  readonly artifacts: ArtifactDesk;
  readonly entities: EntityService;
  readonly events: EventService;
  readonly search: SearchService;
  readonly graph: GraphService;
}
