// Finds mentions in a text: addresses, people the document introduces, projects, and names suggested by capitals.
import type { DocumentAnnotations } from '../../documents/document.ts';
import type { KnownPerson } from '../../documents/roster.ts';
import { positionBehind } from '../../documents/roster.ts';
import type { ContextClues, EntityType } from '../types.ts';
import {
  honorifics,
  institutions,
  isAmbiguousName,
  isEveryday,
  isGivenName,
  isMonth,
  organizationEndings,
  organizationLeads,
  organizationPhrases,
  organizationTails,
  personVerbs,
  roleWords,
  thingEndings,
  wordKind,
} from '../../text/lexicon.ts';
import type { Word } from '../../text/spans.ts';
import { findAddresses } from '../../text/spans.ts';
import type { Run } from './names.ts';
import { capitalRuns, isInitialAt, isInitialed, isPlain, looksLikeFullName } from './names.ts';
import { projectPhrases } from './projects.ts';

/** By position, without overlaps. */
export function findMentions(
  text: string,
  words: readonly Word[],
  annotations: DocumentAnnotations,
): readonly FoundMention[] {
  const found: FoundMention[] = [];
  const taken = new Taken();
  const add = (mention: FoundMention): void => {
    if (!taken.take(mention.start, mention.end)) return;
    found.push(mention);
  };
  for (const mention of addressMentions(text, annotations)) add(mention);
  for (const { key, start, end } of projectPhrases(words)) {
    const name = annotations.projects.get(key);
    if (name !== undefined) add({ start, end, name, type: 'project', clues: {}, confidence: 0.45 });
  }
  for (const run of capitalRuns(words))
    for (const mention of inRun(text, words, run, annotations)) add(mention);
  found.sort((a, b) => a.start - b.start);
  return withEmployers(text, ofOneType(found));
}

/** A type found at one occurrence applies to all occurrences of the name. */
function ofOneType(found: readonly FoundMention[]): readonly FoundMention[] {
  const types = new Map(found.flatMap(({ name, type }) => (type === 'other' ? [] : [[name, type] as const])));
  return found.map((mention) =>
    mention.type === 'other' ? { ...mention, type: types.get(mention.name) ?? 'other' } : mention,
  );
}

/** "Ann Lee at Northwind", "Ann Lee, buyer of Northwind". */
const employed = /^(?:,? \p{Ll}[\p{Ll} ]{0,30})? (?:at|from|of) (?:the )?$/u;

function withEmployers(text: string, found: readonly FoundMention[]): readonly FoundMention[] {
  return found.map((mention, index) => {
    const next = found[index + 1];
    if (mention.type !== 'person') return mention;
    // Clues next to the mention override clues from elsewhere in the document.
    const here = positionBehind(text, mention.end);
    const isEmployed =
      next?.type === 'org' &&
      next.start - mention.end < 50 &&
      employed.test(text.slice(mention.end, next.start));
    const employer = isEmployed ? { organization: next.name } : {};
    return { ...mention, clues: { ...mention.clues, ...employer, ...here } };
  });
}

function* addressMentions(text: string, { roster }: DocumentAnnotations): Generator<FoundMention> {
  for (const { start, end, name, email, surface } of findAddresses(text)) {
    const owner = email === null ? null : roster.byEmail(email);
    const known = owner ?? (name === null ? null : roster.whole(name.toLowerCase()));
    const called = known?.name ?? name;
    const clues = { ...known?.clues, ...(email === null ? {} : { email }) };
    if (called !== null) yield { start, end, name: called, type: 'person', clues, confidence: 0.6 };
    else if (email !== null)
      yield { start, end, name: surface, type: 'other', clues: { email }, confidence: 0.4 };
  }
}

/** People the document introduces; the words between them are classified. */
function* inRun(
  text: string,
  words: readonly Word[],
  run: Run,
  annotations: DocumentAnnotations,
): Generator<FoundMention> {
  let from = 0;
  for (let at = 0; at < run.words.length;) {
    const hit = knownAt(run.words, at, annotations);
    const isVerb = hit?.length === 1 && opensAsVerb(words, run.at + at);
    if (!hit || isVerb) {
      at++;
      continue;
    }
    yield* guess(text, words, run, from, at, annotations);
    const [first, last] = [run.words[at], run.words[at + hit.length - 1]];
    const { name, clues } = hit.person;
    if (first && last)
      yield {
        start: first.start,
        end: last.end,
        name,
        type: 'person',
        clues,
        confidence: hit.length > 1 ? 0.7 : 0.6,
      };
    at += hit.length;
    from = at;
  }
  yield* guess(text, words, run, from, run.words.length, annotations);
}

