// A text as words with their places.
import { isGivenName, wordKind } from './lexicon.ts';
import { honorifics, personVerbs } from './name-cues.ts';

export interface Word {
  /** As it stands there, without an 's of possession or a verb drawn into it ("I've"). */
  readonly text: string;
  readonly lower: string;
  readonly start: number;
  readonly end: number;
  readonly isCapital: boolean;
  /** Nothing stands before it in its sentence, line or item. */
  readonly isFirst: boolean;
  /** It stands one blank (or an initial's point and a blank) behind the word before it. */
  readonly isNext: boolean;
}

/** Points, hyphens and the like belong to a word when letters stand on both sides: alice.chen, auto-scaling, R&D. */
const word = /[\p{L}\p{N}][\p{L}\p{M}\p{N}]*(?:['’._&-][\p{L}\p{N}][\p{L}\p{M}\p{N}]*)*/gu;
const drawnIn = /['’](?:s|ve|ll|re|m|d)$/i;
const capital = /^\p{Lu}/u;
const endOfSentence = /[.!?:;\n•|]|(?:^|\s)[-*>#]/;

/** Offsets are counted from `offset`. Words longer than a hundred characters are no words. */
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

/** Stands for any initial: others may follow it. */
const initial = '.';

/** "Ann M. Lee", "by J. R. Roth" and "met J. Roth", but "option A. Then …". */
const isBeforeName = (word: string): boolean =>
  word === initial ||
  isGivenName(word) ||
  wordKind(word) === 'function' ||
  honorifics.has(word) ||
  personVerbs.has(word);
