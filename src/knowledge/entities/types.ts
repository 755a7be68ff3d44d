// Entities: who and what is known, how mentions find theirs, what may be the same, what was merged.
import type { ContextClues, EntityMention, EntityType } from '../reading/types.ts';
import type { CleanClues, Profile } from './compare-clues.ts';

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

// What resolution needs of a store. Adapters: postgres/postgres-{entity,pair,merge}-store.ts.

/** Whom a mention may mean: what to look for. */
export interface CandidateQuery {
  readonly normalizedNames: readonly string[];
  readonly keys: readonly string[];
  readonly emails: readonly string[];
}

/** A candidate with all that is known of it and of what was merged into it. */
export interface CandidateEntity extends Candidate {
  readonly profile: Profile;
  readonly isInArtifact: boolean;
}

export interface NameRow {
  readonly alias: string;
  readonly normalizedAlias: string;
  readonly keys: readonly string[];
}

/** An entity that is to be made. */
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
  /** Made whatever others did meanwhile: nobody could look whether it is there already. */
  readonly isUnchecked: boolean;
}

/** What a mention adds to an entity that is there. */
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
  /** What it all came from. */
  readonly place: Pick<MentionPlace, 'artifactUid' | 'revisionId'>;
  readonly drafts: readonly EntityDraft[];
  readonly additions: readonly EntityAddition[];
  readonly pairs: readonly PairDraft[];
  /** Entities that were looked at: one of a draft's name that is not among them came meanwhile. */
  readonly seen: readonly string[];
}

/** `undefined`: another process has not made it meanwhile, so it is made. */
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
  /** Which mentions: their places in the list that was given. */
  readonly members: readonly number[];
  readonly type: EntityType;
  /** As it is shown. */
  readonly name: string;
  readonly normalizedName: string;
  /** With its spellings; the first is `name`. */
  readonly names: readonly NameRow[];
  readonly clues: CleanClues;
  readonly profile: Profile;
  readonly wish: CandidateQuery;
}