const afterVerbs = new Set(
  'the a an it you we he she they i this that these those your our my all any there'.split(' '),
);

/** "Mark the date", "Will you": a name elsewhere, a verb here. */
function opensAsVerb(words: readonly Word[], at: number): boolean {
  const [word, next] = words.slice(at, at + 2);
  return word?.isFirst === true && isAmbiguousName(word.lower) && afterVerbs.has(next?.lower ?? '');
}

interface Hit {
  readonly person: KnownPerson;
  readonly length: number;
}

function knownAt(run: readonly Word[], at: number, { roster }: DocumentAnnotations): Hit | null {
  for (let length = Math.min(roster.longest, run.length - at); length > 0; length--) {
    const key = run
      .slice(at, at + length)
      .map(({ lower }) => lower)
      .join(' ');
    const person = roster.whole(key) ?? (length === 1 && run.length === 1 ? roster.byPart(key) : null);
    if (person) return { person, length };
  }
  // "Hi Ann", "Thanks Ben": the name is at the end of the run; "Ann Arbor" is a town.
  const last = run[at];
  const isAlone = at > 0 && at === run.length - 1 && !isInitialAt(run, at - 1);
  const person = isAlone && last ? roster.byPart(last.lower) : null;
  return person && { person, length: 1 };
}

function* guess(
  text: string,
  words: readonly Word[],
  run: Run,
  from: number,
  to: number,
  annotations: DocumentAnnotations,
): Generator<FoundMention> {
  if (from >= to) return;
  const mention = guessName(
    text,
    words,
    { at: run.at + from, words: run.words.slice(from, to) },
    annotations,
  );
  if (mention) yield mention;
}

/** Occupied spans, indexed by cells of the text, so that a lookup does not depend on their number. */
class Taken {
  readonly #cells = new Map<number, [number, number][]>();

