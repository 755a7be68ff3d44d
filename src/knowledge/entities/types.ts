// Entities: who and what is known, how mentions find theirs, what may be the same, what was merged.
import type { Gone } from '../artifacts/types.ts';
import type { ContextClues, EntityMention, EntityType, ReadEvent, ReadingMethod } from '../reading/types.ts';

/** Why an entity waits for another look. */
export type ReviewReason =
  | 'embedding-missing'
  | 'candidates-unknown'
  | 'confirmation-failed'
  | 'resolution-failed'
  | 'uncertain';

export interface Entity {
  readonly entityId: string;
  readonly spaceId: number;
  readonly type: EntityType;
  readonly canonicalName: string;
  readonly normalizedName: string;
  readonly role: string | null;
  readonly organization: string | null;
  readonly email: string | null;
  readonly contextClues: readonly string[];
  readonly embeddingModel: string | null;
  readonly firstArtifactUid: string | null;
  readonly needsReview: boolean;
  readonly reviewReason: ReviewReason | null;
  /** Set when it was merged into another; then it is no longer live. */
  readonly mergedInto: string | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** An entity that a mention may mean, and what brought it up. */
export interface Candidate {
  readonly entity: Entity;
  readonly aliases: readonly string[];
  /** Names of entities it is mentioned together with, most often first, at most twenty. */
  readonly companions: readonly string[];
  readonly foundBy: readonly (
    | 'identity'
    | 'name'
    | 'alias'
    | 'email'
    | 'trigram'
    | 'initials'
    | 'nickname'
    | 'embedding'
  )[];
  /** Of the embedding, when there is one. */
  readonly cosine: number | null;
}

export interface MergeDecision {
  readonly decision: 'same' | 'different' | 'uncertain';
  readonly canonicalName: string;
  readonly reason: string;
}

/** As founding document 004 names it. */
export interface EntityResolutionResult {
  readonly entityId: string;
  readonly isNew: boolean;
  /** The entity whose name the mention became an alias of: null unless it was joined to one of another name. */
  readonly mergedFrom: string | null;
  /** The entity it may be the same as; a possibly-same pair is kept. */
  readonly uncertainMatch: string | null;
  readonly canonicalName: string;
}

/** Where a mention stands. */
export interface MentionPlace {
  readonly spaceId: number;
  readonly artifactUid: string;
  readonly revisionId: string;
  /** Null: of the whole artifact. */
  readonly chunkId: number | null;
  readonly relation: string | null;
}

export interface Resolver {
  /**
   * Never fails because of a part that failed: then the entity is made with a flag, and the ledger has a row. Fails
   * only when the state store itself is away, the signal aborts, or, with CONFLICT, when the place was removed or
   * revised meanwhile. Mentions of one chunk come together, so that they
   * are each other's company.
   */
  resolve(
    mentions: readonly EntityMention[],
    place: MentionPlace,
    caller: string,
    signal: AbortSignal,
  ): Promise<readonly EntityResolutionResult[]>;
}

export interface NewEntity {
  readonly type: EntityType;
  readonly canonicalName: string;
  readonly contextClues: ContextClues;
  readonly embedding: { readonly model: string; readonly vector: Float32Array } | null;
  readonly reviewReason: ReviewReason | null;
}

export interface EntityFilter {
  readonly spaceId: number;
  readonly type?: EntityType;
  readonly needsReview?: boolean;
  /** Part of a name or alias. */
  readonly name?: string;
  readonly limit: number;
  readonly after?: string;
}

export interface EntityPair {
  readonly pairId: string;
  readonly spaceId: number;
  readonly entityA: string;
  readonly entityB: string;
  readonly confidence: number;
  readonly reason: string;
  readonly evidence: Readonly<Record<string, unknown>>;
  readonly state: 'open' | 'same' | 'different' | 'later';
  readonly decidedBy: string | null;
  readonly decidedAt: Date | null;
  readonly createdAt: Date;
}

export interface EntityMerge {
  readonly mergeId: string;
  readonly spaceId: number;
  readonly winnerId: string;
  readonly loserId: string;
  readonly reason: string;
  readonly decidedBy: string;
  readonly mergedAt: Date;
  readonly undoneAt: Date | null;
}

/** Mentions that were made after a merge, when it is undone. */
export interface LaterMentions {
  /** So many mean the loser by name, and went with it. */
  readonly moved: number;
  /** Both are called that: they stay with the winner. A split parts them. At most a hundred. */
  readonly unclear: readonly { readonly mentionId: string; readonly surfaceForm: string }[];
}

export interface UndoneMerge extends EntityMerge {
  readonly later: LaterMentions;
}

export interface EventStore {
  /**
   * What a chunk's reading found takes the place of what was found there before: mentions (already resolved, in the
   * order of `results`) and events with actors, subjects and evidence, in one transaction. Idempotent. Entities that
   * nothing mentions any more go with what is replaced: a graph elsewhere has to forget both. Fails with CONFLICT when
   * an entity of `results` has been removed meanwhile (resolve again) or the chunk has (nothing to do).
   */
  write(
    place: MentionPlace & { readonly chunkId: number },
    method: ReadingMethod,
    found: {
      readonly mentions: readonly EntityMention[];
      readonly results: readonly EntityResolutionResult[];
      readonly events: readonly ReadEvent[];
    },
  ): Promise<Gone>;
  /** The same for what the source itself says of a whole revision: mentions without a chunk. */
  writeStructured(
    place: Omit<MentionPlace, 'chunkId' | 'relation'>,
    found: readonly {
      readonly mention: EntityMention;
      readonly relation: string;
      readonly result: EntityResolutionResult;
    }[],
  ): Promise<Gone>;
  list(filter: EventFilter): Promise<readonly StoredEvent[]>;
  get(spaceId: number, eventId: string): Promise<StoredEvent | null>;
}

export interface EventFilter {
  readonly spaceId: number;
  readonly category?: string;
  readonly entityId?: string;
  readonly artifactUid?: string;
  readonly from?: Date;
  readonly to?: Date;
  /** Events of revisions that were superseded too. */
  readonly withSuperseded?: boolean;
  readonly limit: number;
  readonly before?: string;
}

export interface StoredEvent {
  readonly eventId: string;
  readonly spaceId: number;
  readonly artifactUid: string;
  readonly revisionId: string;
  readonly chunkId: number;
  readonly category: string;
  readonly eventTime: Date | null;
  readonly narrative: string;
  readonly subject: string | null;
  readonly confidence: number;
  readonly method: 'model' | 'rules';
  readonly supersededAt: Date | null;
  readonly actors: readonly { readonly entityId: string; readonly name: string; readonly role: string }[];
  readonly subjects: readonly { readonly entityId: string; readonly name: string }[];
  readonly evidence: readonly {
    readonly chunkId: number;
    readonly quote: string;
    readonly startChar: number;
    readonly endChar: number;
  }[];
}
