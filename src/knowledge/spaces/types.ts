// Spaces: what belongs together, and who may see it.

/** A space of an organization, or of the house itself. */
export interface Space {
  /** Inside only; people and programs say name and organization. */
  readonly spaceId: number;
  /** Null: the house's own, reached with the admin token. */
  readonly organizationId: string | null;
  /** Unique within its owner, whatever the case of its letters. */
  readonly name: string;
  /** A text search configuration of Postgres: english, german, simple, … */
  readonly language: string;
  readonly createdAt: Date;
}

export const defaultSpaceName = 'default';

export interface SpaceStore {
  get(organizationId: string | null, name: string): Promise<Space | null>;
  byId(spaceId: number): Promise<Space | null>;
  /** The space, made if it is missing. Fails with KNOWLEDGE_LANGUAGE_UNKNOWN when the store does not know the language. */
  ensure(organizationId: string | null, name: string, language?: string): Promise<Space>;
  /** Those of one owner, by name; `undefined`: all of all owners. */
  list(organizationId: string | null | undefined): Promise<readonly Space[]>;
  /** With everything in it. */
  remove(spaceId: number): Promise<boolean>;
}
