// The result of reading a chunk: mentions, and events with evidence.

export const entityTypes = ['person', 'organization', 'project', 'object', 'place', 'other'] as const;
export type EntityType = (typeof entityTypes)[number];

export const eventCategories = [
  'Commitment',
  'Execution',
  'Decision',
  'Collaboration',
  'QualityRisk',
  'Feedback',
  'Change',
  'Stakeholder',
] as const;
export type EventCategory = (typeof eventCategories)[number];

export const actorRoles = ['owner', 'contributor', 'reviewer', 'stakeholder', 'other'] as const;
export type ActorRole = (typeof actorRoles)[number];

export type ReadingMethod = 'model' | 'rules' | 'structured';

/** One occurrence of an entity in a text. */
export interface EntityMention {
  /** Unique within the reading; events refer to actors by it. */
  readonly ref: string;
  readonly surfaceForm: string;
  readonly canonicalSuggestion: string;
  readonly type: EntityType;
  readonly contextClues: ContextClues;
  /** In the revision's text; null when the name does not occur literally (structured). */
  readonly startChar: number | null;
  readonly endChar: number | null;
  readonly confidence: number;
  readonly method: ReadingMethod;
  /** A part of the names of several people of the document. */
  readonly isAmbiguous?: boolean;
}

export interface ContextClues {
  readonly role?: string;
  readonly organization?: string;
  readonly email?: string;
  /** The source's own identity, `source#kind/id`: equal identities are the same entity, whatever its name. */
  readonly identity?: string;
  /** Other distinguishing facts: team, city, … */
  readonly notes?: readonly string[];
}

/** Known from the source without reading the text. */
export interface StructuredMention {
  readonly surfaceForm: string;
  readonly type: EntityType;
  /** owner, folder, model, explore, author, recipient, … */
  readonly relation: string;
  readonly contextClues: ContextClues;
}

export interface ReadEvent {
  readonly category: EventCategory;
  readonly eventTime: Date | null;
  readonly narrative: string;
  /** The `ref` of a mention; null when the subject is not an entity. */
  readonly subjectRef: string | null;
  readonly subject: string | null;
  readonly actors: readonly { readonly ref: string; readonly role: ActorRole }[];
  /** At least one; each quote occurs literally in the revision's text at these offsets, with at most 25 words. */
  readonly evidence: readonly {
    readonly quote: string;
    readonly startChar: number;
    readonly endChar: number;
  }[];
  readonly confidence: number;
}

/**
 * Why an entry of a reading is dropped. Refused, because the text does not support it: a name or quote that does not
 * occur, an entry without a name or with an unknown category, an actor without a mention. Truncated: beyond the limits
 * of one reading.
 */
export const rejectionReasons = [
  'mention-without-name',
  'mention-not-in-text',
  'event-no-object',
  'event-category-unknown',
  'event-quote-not-in-text',
  'quote-not-in-text',
  'actor-not-mentioned',
] as const;
export const truncationReasons = [
  'mentions-too-many',
  'events-too-many',
  'actors-too-many',
  'quotes-too-many',
] as const;

export interface DroppedCount {
  readonly reason: (typeof rejectionReasons)[number] | (typeof truncationReasons)[number];
  readonly count: number;
}

export interface Reading {
  /** `structured`: data without prose; its fields are known without reading. */
  readonly method: ReadingMethod;
  /** Why the model call failed, when rules read the chunk instead. */
  readonly fallbackFor?: string;
  readonly mentions: readonly EntityMention[];
  readonly events: readonly ReadEvent[];
  /** Counts of dropped entries, each reason once. The entries themselves are not kept. */
  readonly dropped: readonly DroppedCount[];
}
