// An entity, as tools tell it: what helps to know who is meant, and no more.
import { z } from 'zod';
import { cut } from '../bounds.ts';
import { maybe, text } from '../fields.ts';

const mostAliases = 20;
const mostClues = 10;
const longestClue = 300;

export const entityFields = {
  entity_id: text,
  type: text,
  canonical_name: text,
  aliases: z.array(text).describe('What else it was called.'),
  role: maybe,
  organization: maybe.describe('Which it belongs to, as documents say.'),
  email: maybe,
  context_clues: z.array(text).describe('What else is known.'),
  needs_review: z.boolean().describe('It may be the same as another one.'),
  mention_count: z.number(),
  event_count: z.number(),
};

/** Without the tail of long lists. */
export const shortEntity = <Entity extends { readonly aliases: string[]; readonly context_clues: string[] }>(
  entity: Entity,
): Entity => ({
  ...entity,
  aliases: entity.aliases.slice(0, mostAliases),
  context_clues: entity.context_clues.slice(0, mostClues).map((clue) => cut(clue, longestClue)),
});