  take(start: number, end: number): boolean {
    for (const cell of cellsOf(start, end))
      if (this.#cells.get(cell)?.some(([from, to]) => start < to && from < end)) return false;
    for (const cell of cellsOf(start, end)) {
      const ranges = this.#cells.get(cell);
      if (ranges) ranges.push([start, end]);
      else this.#cells.set(cell, [[start, end]]);
    }
    return true;
  }
}

const cellSize = 128;

function* cellsOf(start: number, end: number): Generator<number> {
  for (let cell = Math.floor(start / cellSize); cell <= Math.floor((end - 1) / cellSize); cell++) yield cell;
}

/** Mixed case inside a word: a product or company, never a common word. */
const isMixed = (word: string): boolean => /\p{Ll}\p{Lu}/u.test(word);
const isShort = (word: string): boolean => /^\p{Lu}{1,3}$/u.test(word);

/** Null when it is probably not a name. */
function guessName(
  text: string,
  words: readonly Word[],
  run: Run,
  annotations: DocumentAnnotations,
): FoundMention | null {
  const lead = leadOf(words, run);
  const own = trimmed(run, annotations, lead !== null);
  const [first] = own.words;
  const last = own.words.at(-1);
  if (!first || !last) return null;
  const guessed = judge(text, words, own, lead, annotations);
  if (!guessed) return null;
  const start = guessed.start ?? first.start;
  return {
    start,
    end: last.end,
    name: text.slice(start, last.end).replaceAll(/\s+/g, ' '),
    type: guessed.type,
    clues: {},
    confidence: guessed.confidence,
  };
}

/** The word that marks an organization: the first of the run, or the one before it. */
function leadOf(words: readonly Word[], { at, words: run }: Run): Word | null {
  const [first] = run;
  // "Customer Success" in the middle of a sentence is a title, "Customer Roth GmbH wrote" is not.
  if (first?.isFirst && run.length > 1 && organizationLeads.has(first.lower)) return first;
  const before = words[at - 1];
  return before && first?.isNext && organizationLeads.has(before.lower) ? before : null;
}

/** Without words that only open the sentence ("After", "The", "Key customer") or connect. */
function trimmed({ at, words }: Run, annotations: DocumentAnnotations, hasLead: boolean): Run {
  let from = 0;
  for (const [index, word] of words.entries()) {
    if (isInitialAt(words, index)) break;
    const isLead = hasLead && organizationLeads.has(word.lower);
    const isOpening = word.isFirst && isPlain(word, annotations.lowercaseWords) && !isGivenName(word.lower);
    if (!isLead && !isOpening && wordKind(word.lower) !== 'function' && !honorifics.has(word.lower)) break;
    from++;
  }
  return { at: at + from, words: words.slice(from) };
}

/** "University of Oxford". */
const isInstitution = ([first, second]: readonly Word[]): boolean =>
  institutions.has(first?.lower ?? '') && second?.lower === 'of';

interface Guess {
  readonly type: EntityType;
  readonly confidence: number;
  readonly start?: number;
}

function judge(
  text: string,
  words: readonly Word[],
  { at, words: own }: Run,
  lead: Word | null,
  annotations: DocumentAnnotations,
): Guess | null {
  const [first] = own;
  const last = own.at(-1);
  if (!first || !last) return null;
  const key = own.map(({ lower }) => lower).join(' ');
  if (own.length > 1 && (organizationEndings.has(last.lower) || isInstitution(own)))
    return { type: 'org', confidence: 0.5 };
  if (wordKind(key) === 'organization') return { type: 'org', confidence: 0.5 };
  if (wordKind(key) === 'place') return { type: 'place', confidence: 0.45 };
  if (honorifics.has(words[at - 1]?.lower ?? '') && !isEveryday(last.lower))
    return { type: 'person', confidence: 0.5 };
  const isNamed = own.some((word) => !isPlain(word, annotations.lowercaseWords));
  if (lead && isNamed)
    // "Vendor X": one to three letters are not a name by themselves.
    return own.length === 1 && isShort(first.text) && lead.isNext !== undefined
      ? { type: 'org', confidence: 0.4, start: lead.isCapital ? lead.start : first.start }
      : { type: 'org', confidence: 0.45 };
  if (isInitialed(own, annotations.lowercaseWords) || looksLikeFullName(own, annotations.lowercaseWords))
    return { type: 'person', confidence: 0.5 };
  if (isNamed && organizationPhrases.test(text.slice(Math.max(0, first.start - 40), first.start)))
    return { type: 'org', confidence: 0.4 };
  return own.length === 1
    ? judgeOne(text, words, at, first, annotations)
    : judgeSeveral(words, at, own, annotations);
}

function judgeOne(
  text: string,
  words: readonly Word[],
  at: number,
  word: Word,
  annotations: DocumentAnnotations,
): Guess | null {
  const next = words[at + 1];
  const doesAsPeopleDo = next?.isNext === true && (personVerbs.has(next.lower) || next.lower === 'will');
  const isAddressed = /^:(?: |$)/.test(text.slice(word.end, word.end + 2)) && word.isFirst;
  if (isGivenName(word.lower)) {
    const isSure =
      !isAmbiguousName(word.lower) ||
      (!word.isFirst && !isMonth(word.lower) && !annotations.lowercaseWords.has(word.lower));
    if (isSure || doesAsPeopleDo) return { type: 'person', confidence: 0.5 };
    return isAddressed ? { type: 'person', confidence: 0.4 } : null;
  }
  if (roleWords.has(word.lower)) return null;
  if (isMixed(word.text))
    return organizationTails.test(word.text)
      ? { type: 'org', confidence: 0.4 }
      : { type: 'object', confidence: 0.35 };
  const mayBePerson =
    word.text.length > 2 &&
    !/\p{N}|\p{Lu}{2}/u.test(word.text) &&
    !thingEndings.has(word.lower) &&
    !isPlain(word, annotations.lowercaseWords);
  return mayBePerson && doesAsPeopleDo ? { type: 'person', confidence: 0.4 } : null;
}

/** Several words without a given name: a person if a person's verb follows, else another entity. */
function judgeSeveral(
  words: readonly Word[],
  at: number,
  own: readonly Word[],
  annotations: DocumentAnnotations,
): Guess | null {
  const next = words[at + own.length];
  const areNames =
    own.length <= 3 && own.every((word) => !isPlain(word, annotations.lowercaseWords) && !isMixed(word.text));
  if (areNames && next?.isNext && personVerbs.has(next.lower)) return { type: 'person', confidence: 0.4 };
  const [first] = own;
  // A job title is not a name.
  if (roleWords.has(own.at(-1)?.lower ?? '')) return null;
  const isTitle = first?.isFirst === true || own.every((word) => isPlain(word, annotations.lowercaseWords));
  const isLetters = own.every(({ text }) => /^\p{Lu}+$/u.test(text));
  return isTitle || isLetters ? null : { type: 'other', confidence: 0.3 };
}

export interface FoundMention {
  /** Offsets in the given text. */
  readonly start: number;
  readonly end: number;
  readonly name: string;
  readonly type: EntityType;
  readonly clues: ContextClues;
  readonly confidence: number;
}
