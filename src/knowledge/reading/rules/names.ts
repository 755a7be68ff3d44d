// Runs of capitalized words, and which of them are names of people that are in no list.
import { isRole, positionBehind } from '../../documents/roster.ts';
import {
  companyVerbs,
  departments,
  honorifics,
  isAmbiguousName,
  isEveryday,
  isGivenName,
  organizationEndings,
  organizationTails,
  personActionVerbs,
  personLeads,
  personVerbs,
  projectEndings,
  roleWords,
  sharedNames,
  thingEndings,
  wordKind,
  buildVerbs,
  plainEndings,
} from '../../text/lexicon.ts';
import type { Word } from '../../text/spans.ts';

/** Lower-case particles of personal and institutional names. */
const particles = new Set(
  'de van von der den da di del dos bin al el la le ter ten zu du des della das ibn'.split(' '),
);

const boundArticle = /^(?:al|el|ad|an|ar|as|ash|at|az)-\p{Lu}/u;
const takesOf = new Set(
  'bank university institute ministry department college board bureau chamber council house'.split(' '),
);
const longestRun = 8;

export interface Run {
  readonly words: readonly Word[];
  /** Index of its first word. */
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

/** How many words continue the run: a capitalized one, or particles and a capitalized one. */
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

/** A common word. `lowercaseWords`: words that the document also writes in lower case. */
export const isPlain = ({ lower }: Word, lowercaseWords: ReadonlySet<string>): boolean =>
  isEveryday(lower) || (wordKind(lower) === undefined && lowercaseWords.has(lower));

const generationSuffix = /^(?:Jr|Sr|II|III|IV)$/;

/** "Ann Lee": an unambiguous given name, or an ambiguous one followed by an uncommon word. */
export function looksLikeFullName(run: readonly Word[], lowercaseWords: ReadonlySet<string>): boolean {
  const words = run.length > 2 && generationSuffix.test(run.at(-1)?.text ?? '') ? run.slice(0, -1) : run;
  const [first, ...rest] = words;
  const last = rest.at(-1);
  if (!first || !last || words.length > 4 || !isGivenName(first.lower) || thingEndings.has(last.lower))
    return false;
  if (words.some((word) => /\p{N}|^\p{Lu}{2,}$/u.test(word.text))) return false;
  if (isAmbiguousName(first.lower) || first.isFirst) return !isPlain(last, lowercaseWords);
  return !lowercaseWords.has(last.lower);
}

/** "A." before the next word of a name: a letter, a period and a space. */
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

/** The context of a run. */
interface Surroundings {
  readonly text: string;
  readonly words: readonly Word[];
  /** Words that the document also writes in lower case. */
  readonly lowercaseWords: ReadonlySet<string>;
}

/** False when most words are unknown: then every unknown word would look like a name. */
export function isInKnownWords(lowercaseWords: ReadonlySet<string>): boolean {
  let known = 0;
  let seen = 0;
  for (const word of lowercaseWords) {
    if (wordKind(word) !== undefined) known++;
    if (++seen === maxCounted) break;
  }
  return seen >= 2 && known / seen >= 0.4;
}

const maxCounted = 500;

interface Judged {
  readonly run: Run;
  readonly isPerson: boolean;
}

/** Names of people inferred from their context, by position. */
export function inferPersonNames(around: Surroundings, runs: Iterable<Run>): readonly Run[] {
  const found: Run[] = [];
  let before = null as Judged | null;
  for (const whole of runs) {
    const run = withoutOpening(whole, around.lowercaseWords);
    const mayBe = mayBeName(run, around.lowercaseWords);
    const listed: Judged | null = before && isListed(around.text, before.run, run) ? before : null;
    const isPerson: boolean = mayBe && (actsLikePerson(around, run) || listed?.isPerson === true);
    // "Zhang Wei and Priya Rao met": the second identifies the first as a person.
    if (isPerson && listed && !listed.isPerson && mayBeName(listed.run, around.lowercaseWords))
      found.push(listed.run);
    if (isPerson) found.push(run);
    before = run.words.length === 0 ? null : { run, isPerson };
  }
  return found;
}

/** The run without sentence openers, titles and forms of address. */
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

/** Two to four words that could be a name: none names a thing, company, place or job. */
function mayBeName({ words }: Run, lowercaseWords: ReadonlySet<string>): boolean {
  const own = words.filter((word, index) => !particles.has(word.lower) && !isInitialAt(words, index));
  const [first] = own;
  const last = own.at(-1);
  if (!first || !last || words.length > 6 || own.length > 4) return false;
  if (words.some(({ lower }) => lower === 'of')) return false;
  if (own.length < 2 && words.length < 2) return false;
  const areCapitals = own.every(isCapitals);
  if (own.some((word) => /\p{N}|[_&]/u.test(word.text) || word.text.length < 2)) return false;
  if (!areCapitals && own.some((word) => isCapitals(word) || isMixedCase(word.text))) return false;
  if (own.some(({ lower }) => roleWords.has(lower) || departments.has(lower) || sharedNames.has(lower)))
    return false;
  if (isThingWord(last.lower) || wordKind(own.map(({ lower }) => lower).join(' ')) !== undefined)
    return false;
  // The first word decides: a given name qualifies, a common word does not.
  return isGivenName(first.lower) || !isKnownOtherwise(first, lowercaseWords);
}

const isThingWord = (word: string): boolean =>
  thingEndings.has(word) ||
  projectEndings.has(word) ||
  organizationEndings.has(word) ||
  organizationTails.test(word);

/** "McDonald" and "O'Rourke" are not products. */
const isMixedCase = (word: string): boolean =>
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

/** Whether the context of a possible name refers to a person. */
function actsLikePerson({ text, words, lowercaseWords }: Surroundings, { at, words: own }: Run): boolean {
  const [first] = own;
  const last = own.at(-1);
  if (!first || !last) return false;
  // "the Swedish Academy", "a Gold Medal"
  if (first.isNext && articles.has(words[at - 1]?.lower ?? '')) return false;
  const next = words[at + own.length];
  const afterNext = words[at + own.length + 1];
  const areUncommon = own.every((word) => particles.has(word.lower) || !isPlain(word, lowercaseWords));
  // "Martin King Jr. decided"
  const isBehindSuffix =
    next?.isCapital === false &&
    generationSuffix.test(last.text) &&
    text.slice(last.end, next.start) === '. ';
  if (next && (next.isNext || isBehindSuffix)) {
    if (personVerbs.has(next.lower) || next.lower === 'who') return true;
    if (next.lower === 'will' && personActionVerbs.has(afterNext?.lower ?? '')) return true;
    // "- Tariq Haddad to call the landlord"
    if (next.lower === 'to' && first.isFirst && personActionVerbs.has(afterNext?.lower ?? '')) return true;
  }
  if (isRole(positionBehind(text, last.end).role ?? '')) return true;
  if (!areUncommon) return false;
  if (honorifics.has(words[at - 1]?.lower ?? '')) return true;
  // "DMITRI VOLKOV: we will …"; labels contain a common word, and titles are followed by a capital letter.
  if (first.isFirst && /^: (?:\p{Ll}|I\b|We\b)/u.test(text.slice(last.end, last.end + 5))) return true;
  const before = text.slice(Math.max(0, first.start - 50), first.start);
  return !first.isFirst && personLeads.test(before) && !companyVerbs.test(before);
}

const articles = new Set(['the', 'a', 'an', 'this', 'our', 'its', 'their', 'your']);

const joint = /^(?:,? (?:and|&|or) |, | \/ |; )$/;

/** Adjacent in a list of names. */
function isListed(text: string, a: Run, b: Run): boolean {
  const [end, start] = [a.words.at(-1)?.end ?? 0, b.words[0]?.start ?? 0];
  return start - end < 8 && joint.test(text.slice(end, start));
}

// Phrases that name projects: "data migration", "Mobile Redesign", "Project Apollo", "set up auto-scaling".

interface Phrase {
  readonly start: number;
  readonly end: number;
  /** In lower case, with single spaces. */
  readonly key: string;
  /** Required occurrences: 1, or 2 unless it is in the title or capitalized. */
  readonly need: 1 | 2;
}

const maxModifiers = 3;
/** Adjectives that are usually part of a name. */
const naming = new Set('mobile social digital internal global public annual central mutual'.split(' '));

/** Sorted by position. Words such as "new", "our" and "updated" are not part of a name. */
export function* projectPhrases(words: readonly Word[]): Generator<Phrase> {
  for (let at = 0; at < words.length; at++) {
    const phrase = namedProject(words, at) ?? endingPhrase(words, at) ?? builtObject(words, at);
    if (phrase) yield phrase;
  }
}

/** "Project Apollo". */
function namedProject(words: readonly Word[], at: number): Phrase | null {
  const head = words[at];
  if (head?.text !== 'Project') return null;
  const [name, more] = words.slice(at + 1, at + 3);
  if (!name?.isNext || !name.isCapital || isBinding(name.lower)) return null;
  const last = more?.isNext && more.isCapital && wordKind(more.lower) === undefined ? more : name;
  return phraseOf([head, name, ...(last === name ? [] : [last])], 1);
}

function endingPhrase(words: readonly Word[], at: number): Phrase | null {
  const head = words[at];
  if (!head || !projectEndings.has(head.lower)) return null;
  let first = at;
  while (first > 0 && at - first < maxModifiers && words[first]?.isNext) {
    const modifier = words[first - 1];
    if (!modifier || !isModifier(modifier, head, first === at)) break;
    first--;
  }
  return first === at ? null : phraseOf(words.slice(first, at + 1), plainEndings.has(head.lower) ? 2 : 1);
}

function isModifier({ lower, isCapital, isFirst }: Word, head: Word, isNearest: boolean): boolean {
  if (/^[\d.,]+$/.test(lower)) return false;
  if (naming.has(lower)) return true;
  const isTitled = isCapital && head.isCapital;
  const kind = wordKind(lower);
  if (kind === 'function' || kind === 'past') return false;
  if (kind === 'adjective') return isTitled && !isFirst;
  if (kind === 'given') return isTitled;
  return kind !== 'verb' || (isNearest && !isFirst);
}

/** An unknown word as the object of a build verb: accepted only if it occurs again. */
function builtObject(words: readonly Word[], at: number): Phrase | null {
  if (!buildVerbs.has(words[at]?.lower ?? '')) return null;
  let next = at + 1;
  while (next < at + 3 && ['up', 'out', 'the', 'a', 'an', 'our', 'new'].includes(words[next]?.lower ?? ''))
    next++;
  const object = words[next];
  if (!object?.isNext || object.isCapital || object.lower.length < 5 || !object.lower.includes('-'))
    return null;
  return phraseOf([object], 2);
}

const isBinding = (lower: string): boolean => wordKind(lower) === 'function';

function phraseOf(words: readonly Word[], need: 1 | 2): Phrase | null {
  const [first] = words;
  const last = words.at(-1);
  if (!first || !last) return null;
  const isTitled = words.length > 1 && words.every(({ isCapital }) => isCapital);
  const key = words.map(({ lower }) => lower).join(' ');
  return { start: first.start, end: last.end, key, need: isTitled ? 1 : need };
}

/** Counts phrases of a document and selects projects among them. */
export class ProjectPhrases {
  readonly #seen = new Map<string, { count: number; need: number; name: string }>();

  add(words: readonly Word[], text: string): void {
    for (const { key, need, start, end } of projectPhrases(words)) {
      const name = text.slice(start, end);
      const seen = this.#seen.get(key);
      if (!seen) this.#seen.set(key, { count: 1, need, name });
      else {
        seen.count++;
        seen.need = Math.min(seen.need, need);
        if (/^\p{Lu}/u.test(name) && !/^\p{Lu}/u.test(seen.name)) seen.name = name;
      }
    }
  }

  /** Display names by key. */
  chosen(title: string): ReadonlyMap<string, string> {
    const lowerTitle = title.toLowerCase();
    const accepted = [...this.#seen].filter(
      ([key, { count, need }]) => count >= need || lowerTitle.includes(key),
    );
    return new Map(accepted.map(([key, { name }]) => [key, name]));
  }
}
