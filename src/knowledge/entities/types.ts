// Entities, mentions resolved to them, pairs that may be the same, and merges.
import type { EntityType } from '../reading/types.ts';
import type { CleanClues, Profile } from './compare-clues.ts';

/** Why an entity needs review. */
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
  /** Set when it was merged into another entity. */
  readonly mergedInto: string | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

export interface EntityView extends Entity {
  readonly aliases: readonly string[];
  readonly mentionCount: number;
  readonly eventCount: number;
}

export interface EntityDetail extends EntityView {
  readonly mentions: readonly MentionRow[];
  readonly pairs: readonly EntityPair[];
  readonly merges: readonly EntityMerge[];
}

export interface MentionRow {
  readonly mentionId: string;
  readonly artifactUid: string;
  readonly title: string;
  readonly surfaceForm: string;
  readonly startChar: number | null;
  readonly endChar: number | null;
  readonly method: string;
  readonly confidence: number;
  /** Its relation to the document by its source (owner, author, folder, …); null when it was read in the text. */
  readonly relation: string | null;
}

export interface EntityFilter {
  readonly spaceId: number;
  readonly type?: EntityType;
  readonly needsReview?: boolean;
  /** Substring of a name or alias. */
  readonly name?: string;
  readonly limit: number;
  readonly after?: string;
}

/** Named as in founding document 004. */
export interface EntityResolutionResult {
  readonly entityId: string;
  readonly isNew: boolean;
  /** The entity whose alias the mention's name became; null unless it joined an entity with another name. */
  readonly mergedFrom: string | null;
  /** The entity it may be the same as; there is an open pair. */
  readonly uncertainMatch: string | null;
  readonly canonicalName: string;
  /** The name of a mention that has no other clue. */
  readonly byName: string | null;
}

/** The location of a mention. */
export interface MentionPlace {
  readonly spaceId: number;
  readonly artifactUid: string;
  readonly revisionId: string;
  /** Null: the whole artifact. */
  readonly chunkId: number | null;
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

export interface UndoneMerge extends EntityMerge {
  /** Mentions written since the merge. */
  readonly later: {
    /** Moved to the loser because they have its name. */
    readonly moved: number;
    /** Both entities have this name: they stay with the winner and can be split off. At most 100. */
    readonly unclear: readonly { readonly mentionId: string; readonly surfaceForm: string }[];
  };
}

/** What to look for to find the entities a mention may refer to. */
export interface CandidateQuery {
  readonly normalizedNames: readonly string[];
  readonly keys: readonly string[];
  readonly emails: readonly string[];
}

/** An entity that a mention may refer to, with the names and clues of everything merged into it. */
export interface CandidateEntity {
  readonly entity: Entity;
  readonly profile: Profile;
  readonly isInArtifact: boolean;
  /** Cosine of the vectors, if both have one. */
  readonly cosine: number | null;
  readonly namesakes: NamesakeState | null;
}

/** An entity that contradicts another of its name: whether mentions by the name only are separated from both. */
export type NamesakeState = 'unsettled' | 'settled';

export interface NameRow {
  readonly alias: string;
  readonly normalizedAlias: string;
  readonly keys: readonly string[];
}

export interface EntityEmbedding {
  readonly model: string;
  readonly vector: Float32Array;
}

/** An entity to be created. */
export interface EntityDraft {
  readonly entity: Pick<Entity, 'entityId' | 'type' | 'canonicalName' | 'normalizedName'>;
  readonly names: readonly NameRow[];
  readonly clues: CleanClues;
  readonly embedding: EntityEmbedding | null;
  readonly reviewReason: ReviewReason | null;
  readonly namesakes: NamesakeState | null;
}

/** What a mention adds to an existing entity. */
export interface EntityAddition {
  readonly entityId: string;
  readonly names: readonly NameRow[];
  readonly clues: CleanClues;
  readonly betterName: Pick<Entity, 'canonicalName' | 'normalizedName'> | null;
}

export interface PairDraft extends Pick<
  EntityPair,
  'pairId' | 'confidence' | 'reason' | 'evidence' | 'decidedBy'
> {
  readonly entityId: string;
  readonly otherId: string;
  /** They match by a given name or a surname alone. */
  readonly isByPart: boolean;
  readonly state: 'open' | 'different';
}

/** What resolution writes, all from one revision. */
export interface ResolutionPlan {
  readonly place: Pick<MentionPlace, 'artifactUid' | 'revisionId'>;
  readonly drafts: readonly EntityDraft[];
  readonly additions: readonly EntityAddition[];
  /** Stored entities that become `unsettled`. */
  readonly unsettled: readonly string[];
  readonly pairs: readonly PairDraft[];
  /** What the search for candidates looked for, and the version of the space then; null: it failed. */
  readonly search: { readonly queries: readonly CandidateQuery[]; readonly version: string } | null;
}
