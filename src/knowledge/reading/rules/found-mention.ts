// What the rules make of a name.
import type { ContextClues, EntityType } from '../../ports.ts';

export interface FoundMention {
  /** In the text that was given. */
  readonly start: number;
  readonly end: number;
  readonly name: string;
  readonly type: EntityType;
  readonly clues: ContextClues;
  readonly confidence: number;
}
