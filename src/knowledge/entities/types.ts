// Entities: who and what is known, how mentions find theirs, what may be the same, what was merged.
import type { RemovedIds } from '../artifacts/types.ts';
import type { ContextClues, EntityMention, EntityType, ReadEvent, ReadingMethod } from '../reading/types.ts';
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
  ): Promise<RemovedIds>;
  /** The same for what the source itself says of a whole revision: mentions without a chunk. */
  writeStructured(
    place: Omit<MentionPlace, 'chunkId' | 'relation'>,
    found: readonly {
      readonly mention: EntityMention;
      readonly relation: string;
      readonly result: EntityResolutionResult;
    }[],
  ): Promise<RemovedIds>;
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

// What resolution needs of a store. Adapters: postgres/postgres-{entity,pair,merge}-store.ts.

/** Whom a mention may mean: what to look for. */
export interface CandidateWish {
  readonly normalizedNames: readonly string[];
  readonly keys: readonly string[];
  readonly emails: readonly string[];
}

/** A candidate with all that is known of it and of what was merged into it. */
export interface KnownEntity extends Candidate {
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
export type FindAgain = (draft: EntityDraft, there: readonly KnownEntity[]) => string | undefined;

export interface EntityStore {
  /** For each wish those it may mean, surest kinds of finding first, at most 30. Gives up with the signal. */
  candidates(
    spaceId: number,
    wishes: readonly CandidateWish[],
    artifactUid: string | null,
    signal: AbortSignal,
  ): Promise<readonly (readonly KnownEntity[])[]>;
  /** For each vector the nearest entities of its type, at most five, with their cosine; none without pgvector. */
  nearest(
    spaceId: number,
    model: string,
    wishes: readonly { readonly type: EntityType; readonly vector: Float32Array }[],
    artifactUid: string | null,
    signal: AbortSignal,
  ): Promise<readonly (readonly KnownEntity[])[]>;
  /** Names of those each is mentioned with, most often first, at most twenty. */
  companions(
    spaceId: number,
    entityIds: readonly string[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, readonly string[]>>;
  /**
   * Writes it all in one transaction, one writer per space at a time. A draft that `findAgain` recognises in what
   * others made meanwhile becomes an addition to that. The id that each draft and addition ended up with; an addition
   * whose entity is gone has none. Fails with CONFLICT when the place is gone, or no longer the latest revision: then
   * nothing was written.
   */
  write(
    spaceId: number,
    plan: ResolutionPlan,
    findAgain: FindAgain,
    at: Date,
    signal?: AbortSignal,
  ): Promise<ReadonlyMap<string, string>>;
  /** Live or merged. */
  get(spaceId: number, entityId: string): Promise<Entity | null>;
  /** The same of any space, for repairs, which know ids only. */
  byId(entityId: string): Promise<Entity | null>;
  /** With everything of its family; null unless it is live. */
  known(spaceId: number, entityId: string): Promise<KnownEntity | null>;
  list(filter: EntityFilter): Promise<readonly EntityRow[]>;
  /** Live or merged, in any order; those that are not there are left out. */
  details(spaceId: number, entityIds: readonly string[]): Promise<readonly EntityRow[]>;
  mentions(spaceId: number, entityId: string, limit: number): Promise<readonly MentionRow[]>;
  setEmbedding(spaceId: number, entityId: string, model: string, vector: Float32Array): Promise<void>;
  /** Sets or clears the flag; with `onlyIf` no other reason is touched. */
  flag(spaceId: number, entityId: string, reason: ReviewReason | null, onlyIf?: ReviewReason): Promise<void>;
}

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

export interface PairStore {
  get(spaceId: number, pairId: string): Promise<EntityPair | null>;
  /** Pairs of an entity and of what was merged into it. */
  of(spaceId: number, entityId: string): Promise<readonly EntityPair[]>;
  /** Undecided pairs whose sides are still two, surest first; the live entity of each side. */
  undecided(
    spaceId: number,
    limit: number,
  ): Promise<readonly (EntityPair & { readonly liveA: string; readonly liveB: string })[]>;
  /** The same over all spaces, oldest first: what could be asked again. */
  unasked(
    limit: number,
  ): Promise<readonly (EntityPair & { readonly liveA: string; readonly liveB: string })[]>;
  /** Live entities that somebody said are others than this one. */
  differentFrom(spaceId: number, entityId: string): Promise<ReadonlySet<string>>;
  put(spaceId: number, pairs: readonly PairDraft[], at: Date): Promise<void>;
  /** A model was asked and could not say: it stays open, for people. */
  noteAsked(spaceId: number, pairId: string, askedOf: string, at: Date): Promise<void>;
  decide(
    spaceId: number,
    pairId: string,
    state: 'different' | 'later',
    decidedBy: string,
    at: Date,
  ): Promise<EntityPair | null>;
}

export interface MergeStore {
  get(spaceId: number, mergeId: string): Promise<EntityMerge | null>;
  /** Merges an entity took part in, newest first. */
  of(spaceId: number, entityId: string): Promise<readonly EntityMerge[]>;
  /** Fails with NOT_FOUND or KNOWLEDGE_MERGE_IMPOSSIBLE; then nothing was changed. */
  merge(
    spaceId: number,
    merge: {
      readonly winnerId: string;
      readonly loserId: string;
      readonly reason: string;
      readonly decidedBy: string;
    },
    at: Date,
  ): Promise<EntityMerge>;
  /** Fails with NOT_FOUND or KNOWLEDGE_MERGE_IMPOSSIBLE; then nothing was changed. */
  undo(spaceId: number, mergeId: string, at: Date): Promise<UndoneMerge>;
  /** These mentions of the entity go to the new one, with the events that they are nearest to and the names they brought. */
  split(
    spaceId: number,
    entityId: string,
    mentionIds: readonly string[],
    into: EntityDraft,
    at: Date,
  ): Promise<void>;
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
  readonly wish: CandidateWish;
}
