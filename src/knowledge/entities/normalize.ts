// Normalizes names: case, accents, punctuation and invisible characters removed, company forms unified. Parses person
// names.
import { createHash } from 'node:crypto';
import type { EntityType } from '../reading/types.ts';
import { truncate } from '../text/spans.ts';
import { companyForms, degrees, generations, particles, titles } from './name-data.ts';

/** Characters that are invisible or control how others are displayed. */
const invisible = /[\p{Cf}\p{Cc}\p{Co}\u034f\u115f\u1160\u17b4\u17b5\u180e\u2800\u3164\uffa0]/gu;

/** The name of an entity without any visible character. Stored. */
export const unnamedEntityName = '(no visible name)';

const maxNameLength = 300;

/** The name as it is displayed and stored: one line, valid for Postgres, nothing invisible, at most 300 characters. */
export const visibleName = (name: string): string => truncate(cleanName(name), maxNameLength);

/** Text beyond this length is not part of a name. */
const maxTextLength = 20_000;

function cleanName(name: string): string {
  if (/^[\w.@-]+( [\w.@-]+)*$/.test(name) && name.length <= maxNameLength) return name;
  const clean = name
    .slice(0, maxTextLength)
    .toWellFormed()
    .replaceAll(/[\p{Zl}\p{Zp}\p{Zs}\t\n\r]+/gu, ' ')
    .replaceAll(invisible, '')
    .replaceAll('\ufffd', '')
    .replaceAll(/ +/g, ' ')
    .trim();
  return clean === '' ? unnamedEntityName : clean;
}

export const isUnnamed = (name: string): boolean => visibleName(name) === unnamedEntityName;

/** Letters that do not decompose into a letter and an accent. */
const spelledOut: ReadonlyMap<string, string> = new Map(
  Object.entries({ ß: 'ss', ø: 'o', ł: 'l', đ: 'd', æ: 'ae', œ: 'oe', ð: 'd', þ: 'th', ı: 'i' }),
);

/** Lower case, no accents or punctuation, words separated by one space. `+` and `#` stay at the end of a word. */
export function plainWords(text: string): string {
  // Fast path for most names: a tenth of the time.
  if (/^[a-z0-9 ]*$/i.test(text)) return text.toLowerCase().replaceAll(/ +/g, ' ').trim();
  return text
    .normalize('NFKD')
    .replaceAll(/[\u0300-\u036f]/g, '')
    .toLowerCase()
    .normalize('NFC')
    .replaceAll(/[ßøłđæœðþı]/g, (letter) => spelledOut.get(letter) ?? letter)
    .replaceAll(/['’`´ʼ]/g, '')
    .replaceAll('&', ' and ')
    .replaceAll(/(?<=[\p{L}\p{N}+#])[+#](?=[+#\s]|$)/gu, (sign) => (sign === '+' ? '\ue000' : '\ue001'))
    .replaceAll(/[^\p{L}\p{N}\p{M}\ue000\ue001]+/gu, ' ')
    .replaceAll('\ue000', '+')
    .replaceAll('\ue001', '#')
    .trim();
}

/**
 * The distinctive words of a name. A person's lose titles and the possessive 's and are ordered "First Last"; a
 * company's legal form is unified. A name without letters or digits is its own word.
 */
export function nameTokens(name: string, type: EntityType): readonly string[] {
  const clean = cleanName(name);
  if (clean === unnamedEntityName) return [];
  const tokens =
    type === 'person'
      ? personTokens(clean)
      : plainWords(clean)
          .split(' ')
          .map((word) => (type === 'org' ? (companyForms.get(word) ?? word) : word));
  const words = tokens.filter(Boolean);
  if (words.length > 0) return words;
  const symbols = clean.toLowerCase().replaceAll(' ', '');
  return symbols === '' ? [] : [symbols];
}

function personTokens(clean: string): readonly string[] {
  const withoutPossessive = clean.replace(/['’]s$/iu, '');
  const local = handleOf(withoutPossessive);
  if (local !== null)
    return plainWords(local.replaceAll(/[._\-+]+/g, ' ').replaceAll(/\d+/g, ' ')).split(' ');
  const [last = '', first = '', ...more] = withoutPossessive.split(',');
  const isSuffix = (word: string) => generations.has(word) || degrees.has(word);
  const firstWords = plainWords(first).split(' ').filter(Boolean);
  const isTurned = firstWords.length > 0 && !firstWords.every(isSuffix);
  const words = plainWords(isTurned ? [first, last, ...more].join(' ') : withoutPossessive)
    .split(' ')
    .filter((word) => !degrees.has(word));
  const start = words.findIndex((word) => !titles.has(word));
  return start === -1 ? words : words.slice(start);
}

/** The part of an email address or handle that may be a name: `alice.chen` of `alice.chen@acme.com`; else null. */
export function handleOf(name: string): string | null {
  return (
    /^([^\s@<>]+)@[^\s@<>]+\.[^\s@<>.]+$/.exec(name)?.[1] ??
    /^@([\p{L}\p{N}._-]+)$/u.exec(name)?.[1] ??
    /^([\p{L}\p{N}]+(?:[._][\p{L}\p{N}]+)+)$/u.exec(name)?.[1] ??
    null
  );
}

/** The stored key of a name, equal for names that differ only in notation. Never empty, at most 300 characters. */
export function normalizeName(name: string, type: EntityType): string {
  const key = nameTokens(name, type).join(' ');
  if (key === '') return unnamedEntityName;
  if (key.length <= maxNameLength) return key;
  const rest = createHash('sha256').update(key).digest('hex').slice(0, 16);
  return `${key.slice(0, maxNameLength - 17).toWellFormed()} ${rest}`;
}

// A person's name parsed into given names, surname and generation, or a single word that may be any of them or a
// handle.

export interface PersonName {
  /** Words or initials, first name first; empty for a single word. */
  readonly given: readonly string[];
  /** With its particles: `van der berg`. Null for a single word. */
  readonly surname: string | null;
  /** Set when the name is a single word. */
  readonly single: string | null;
  readonly generation: string | null;
}

/** Names repeat within a chunk, and parsing one costs ten times as much as comparing it. */
const maxCached = 5_000;
const cache = new Map<string, PersonName | null>();

/** Null when nothing remains after normalization. */
export function parsePersonName(name: string): PersonName | null {
  const known = cache.get(name);
  if (known !== undefined) return known;
  if (cache.size >= maxCached) cache.clear();
  const read = splitPersonName(name);
  cache.set(name, read);
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

/** Forms of the name in addresses and handles: bsmith, bobsmith, bobs, smithb, smithbob. */
export function handleForms({ given, surname }: PersonName): readonly string[] {
  const first = given[0] ?? '';
  const last = (surname ?? '').replaceAll(' ', '');
  if (first === '' || last === '') return [];
  const initial = first.slice(0, 1);
  return [...new Set([initial + last, first + last, first + last.slice(0, 1), last + initial, last + first])];
}

export const isInitial = (word: string): boolean => /^.$/u.test(word);

/** A given name and a surname, both in full, also in an address or handle. */
export function isFullName(name: string): boolean {
  const person = parsePersonName(name);
  return person !== null && person.surname !== null && !isInitial(person.given[0] ?? '');
}

/** How informative a name is: full name over initials over single word over address. */
export function nameFullness(name: string): number {
  const person = parsePersonName(name);
  if (!person) return 0;
  if (name.includes('@')) return 1;
  if (person.single !== null) return 2;
  return person.given.every(isInitial) ? 3 : 4;
}
