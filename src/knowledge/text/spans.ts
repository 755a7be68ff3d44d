// Lines, words, visible characters and addresses of a text, each with its offsets.
import { honorifics, isEveryday, isGivenName, personVerbs, sharedNames, wordKind } from './lexicon.ts';
import { invisibleCharacter } from './quotes.ts';

export interface Line {
  readonly start: number;
  /** The line without its line break. */
  readonly text: string;
}

export function* linesOf(text: string): Generator<Line> {
  for (let start = 0; start < text.length;) {
    const newline = text.indexOf('\n', start);
    const end = newline < 0 ? text.length : newline;
    yield { start, text: text.slice(start, end).replace(/\r$/, '') };
    start = end + 1;
  }
}

/** Cuts a text, with an ellipsis in place of what exceeds the limit. */
export const truncate = (text: string, maxLength: number): string =>
  text.length > maxLength ? `${text.slice(0, maxLength - 1).toWellFormed()}…` : text;

/** The text without control, format and invisible characters. */
export const withoutInvisible = (text: string): string =>
  text.replaceAll(/[\p{C}\p{Default_Ignorable_Code_Point}\u2800]/gu, '');

export interface Word {
  /** The word without a possessive 's or a contracted verb ("I've"). */
  readonly text: string;
  readonly lower: string;
  readonly start: number;
  readonly end: number;
  readonly isCapital: boolean;
  /** The first word of its sentence, line or list item. */
  readonly isFirst: boolean;
  /** One space (or an initial's period and a space) separates it from the previous word. */
  readonly isNext: boolean;
}

