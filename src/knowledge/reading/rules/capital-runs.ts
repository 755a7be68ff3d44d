// Words with capital letters that stand together: what may be a name.
import { isAmbiguousName, isEveryday, isGivenName, wordKind } from '../../text/lexicon.ts';
import { thingEndings } from '../../text/name-cues.ts';
import type { Word } from '../../text/words.ts';

/** Small words inside names of people, and of institutions. */
const particles = new Set([
  'de',
  'van',
  'von',
  'der',
  'den',
  'da',
  'di',
  'del',
  'dos',
  'bin',
  'al',
  'el',
  'la',
  'le',
  'ter',
  'ten',
  'zu',
  'du',
  'des',
  'della',
  'das',
  'ibn',
]);

/** A small word inside a name, and "al-" before one. */
export const isParticle = (word: string): boolean => particles.has(word);
const boundArticle = /^(?:al|el|ad|an|ar|as|ash|at|az)-\p{Lu}/u;
const takesOf = new Set([
  'bank',
  'university',
  'institute',
  'ministry',
  'department',
  'college',
  'board',
  'bureau',
  'chamber',
  'council',
  'house',
]);
const longestRun = 8;

export interface Run {
  readonly words: readonly Word[];
  /** Where in the list of words it begins. */
  readonly at: number;
}

export function* capitalRuns(words: readonly Word[]): Generator<Run> {
  for (let at = 0; at < words.length; at++) {
    if (!words[at]?.isCapital) continue;
    let end = at + 1;
    while (end < words.length && end - at < longestRun) {
      const next = joined(words, end);
      if (next === 0) break;
      end += next;
    }
    yield { words: words.slice(at, end), at };
    at = end - 1;
  }
}

/** How many words from here belong to the run before: a capital one, or small ones and a capital one. */
function joined(words: readonly Word[], at: number): number {
  const word = words[at];
  if (!word?.isNext) return 0;
  if (word.isCapital || boundArticle.test(word.text)) return 1;
  const before = words[at - 1]?.lower ?? '';
  const isJoining = particles.has(word.lower) || (word.lower === 'of' && takesOf.has(before));
  if (!isJoining) return 0;
  const next = words[at + 1];
  if (next?.isNext && next.isCapital) return 2;
  const after = words[at + 2];
  return next?.isNext && particles.has(next.lower) && after?.isNext && after.isCapital ? 3 : 0;
}

/** A word that tells nothing of whom or what is meant. `lowercaseWords`: what the document also writes in small letters. */
export const isPlain = ({ lower }: Word, lowercaseWords: ReadonlySet<string>): boolean =>
  isEveryday(lower) || (wordKind(lower) === undefined && lowercaseWords.has(lower));

/** "Ann Lee": a given name that is nothing else, or one that a word follows which is no plain one. */
export function looksLikeFullName(words: readonly Word[], lowercaseWords: ReadonlySet<string>): boolean {
  const [first, ...rest] = words;
  const last = rest.at(-1);
  if (!first || !last || words.length > 4 || !isGivenName(first.lower) || thingEndings.has(last.lower))
    return false;
  if (words.some((word) => /\p{N}|^\p{Lu}{2,}$/u.test(word.text))) return false;
  if (isAmbiguousName(first.lower) || first.isFirst) return !isPlain(last, lowercaseWords);
  return !lowercaseWords.has(last.lower);
}

/** "A." before the next word of a name: a letter, a point and a blank. */
export function isInitialAt(words: readonly Word[], at: number): boolean {
  const [word, next] = words.slice(at, at + 2);
  return word?.text.length === 1 && next?.isNext === true && next.start === word.end + 2;
}

/** "A. Chen", "J. R. Roth". */
export function isInitialed(words: readonly Word[], lowercaseWords: ReadonlySet<string>): boolean {
  const names = words.filter((_, index) => !isInitialAt(words, index));
  const [first] = names;
  return (
    isInitialAt(words, 0) &&
    names.length <= 2 &&
    first !== undefined &&
    first.text.length > 1 &&
    !isPlain(first, lowercaseWords) &&
    !thingEndings.has(names.at(-1)?.lower ?? '')
  );
}
