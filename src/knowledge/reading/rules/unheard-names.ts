// People whose names stand in no list: known by what stands around two or three words with capital letters.
import type { Run } from './capital-runs.ts';
import { isInitialAt, isParticle, isPlain } from './capital-runs.ts';
import { isGivenName, wordKind } from '../../text/lexicon.ts';
import {
  companyDeeds,
  departments,
  honorifics,
  organizationEndings,
  organizationTails,
  personDeeds,
  personLeads,
  personVerbs,
  projectEndings,
  roleWords,
  sharedNames,
  thingEndings,
} from '../../text/name-cues.ts';
import { isRole, positionBehind } from '../../documents/role-and-employer.ts';
import type { Word } from '../../text/words.ts';

/** What a piece of text says of its names. */
export interface Surroundings {
  readonly text: string;
  readonly words: readonly Word[];
  /** What the document also writes in small letters. */
  readonly lowercaseWords: ReadonlySet<string>;
}

/** A document whose words no list has tells nothing by them: there every word would be somebody's name. */
export function isInKnownWords(lowercaseWords: ReadonlySet<string>): boolean {
  let known = 0;
  let seen = 0;
  for (const word of lowercaseWords) {
    if (wordKind(word) !== undefined) known++;
    if (++seen === mostCounted) break;
  }
  return seen >= 2 && known / seen >= 0.4;
}

const mostCounted = 500;

interface Judged {
  readonly run: Run;
  readonly isPerson: boolean;
}

/** The names of people that nobody introduced, of all runs of a text, in their order. */
export function inferPersonNames(around: Surroundings, runs: Iterable<Run>): readonly Run[] {
  const found: Run[] = [];
  let before = null as Judged | null;
  for (const whole of runs) {
    const run = withoutOpening(whole, around.lowercaseWords);
    const mayBe = mayBeName(run, around.lowercaseWords);
    const listed: Judged | null = before && isListed(around.text, before.run, run) ? before : null;
    const isPerson: boolean = mayBe && (actsLikePerson(around, run) || listed?.isPerson === true);
    // "Zhang Wei and Priya Rao met": the second tells who the first is.
    if (isPerson && listed && !listed.isPerson && mayBeName(listed.run, around.lowercaseWords))
      found.push(listed.run);
    if (isPerson) found.push(run);
    before = run.words.length === 0 ? null : { run, isPerson };
  }
  return found;
}

/** Without the word that only opens a sentence, a title or a form of address. */
function withoutOpening({ at, words }: Run, lowercaseWords: ReadonlySet<string>): Run {
  let from = 0;
  for (const [index, word] of words.entries()) {
    const isOpening = word.isFirst && isPlain(word, lowercaseWords) && !isGivenName(word.lower);
    const isFunction = wordKind(word.lower) === 'function' && !isInitialAt(words, index);
    if (!isOpening && !isFunction && !honorifics.has(word.lower)) break;
    from++;
  }
  return { at: at + from, words: words.slice(from) };
}

const isCapitals = (word: Word): boolean => /^\p{Lu}{2,}$/u.test(word.text);

/** Two to four words that could be a name: none of them a thing's, a company's, a place's or a job's. */
function mayBeName({ words }: Run, lowercaseWords: ReadonlySet<string>): boolean {
  const own = words.filter((word, index) => !isParticle(word.lower) && !isInitialAt(words, index));
  const [first] = own;
  const last = own.at(-1);
  if (!first || !last || words.length > 6 || own.length > 4) return false;
  if (words.some(({ lower }) => lower === 'of')) return false;
  if (own.length < 2 && words.length < 2) return false;
  const areCapitals = own.every(isCapitals);
  if (own.some((word) => /\p{N}|[_&]/u.test(word.text) || word.text.length < 2)) return false;
  if (!areCapitals && own.some((word) => isCapitals(word) || isOddlyMixed(word.text))) return false;
  if (own.some(({ lower }) => roleWords.has(lower) || departments.has(lower) || sharedNames.has(lower)))
    return false;
  if (isThings(last.lower) || wordKind(own.map(({ lower }) => lower).join(' ')) !== undefined) return false;
  // The first word decides: a given name is one wherever it stands, a word of the language none.
  return isGivenName(first.lower) || !isKnownOtherwise(first, lowercaseWords);
}

const isThings = (word: string): boolean =>
  thingEndings.has(word) ||
  projectEndings.has(word) ||
  organizationEndings.has(word) ||
  organizationTails.test(word);

/** "McDonald" and "O'Rourke" are no products. */
const isOddlyMixed = (word: string): boolean =>
  /\p{Ll}\p{Lu}/u.test(word.replace(/^(?:Mc|Mac|De|Di|Van|Le|La|Fitz)(?=\p{Lu})/u, ''));

function isKnownOtherwise(word: Word, lowercaseWords: ReadonlySet<string>): boolean {
  const kind = wordKind(word.lower);
  return (
    kind === 'organization' ||
    kind === 'place' ||
    isPlain(word, lowercaseWords) ||
    lowercaseWords.has(word.lower)
  );
}

/** Of a run that may be a name: does what stands before or behind it speak of somebody? */
function actsLikePerson({ text, words, lowercaseWords }: Surroundings, { at, words: own }: Run): boolean {
  const [first] = own;
  const last = own.at(-1);
  if (!first || !last) return false;
  // "the Swedish Academy", "a Gold Medal"
  if (first.isNext && articles.has(words[at - 1]?.lower ?? '')) return false;
  const next = words[at + own.length];
  const afterNext = words[at + own.length + 1];
  const areStrange = own.every((word) => isParticle(word.lower) || !isPlain(word, lowercaseWords));
  if (next?.isNext) {
    if (personVerbs.has(next.lower) || next.lower === 'who') return true;
    if (next.lower === 'will' && personDeeds.has(afterNext?.lower ?? '')) return true;
    // "- Tariq Haddad to call the landlord"
    if (next.lower === 'to' && first.isFirst && personDeeds.has(afterNext?.lower ?? '')) return true;
  }
  if (isRole(positionBehind(text, last.end).role ?? '')) return true;
  if (!areStrange) return false;
  if (honorifics.has(words[at - 1]?.lower ?? '')) return true;
  // "DMITRI VOLKOV: we will …"; a label has a plain word in it, and a title a capital letter behind it.
  if (first.isFirst && /^: (?:\p{Ll}|I\b|We\b)/u.test(text.slice(last.end, last.end + 5))) return true;
  const before = text.slice(Math.max(0, first.start - 50), first.start);
  return !first.isFirst && personLeads.test(before) && !companyDeeds.test(before);
}

const articles = new Set(['the', 'a', 'an', 'this', 'our', 'its', 'their', 'your']);

const joint = /^(?:,? (?:and|&|or) |, | \/ |; )$/;

/** Next to each other in a list of names. */
function isListed(text: string, a: Run, b: Run): boolean {
  const [end, start] = [a.words.at(-1)?.end ?? 0, b.words[0]?.start ?? 0];
  return start - end < 8 && joint.test(text.slice(end, start));
}