/** Periods, hyphens and the like between letters are part of a word: alice.chen, auto-scaling, R&D. */
const word = /[\p{L}\p{N}][\p{L}\p{M}\p{N}]*(?:['’._&-][\p{L}\p{N}][\p{L}\p{M}\p{N}]*)*/gu;
const drawnIn = /['’](?:s|ve|ll|re|m|d)$/i;
const capital = /^\p{Lu}/u;
const endOfSentence = /[.!?:;\n•|]|(?:^|\s)[-*>#]/;

/** Offsets start at `offset`. Words longer than a hundred characters are skipped. */
export function wordsOf(text: string, offset = 0): readonly Word[] {
  const words: Word[] = [];
  let end = 0;
  let isInitial = false;
  let before = '';
  for (const match of text.matchAll(word)) {
    const [whole] = match;
    const gap = text.slice(end, match.index);
    end = match.index + whole.length;
    if (whole.length > 100) continue;
    const bare = /['’]/.test(whole) ? whole.replace(drawnIn, '') : whole;
    const isNext: boolean = gap === ' ' || (isInitial && gap === '. ');
    words.push({
      text: bare,
      lower: bare.toLowerCase(),
      start: offset + match.index,
      end: offset + match.index + bare.length,
      isCapital: capital.test(bare),
      isFirst: words.length === 0 || (!isNext && endOfSentence.test(gap)),
      isNext,
    });
    isInitial = bare.length === 1 && bare !== 'I' && capital.test(bare) && (!isNext || isBeforeName(before));
    before = isInitial ? initial : bare.toLowerCase();
  }
  return words;
}

/** Any initial: others may follow it. */
const initial = '.';

/** "Ann M. Lee", "by J. R. Roth" and "met J. Roth", but "option A. Then …". */
const isBeforeName = (word: string): boolean =>
  word === initial ||
  isGivenName(word) ||
  wordKind(word) === 'function' ||
  honorifics.has(word) ||
  personVerbs.has(word);

interface VisibleText {
  readonly text: string;
  /** Maps a span to the original text, from its first visible character to its last. */
  place(start: number, end: number): readonly [start: number, end: number];
}

/** Returns the text itself when every character is visible, as in most texts. */
export function visibleText(text: string): VisibleText {
  if (!invisibleCharacter.test(text)) return { text, place: (start, end) => [start, end] };
  const pieces: string[] = [];
  const places: number[] = [];
  let at = 0;
  for (const sign of text) {
    if (!invisibleCharacter.test(sign)) {
      pieces.push(sign);
      for (let unit = 0; unit < sign.length; unit++) places.push(at + unit);
    }
    at += sign.length;
  }
  return {
    text: pieces.join(''),
    place: (start, end) => [
      places[start] ?? text.length,
      end > start ? (places[end - 1] ?? text.length - 1) + 1 : (places[start] ?? text.length),
    ],
  };
}

interface Address {
  readonly start: number;
  readonly end: number;
  readonly surface: string;
  /** In title case, if the address contains a first and a last name. */
  readonly name: string | null;
  readonly email: string | null;
}

/** Anchored at word starts and bounded: linear on any text. */
const mail =
  /(?<![\p{L}\p{N}._%+-])[\p{L}\p{N}._%+-]{1,64}@[\p{L}\p{N}-]{1,63}(?:\.[\p{L}\p{N}-]{1,63}){1,5}/gu;
/** `@ann.lee`, and `ann.lee:` at the start of a line, optionally after the time. */
const mentioned =
  /(?<![\p{L}\p{N}.@])@(\p{Ll}[\p{Ll}\p{N}]{0,30}[._-]\p{Ll}[\p{Ll}\p{N}]{1,30})(?![\p{L}\p{N}@])/gu;
const speakerHandle =
  /^[ \t]{0,8}(?:\[[^\]\n]{1,40}\][ \t]{0,8}|\(?\d{1,2}:\d{2}(?::\d{2})?(?:[ \t]?[AaPp][Mm])?\)?[ \t]{0,8}[-–]?[ \t]{0,8})?<?(\p{Ll}[\p{Ll}\p{N}]{0,30}[._]\p{Ll}[\p{Ll}\p{N}]{1,30})>?[ \t]{0,8}(?:\([^()\n]{1,40}\)[ \t]{0,8})?:/gmu;

/** Sorted by position. */
export function findAddresses(text: string): readonly Address[] {
  const hasSign = text.includes('@');
  const found = [
    ...[...(hasSign ? text.matchAll(mail) : [])].map(({ 0: surface, index }) => {
      const local = surface.slice(0, surface.indexOf('@')).replace(/\+.*$/, '');
      return { start: index, surface, name: spelledName(local), email: surface.toLowerCase() };
    }),
    ...[...(hasSign ? text.matchAll(mentioned) : [])].map(({ 1: handle = '', index }) => ({
      start: index + 1,
      surface: handle,
      name: handleName(handle),
      email: null,
    })),
    ...[...text.matchAll(speakerHandle)].map(({ 0: whole, 1: handle = '', index }) => ({
      start: index + whole.lastIndexOf(handle),
      surface: handle,
      name: handleName(handle),
      email: null,
    })),
  ];
  return found
    .map((address) => ({ ...address, end: address.start + address.surface.length }))
    .sort((a, b) => a.start - b.start);
}

const namePart = /^\p{L}[\p{L}\p{M}]*$/u;

/** "ann.lee" → "Ann Lee"; null without a first and last name, and for names of teams. */
function spelledName(local: string): string | null {
  const parts = local.replace(/\d+$/, '').split(/[._-]/);
  const isName =
    parts.length >= 2 &&
    parts.length <= 3 &&
    parts.every((part) => namePart.test(part) && !sharedNames.has(part.toLowerCase())) &&
    (parts.at(-1)?.length ?? 0) > 1;
  return isName ? parts.map(titled).join(' ') : null;
}

/** Like `spelledName`, for handles. `created_at:` and `owner.name:` are fields: a handle with a common word needs a given name. */
function handleName(handle: string): string | null {
  const parts = handle.split(/[._-]/);
  const isField = parts.some(isEveryday) && !parts.some(isGivenName);
  return isField ? null : spelledName(handle);
}

const titled = (part: string): string =>
  part.length === 1 ? `${part.toUpperCase()}.` : part.charAt(0).toUpperCase() + part.slice(1).toLowerCase();
