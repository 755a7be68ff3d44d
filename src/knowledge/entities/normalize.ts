// Names made comparable: case, accents, punctuation and invisible characters gone, company forms in one spelling.
import { createHash } from 'node:crypto';
import type { EntityType } from '../reading/types.ts';
import { companyForms, degrees, generations, particles, titles } from './name-data.ts';

/** Characters that show nothing or steer how others are shown. */
const invisible = /[\p{Cf}\p{Cc}\p{Co}\u034f\u115f\u1160\u17b4\u17b5\u180e\u2800\u3164\uffa0]/gu;

/** What a name without any visible character is called. */
export const unnamedEntityName = '(no visible name)';

const longestName = 300;

/** The name as it is shown and kept: what Postgres takes, one line, nothing invisible, at most 300 characters. */
export function visibleName(name: string): string {
  const seen = seenOf(name);
  return seen.length <= longestName ? seen : `${seen.slice(0, longestName - 1).toWellFormed()}…`;
}

/** Whatever comes after is no name any more. */
const longestText = 20_000;

function seenOf(name: string): string {
  if (/^[\w.@-]+( [\w.@-]+)*$/.test(name) && name.length <= longestName) return name;
  const seen = name
    .slice(0, longestText)
    .toWellFormed()
    .replaceAll(/[\p{Zl}\p{Zp}\p{Zs}\t\n\r]+/gu, ' ')
    .replaceAll(invisible, '')
    .replaceAll('\ufffd', '')
    .replaceAll(/ +/g, ' ')
    .trim();
  return seen === '' ? unnamedEntityName : seen;
}

export const isUnnamed = (name: string): boolean => visibleName(name) === unnamedEntityName;

/** Letters that do not come apart into a letter and an accent. */
const spelledOut: Readonly<Record<string, string>> = {
  ß: 'ss',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  æ: 'ae',
  œ: 'oe',
  ð: 'd',
  þ: 'th',
  ı: 'i',
};

/** Lower case, no accents, no punctuation; words separated by one space. `+` and `#` stay where they end a word. */
export function plainWords(text: string): string {
  // Most names are; a tenth of the time.
  if (/^[a-z0-9 ]*$/i.test(text)) return text.toLowerCase().replaceAll(/ +/g, ' ').trim();
  return text
    .normalize('NFKD')
    .replaceAll(/[\u0300-\u036f]/g, '')
    .toLowerCase()
    .normalize('NFC')
    .replaceAll(/[ßøłđæœðþı]/g, (letter) => spelledOut[letter] ?? letter)
    .replaceAll(/['’`´ʼ]/g, '')
    .replaceAll('&', ' and ')
    .replaceAll(/(?<=[\p{L}\p{N}+#])[+#](?=[+#\s]|$)/gu, (sign) => (sign === '+' ? '\ue000' : '\ue001'))
    .replaceAll(/[^\p{L}\p{N}\p{M}\ue000\ue001]+/gu, ' ')
    .replaceAll('\ue000', '+')
    .replaceAll('\ue001', '#')
    .trim();
}

/**
 * The words of a name that tell it apart. A person's lose titles and the 's of possession and are put in the order
 * "First Last"; a company's form comes last, in one spelling. A name of signs only is its own word.
 */
export function nameTokens(name: string, type: EntityType): readonly string[] {
  const seen = seenOf(name);
  if (seen === unnamedEntityName) return [];
  const tokens =
    type === 'person'
      ? personTokens(seen)
      : plainWords(seen)
          .split(' ')
          .map((word) => (type === 'org' ? (companyForms.get(word) ?? word) : word));
  const words = tokens.filter(Boolean);
  if (words.length > 0) return words;
  const signs = seen.toLowerCase().replaceAll(' ', '');
  return signs === '' ? [] : [signs];
}

function personTokens(seen: string): readonly string[] {
  const withoutPossession = seen.replace(/['’]s$/iu, '');
  const local = handleOf(withoutPossession);
  if (local !== null)
    return plainWords(local.replaceAll(/[._\-+]+/g, ' ').replaceAll(/\d+/g, ' ')).split(' ');
  const [last = '', first = '', ...more] = withoutPossession.split(',');
  const isSuffix = (word: string) => generations.has(word) || degrees.has(word);
  const firstWords = plainWords(first).split(' ').filter(Boolean);
  const isTurned = firstWords.length > 0 && !firstWords.every(isSuffix);
  const words = plainWords(isTurned ? [first, last, ...more].join(' ') : withoutPossession)
    .split(' ')
    .filter((word) => !degrees.has(word));
  const start = words.findIndex((word) => !titles.has(word));
  return start === -1 ? words : words.slice(start);
}

/** The part of a mail address or handle that may be a name: `alice.chen` of `alice.chen@acme.com`; else null. */
export function handleOf(name: string): string | null {
  return (
    /^([^\s@<>]+)@[^\s@<>]+\.[^\s@<>.]+$/.exec(name)?.[1] ??
    /^@([\p{L}\p{N}._-]+)$/u.exec(name)?.[1] ??
    /^([\p{L}\p{N}]+(?:[._][\p{L}\p{N}]+)+)$/u.exec(name)?.[1] ??
    null
  );
}

/** What one name is known by in the store: equal for names that differ only in writing. Never empty, and bounded. */
export function normalizeName(name: string, type: EntityType): string {
  const key = nameTokens(name, type).join(' ');
  if (key === '') return unnamedEntityName;
  if (key.length <= longestName) return key;
  const rest = createHash('sha256').update(key).digest('hex').slice(0, 16);
  return `${key.slice(0, longestName - 17).toWellFormed()} ${rest}`;
}

// A person's name taken apart: given names, surname, generation; or one word that may be either, or a handle.

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
export function parsePersonName(name: string): PersonName | null {
  const known = remembered.get(name);
  if (known !== undefined) return known;
  if (remembered.size >= mostRemembered) remembered.clear();
  const read = splitPersonName(name);
  remembered.set(name, read);
  return read;
}

function splitPersonName(name: string): PersonName | null {
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
  const person = parsePersonName(name);
  return person !== null && person.surname !== null && !isInitial(person.given[0] ?? '');
}

/** How much a name tells: a full name more than one with initials, that more than a single word. */
export function nameFullness(name: string): number {
  const person = parsePersonName(name);
  if (!person) return 0;
  if (name.includes('@')) return 1;
  if (person.single !== null) return 2;
  return person.given.every(isInitial) ? 3 : 4;
}
