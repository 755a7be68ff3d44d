// What is read out of a chunk: who and what it mentions, and what happened in it, with evidence.

export const entityTypes = ['person', 'org', 'project', 'object', 'place', 'other'] as const;
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

/** What a text says of somebody or something at one place. */
export interface EntityMention {
  /** Within its reading; events name actors by it. */
  readonly ref: string;
  readonly surfaceForm: string;
  readonly canonicalSuggestion: string;
  readonly type: EntityType;
  readonly contextClues: ContextClues;
  /** In the revision's text; null when the name stands nowhere literally (structured). */
  readonly startChar: number | null;
  readonly endChar: number | null;
  readonly confidence: number;
  readonly method: ReadingMethod;
}

export interface ContextClues {
  readonly role?: string;
  readonly organization?: string;
  readonly email?: string;
  /** What the source itself knows it by, `source#kind/id`: who has the same is the same, whatever it is called now. */
  readonly identity?: string;
  /** Anything else that tells people apart: team, city, … */
  readonly notes?: readonly string[];
}

/** Known from the source itself, without reading the text. */
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
  /** The `ref` of a mention, or plain words when it is no entity. */
  readonly subjectRef: string | null;
  readonly subject: string | null;
  readonly actors: readonly { readonly ref: string; readonly role: ActorRole }[];
  /** At least one; each quote stands literally in the revision's text at these offsets, at most 25 words. */
  readonly evidence: readonly {
    readonly quote: string;
    readonly startChar: number;
    readonly endChar: number;
  }[];
  readonly confidence: number;
}

/**
 * Why something that a reading lists is not taken. Refused, because the text does not bear it out: a name or a quote
 * that does not stand there, an entry without a name or of no known category, an actor whom no mention names. Left out,
 * though it may be true: more than one reading may hold.
 */
export const refusalReasons = [
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
  readonly reason: (typeof refusalReasons)[number] | (typeof truncationReasons)[number];
  readonly count: number;
}

export interface Reading {
  /** `structured`: there was nothing to read, only data whose fields are known without. */
  readonly method: ReadingMethod;
  /** Why the model that was asked did not read it, and rules did. */
  readonly fallbackFor?: string;
  readonly mentions: readonly EntityMention[];
  readonly events: readonly ReadEvent[];
  /** What it listed and was not taken, each reason once. Nothing of it is repeated. */
  readonly dropped: readonly DroppedCount[];
}
