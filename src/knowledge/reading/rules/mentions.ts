// Finds mentions in a text: addresses, people the document introduces, projects, and names suggested by capitals.
import type { DocumentAnnotations } from '../../documents/document.ts';
import type { KnownPerson } from '../../documents/roster.ts';
import { isRole, positionBehind } from '../../documents/roster.ts';
import { honorificField } from '../../entities/compare-clues.ts';
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
import {
  capitalRuns,
  isInitialAt,
  isInitialed,
  isPlain,
  looksLikeFullName,
  projectPhrases,
} from './names.ts';

export interface FoundMention {
  /** Offsets in the given text. */
  readonly start: number;
  readonly end: number;
  readonly name: string;
  readonly type: EntityType;
  readonly clues: ContextClues;
  readonly confidence: number;
}

/** Sorted by position, without overlaps. */
export const findMentions = (
  text: string,
  words: readonly Word[],
  annotations: DocumentAnnotations,
): readonly FoundMention[] => new MentionFinder(text, words, annotations).find();

/** A type found at one occurrence applies to all occurrences of the name. */
function ofOneType(found: readonly FoundMention[]): readonly FoundMention[] {
  const types = new Map(found.flatMap(({ name, type }) => (type === 'other' ? [] : [[name, type] as const])));
  return found.map((mention) =>
    mention.type === 'other' ? { ...mention, type: types.get(mention.name) ?? 'other' } : mention,
  );
}

/** "Ann Lee at Northwind", "Ann Lee, the buyer of Northwind"; not "Ann Lee sells cars from Northwind". */
const employed = /^(?:, (?:(?:the|our|a|an) )?(\p{Ll}[\p{Ll} -]{0,30}))? (?:at|from|of) (?:the )?$/u;

function isEmployedBy(between: string): boolean {
  const [found, role] = employed.exec(between) ?? [];
  return found !== undefined && (role === undefined || isRole(role));
}

const honorificBefore = /(?:^|[^\p{L}\p{N}])((?:Mr|Mrs|Ms|Miss|Sir|Madam|Herr|Frau)\.?)\s$/u;

const suffixBehind = /^,? (?:Jr|Sr|II|III|IV)(?![\p{L}\p{N}])\.?/u;

/** "Mr.", "Mrs." and "Jr." distinguish people. A surname alone is called by its title. */
function withTitles(text: string, found: readonly FoundMention[]): readonly FoundMention[] {
  return found.map((mention) => {
    if (mention.type !== 'person') return mention;
    const [suffix = ''] = suffixBehind.exec(text.slice(mention.end, mention.end + 6)) ?? [];
    const own = { ...mention, name: mention.name + suffix, end: mention.end + suffix.length };
    const [, title] = honorificBefore.exec(text.slice(Math.max(0, own.start - 8), own.start)) ?? [];
    if (title === undefined) return own;
    const notes = [`${honorificField}: ${title}`, ...(own.clues.notes ?? [])];
    const titled = { ...own, clues: { ...own.clues, notes } };
    if (mention.name.includes(' ')) return titled;
    return { ...titled, name: `${title} ${own.name}`, start: own.start - title.length - 1 };
  });
}

function withEmployers(text: string, found: readonly FoundMention[]): readonly FoundMention[] {
  return found.map((mention, index) => {
    const next = found[index + 1];
    if (mention.type !== 'person') return mention;
    // Clues next to the mention override clues from elsewhere in the document.
    const here = positionBehind(text, mention.end);
    const isEmployed =
      next?.type === 'organization' &&
      next.start - mention.end < 50 &&
      isEmployedBy(text.slice(mention.end, next.start));
    const employer = isEmployed ? { organization: next.name } : {};
    return { ...mention, clues: { ...mention.clues, ...employer, ...here } };
  });
}

const afterVerbs = new Set(
  'the a an it you we he she they i this that these those your our my all any there'.split(' '),
);

/** "Mark the date", "Will you": a name elsewhere, a verb here. */
function opensAsVerb(words: readonly Word[], at: number): boolean {
  const [word, next] = words.slice(at, at + 2);
  return word?.isFirst === true && isAmbiguousName(word.lower) && afterVerbs.has(next?.lower ?? '');
}

interface Guess {
  readonly type: EntityType;
  readonly confidence: number;
  readonly start?: number;
}

class MentionFinder {
  readonly #text: string;
  readonly #words: readonly Word[];
  readonly #annotations: DocumentAnnotations;

