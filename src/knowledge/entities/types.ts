// Entities, mentions resolved to them, pairs that may be the same, and merges.
import type { ContextClues, EntityMention, EntityType } from '../reading/types.ts';
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

/** An entity that a mention may refer to, and how it was found. */
export interface Candidate {
  readonly entity: Entity;
  readonly aliases: readonly string[];
  /** Names of entities mentioned with it, most frequent first, at most 20. */
  readonly coMentions: readonly string[];
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
  /** Cosine of the vectors, if both have one. */
  readonly cosine: number | null;
}

export interface MergeDecision {
  readonly decision: 'same' | 'different' | 'uncertain';
  readonly canonicalName: string;
  readonly reason: string;
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
}

/** The location of a mention. */
export interface MentionPlace {
  readonly spaceId: number;
  readonly artifactUid: string;
  readonly revisionId: string;
  /** Null: the whole artifact. */
  readonly chunkId: number | null;
  readonly relation: string | null;
}

export interface Resolver {
  /**
   * A failed component does not fail the call: the entity is created with a review flag and a ledger row. Fails only
   * when the state store is down, the signal aborts, or, with CONFLICT, when the artifact was removed or revised. Pass
   * all mentions of a chunk together: they are each other's co-mentions.
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
  /** Substring of a name or alias. */
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

/** Mentions written since a merge, when it is undone. */
export interface LaterMentions {
  /** Moved to the loser because they have its name. */
  readonly moved: number;
  /** Both entities have this name: they stay with the winner and can be split off. At most 100. */
  readonly unclear: readonly { readonly mentionId: string; readonly surfaceForm: string }[];
}

export interface UndoneMerge extends EntityMerge {
  readonly later: LaterMentions;
}

/** What to look for to find the entities a mention may refer to. */
export interface CandidateQuery {
  readonly normalizedNames: readonly string[];
  readonly keys: readonly string[];
  readonly emails: readonly string[];
}

/** With everything known about it and about the entities merged into it. */
export interface CandidateEntity extends Candidate {
  readonly profile: Profile;
  readonly isInArtifact: boolean;
}

export interface NameRow {
  readonly alias: string;
  readonly normalizedAlias: string;
  readonly keys: readonly string[];
}

/** An entity to be created. */
export interface EntityDraft {
  readonly entityId: string;
  readonly type: EntityType;
  readonly canonicalName: string;
  readonly normalizedName: string;
  readonly names: readonly NameRow[];
  readonly clues: CleanClues;
  readonly embedding: { readonly model: string; readonly vector: Float32Array } | null;
  readonly artifactUid: string | null;
  readonly revisionId: string | null;
  readonly reviewReason: ReviewReason | null;
  /** Created without checking for concurrent writes, because candidates could not be loaded. */
  readonly isUnchecked: boolean;
}

/** What a mention adds to an existing entity. */
export interface EntityAddition {
  readonly entityId: string;
  readonly names: readonly NameRow[];
  readonly clues: CleanClues;
  readonly betterName: { readonly canonicalName: string; readonly normalizedName: string } | null;
}

export interface PairDraft {
  readonly pairId: string;
  readonly entityId: string;
  readonly otherId: string;
  readonly confidence: number;
  readonly reason: string;
  readonly evidence: Readonly<Record<string, unknown>>;
  readonly state: 'open' | 'different';
  readonly decidedBy: string | null;
}

export interface ResolutionPlan {
  /** The revision all of it comes from. */
  readonly place: Pick<MentionPlace, 'artifactUid' | 'revisionId'>;
  readonly drafts: readonly EntityDraft[];
  readonly additions: readonly EntityAddition[];
  readonly pairs: readonly PairDraft[];
  /** Entities that were compared: one with a draft's name that is not among them was created since. */
  readonly seen: readonly string[];
}

/** `undefined`: no other process created it since. */
export type MatchConcurrent = (draft: EntityDraft, there: readonly CandidateEntity[]) => string | undefined;

export interface EntityRow extends Entity {
  readonly aliases: readonly string[];
  readonly mentionCount: number;
  readonly eventCount: number;
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
  readonly relation: string | null;
}

export interface MentionGroup {
  /** Indexes into the list of mentions. */
  readonly members: readonly number[];
  readonly type: EntityType;
  /** As it is displayed. */
  readonly name: string;
  readonly normalizedName: string;
  /** With its spellings; the first is `name`. */
  readonly names: readonly NameRow[];
  readonly clues: CleanClues;
  readonly profile: Profile;
  readonly query: CandidateQuery;
}
