// A person's name taken apart: given names, surname, generation; or one word that may be either, or a handle.
import { generations, particles } from './name-words.ts';
import { nameTokens } from './normalize-name.ts';

export interface PersonName {
  /** Words or single letters, first name first; empty when the name is one word. */
  readonly given: readonly string[];
  /** With its particles: `van der berg`. Null when the name is one word. */
  readonly surname: string | null;
  /** The one word, when there is only one. */
  readonly single: string | null;
  readonly generation: string | null;
}

/** Names come again and again within a chunk: taking one apart costs ten times what comparing does. */
const mostRemembered = 5_000;
const remembered = new Map<string, PersonName | null>();

/** Null when nothing of the name is left. */
export function readPersonName(name: string): PersonName | null {
  const known = remembered.get(name);
  if (known !== undefined) return known;
  if (remembered.size >= mostRemembered) remembered.clear();
  const read = takeApart(name);
  remembered.set(name, read);
  return read;
}

function takeApart(name: string): PersonName | null {
  const tokens = nameTokens(name, 'person');
  const lastGeneration = tokens.length > 2 ? generations.get(tokens.at(-1) ?? '') : undefined;
  const words = lastGeneration === undefined ? tokens : tokens.slice(0, -1);
  const generation = lastGeneration ?? null;
  const [only, ...more] = words;
  if (only === undefined) return null;
  if (more.length === 0) return { given: [], surname: null, single: only, generation };
  let start = words.length - 1;
  while (start > 1 && particles.has(words[start - 1] ?? '')) start--;
  return { given: words.slice(0, start), surname: words.slice(start).join(' '), single: null, generation };
}

/** The same person as others write it in addresses and handles: bsmith, bobsmith, bobs, smithb, b. */
export function handleForms({ given, surname }: PersonName): readonly string[] {
  const first = given[0] ?? '';
  const last = (surname ?? '').replaceAll(' ', '');
  if (first === '' || last === '') return [];
  const initial = first.slice(0, 1);
  return [...new Set([initial + last, first + last, first + last.slice(0, 1), last + initial, last + first])];
}

export const isInitial = (word: string): boolean => /^.$/u.test(word);

/** A given name and a surname, both in full; also as an address or handle spells them. */
export function isFullName(name: string): boolean {
  const person = readPersonName(name);
  return person !== null && person.surname !== null && !isInitial(person.given[0] ?? '');
}

/** How much a name tells: a full name more than one with initials, that more than a single word. */
export function nameFullness(name: string): number {
  const person = readPersonName(name);
  if (!person) return 0;
  if (name.includes('@')) return 1;
  if (person.single !== null) return 2;
  return person.given.every(isInitial) ? 3 : 4;
}
