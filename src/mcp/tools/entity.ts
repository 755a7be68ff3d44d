// An entity, as tools tell it: what helps to know who is meant, and no more.
import { z } from 'zod';
import { cut } from '../bounds.ts';
import { maybe, text } from '../fields.ts';

const mostAliases = 20;
const mostClues = 10;
const longestClue = 300;

export const entityFields = {
  id: text,
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

interface Lists {
  readonly aliases: string[];
  readonly context_clues: string[];
}

/** Without the tail of long lists; `tailNote` says so. */
export const shortEntity = <Entity extends Lists>(entity: Entity): Entity => ({
  ...entity,
  aliases: entity.aliases.slice(0, mostAliases),
  context_clues: entity.context_clues.slice(0, mostClues).map((clue) => cut(clue, longestClue)),
});

/** What `shortEntity` left out of all of these; null: nothing. Nothing that models can ask for has it. */
export function tailNote(...entities: readonly Lists[]): string | null {
  const tails = (most: number, list: (each: Lists) => string[]) =>
    entities.reduce((sum, each) => sum + Math.max(0, list(each).length - most), 0);
  const aliases = tails(mostAliases, (each) => each.aliases);
  const clues = tails(mostClues, (each) => each.context_clues);
  if (aliases + clues === 0) return null;
  return `Left out: ${aliases} further aliases, ${clues} further context_clues.`;
}