  constructor(text: string, words: readonly Word[], annotations: DocumentAnnotations) {
    this.#text = text;
    this.#words = words;
    this.#annotations = annotations;
  }

  find(): readonly FoundMention[] {
    const occupied = new OccupiedSpans();
    const found = [...this.#all()].filter(({ start, end }) => occupied.claim(start, end));
    found.sort((a, b) => a.start - b.start);
    return withTitles(this.#text, withEmployers(this.#text, ofOneType(found)));
  }

  /** The most reliable first. */
  *#all(): Generator<FoundMention> {
    yield* this.#addresses();
    for (const { key, start, end } of projectPhrases(this.#words)) {
      const name = this.#annotations.projects.get(key);
      if (name !== undefined) yield { start, end, name, type: 'project', clues: {}, confidence: 0.45 };
    }
    for (const run of capitalRuns(this.#words)) yield* this.#inRun(run);
  }

  *#addresses(): Generator<FoundMention> {
    const { roster } = this.#annotations;
    for (const { start, end, name, email, surface } of findAddresses(this.#text)) {
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
  *#inRun(run: Run): Generator<FoundMention> {
    let from = 0;
    for (let at = 0; at < run.words.length;) {
      const hit = this.#knownAt(run.words, at);
      const isVerb = hit?.length === 1 && opensAsVerb(this.#words, run.at + at);
      if (!hit || isVerb) {
        at++;
        continue;
      }
      yield* this.#guess(run, from, at);
      const [first, last] = [run.words[at], run.words[at + hit.length - 1]];
      const confidence = hit.length > 1 ? 0.7 : 0.6;
      if (first && last)
        yield { start: first.start, end: last.end, ...hit.person, type: 'person', confidence };
      at += hit.length;
      from = at;
    }
    yield* this.#guess(run, from, run.words.length);
  }

  #knownAt(
    run: readonly Word[],
    at: number,
  ): { readonly person: KnownPerson; readonly length: number } | null {
    const { roster } = this.#annotations;
    for (let length = Math.min(roster.longest, run.length - at); length > 0; length--) {
      const key = keyOf(run.slice(at, at + length));
      const person = roster.whole(key) ?? (length === 1 && run.length === 1 ? roster.byPart(key) : null);
      if (person) return { person, length };
    }
    // "Hi Ann", "Thanks Ben": the name is at the end of the run; "Ann Arbor" is a town.
    const last = run[at];
    const isAlone = at > 0 && at === run.length - 1 && !isInitialAt(run, at - 1);
    const person = isAlone && last ? roster.byPart(last.lower) : null;
    return person && { person, length: 1 };
  }

  /** A name in these words of the run, if they probably are one. */
  *#guess({ at, words }: Run, from: number, to: number): Generator<FoundMention> {
    if (from >= to) return;
    const run = { at: at + from, words: words.slice(from, to) };
    const lead = this.#leadOf(run);
    const own = this.#trimmed(run, lead !== null);
    const [first] = own.words;
    const last = own.words.at(-1);
    const guess = first && last ? this.#judge(own, first, last, lead) : null;
    if (!first || !last || !guess) return;
    const { type, confidence, start = first.start } = guess;
    const name = this.#text.slice(start, last.end).replaceAll(/\s+/g, ' ');
    yield { start, end: last.end, name, type, clues: {}, confidence };
  }

  /** The word that marks an organization: the first of the run, or the one before it. */
  #leadOf({ at, words }: Run): Word | null {
    const [first] = words;
    // "Customer Success" in the middle of a sentence is a title, "Customer Roth GmbH wrote" is not.
    if (first?.isFirst && words.length > 1 && organizationLeads.has(first.lower)) return first;
    const before = this.#words[at - 1];
    return before && first?.isNext && organizationLeads.has(before.lower) ? before : null;
  }

  #isPlain(word: Word): boolean {
    return isPlain(word, this.#annotations.lowercaseWords);
  }

  /** The words of a run without those that only open the sentence ("After", "The", "Key customer") or connect. */
  #trimmed({ at, words }: Run, hasLead: boolean): Run {
    let from = 0;
    for (const [index, word] of words.entries()) {
      if (isInitialAt(words, index)) break;
      const isLead = hasLead && organizationLeads.has(word.lower);
      const isOpening = word.isFirst && this.#isPlain(word) && !isGivenName(word.lower);
      if (!isLead && !isOpening && wordKind(word.lower) !== 'function' && !honorifics.has(word.lower)) break;
      from++;
    }
    return { at: at + from, words: words.slice(from) };
  }

  #judge({ at, words: own }: Run, first: Word, last: Word, lead: Word | null): Guess | null {
    const { lowercaseWords } = this.#annotations;
    const kind = wordKind(keyOf(own));
    // "University of Oxford"
    const isInstitution = institutions.has(first.lower) && own[1]?.lower === 'of';
    if (own.length > 1 && (organizationEndings.has(last.lower) || isInstitution))
      return { type: 'organization', confidence: 0.5 };
    if (kind === 'organization') return { type: 'organization', confidence: 0.5 };
    if (kind === 'place') return { type: 'place', confidence: 0.45 };
    if (honorifics.has(this.#words[at - 1]?.lower ?? '') && !isEveryday(last.lower))
      return { type: 'person', confidence: 0.5 };
    const isNamed = own.some((word) => !this.#isPlain(word));
    if (lead && isNamed)
      // "Vendor X": one to three letters are not a name by themselves.
      return own.length === 1 && isShort(first.text)
        ? { type: 'organization', confidence: 0.4, start: lead.isCapital ? lead.start : first.start }
        : { type: 'organization', confidence: 0.45 };
    if (isInitialed(own, lowercaseWords) || looksLikeFullName(own, lowercaseWords))
      return { type: 'person', confidence: 0.5 };
    if (isNamed && organizationPhrases.test(this.#text.slice(Math.max(0, first.start - 40), first.start)))
      return { type: 'organization', confidence: 0.4 };
    return own.length === 1 ? this.#judgeOne(at, first) : this.#judgeSeveral(at, own);
  }

  #judgeOne(at: number, word: Word): Guess | null {
    const next = this.#words[at + 1];
    const actsLikePerson = next?.isNext === true && (personVerbs.has(next.lower) || next.lower === 'will');
    const isAddressed = /^:(?: |$)/.test(this.#text.slice(word.end, word.end + 2)) && word.isFirst;
    if (isGivenName(word.lower)) {
      const isSure =
        !isAmbiguousName(word.lower) ||
        (!word.isFirst && !isMonth(word.lower) && !this.#annotations.lowercaseWords.has(word.lower));
      if (isSure || actsLikePerson) return { type: 'person', confidence: 0.5 };
      return isAddressed ? { type: 'person', confidence: 0.4 } : null;
    }
    if (roleWords.has(word.lower)) return null;
    if (isMixed(word.text))
      return organizationTails.test(word.text)
        ? { type: 'organization', confidence: 0.4 }
        : { type: 'object', confidence: 0.35 };
    const mayBePerson =
      word.text.length > 2 &&
      !/\p{N}|\p{Lu}{2}/u.test(word.text) &&
      !thingEndings.has(word.lower) &&
      !this.#isPlain(word);
    return mayBePerson && actsLikePerson ? { type: 'person', confidence: 0.4 } : null;
  }

  /** Several words without a given name: a person if a person's verb follows, else another entity. */
  #judgeSeveral(at: number, own: readonly Word[]): Guess | null {
    const next = this.#words[at + own.length];
    const areNames = own.length <= 3 && own.every((word) => !this.#isPlain(word) && !isMixed(word.text));
    if (areNames && next?.isNext && personVerbs.has(next.lower)) return { type: 'person', confidence: 0.4 };
    // A job title is not a name.
    if (roleWords.has(own.at(-1)?.lower ?? '')) return null;
    const isTitle = own[0]?.isFirst === true || own.every((word) => this.#isPlain(word));
    const isLetters = own.every(({ text }) => /^\p{Lu}+$/u.test(text));
    return isTitle || isLetters ? null : { type: 'other', confidence: 0.3 };
  }
}

const keyOf = (words: readonly Word[]): string => words.map(({ lower }) => lower).join(' ');

/** Mixed case inside a word: a product or company, never a common word. */
const isMixed = (word: string): boolean => /\p{Ll}\p{Lu}/u.test(word);
const isShort = (word: string): boolean => /^\p{Lu}{1,3}$/u.test(word);

/** Occupied spans, indexed by cells of the text, so that a lookup does not depend on their number. */
class OccupiedSpans {
  readonly #cells = new Map<number, [number, number][]>();

  claim(start: number, end: number): boolean {
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
