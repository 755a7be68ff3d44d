// What a name that nobody introduced may be: judged by its words and by what stands around it.
import type { EntityType } from '../../ports.ts';
import type { Run } from './capital-runs.ts';
import { isInitialAt, isInitialed, isPlain, looksLikeFullName } from './capital-runs.ts';
import type { DocumentView } from '../../documents/document-view.ts';
import type { FoundMention } from './found-mention.ts';
import { isAmbiguousName, isEveryday, isGivenName, isMonth, wordKind } from '../../text/lexicon.ts';
import {
  honorifics,
  institutions,
  organizationEndings,
  organizationLeads,
  organizationPhrases,
  organizationTails,
  personVerbs,
  roleWords,
  thingEndings,
} from '../../text/name-cues.ts';
import type { Word } from '../../text/words.ts';

/** Letters of both cases mixed: a product's or a company's name, never a plain word. */
const isMixed = (word: string): boolean => /\p{Ll}\p{Lu}/u.test(word);
const isShort = (word: string): boolean => /^\p{Lu}{1,3}$/u.test(word);

/** Null when it is no name, as far as one can tell. */
export function guessName(
  text: string,
  words: readonly Word[],
  run: Run,
  view: DocumentView,
): FoundMention | null {
  const lead = leadOf(words, run);
  const own = trimmed(run, view, lead !== null);
  const [first] = own.words;
  const last = own.words.at(-1);
  if (!first || !last) return null;
  const guessed = judge(text, words, own, lead, view);
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

/** The word before that says what follows is an organization: the first of the run, or the one before it. */
function leadOf(words: readonly Word[], { at, words: run }: Run): Word | null {
  const [first] = run;
  // "Customer Success" in the middle of a sentence is a title, "Customer Roth GmbH wrote" is not.
  if (first?.isFirst && run.length > 1 && organizationLeads.has(first.lower)) return first;
  const before = words[at - 1];
  return before && first?.isNext && organizationLeads.has(before.lower) ? before : null;
}

/** Without what only opens the sentence ("After", "The", "Key customer") or binds. */
function trimmed({ at, words }: Run, view: DocumentView, hasLead: boolean): Run {
  let from = 0;
  for (const [index, word] of words.entries()) {
    if (isInitialAt(words, index)) break;
    const isLead = hasLead && organizationLeads.has(word.lower);
    const isOpening = word.isFirst && isPlain(word, view.lowercaseWords) && !isGivenName(word.lower);
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
  view: DocumentView,
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
  const isNamed = own.some((word) => !isPlain(word, view.lowercaseWords));
  if (lead && isNamed)
    // "Vendor X": a letter or three are no name by themselves.
    return own.length === 1 && isShort(first.text) && lead.isNext !== undefined
      ? { type: 'org', confidence: 0.4, start: lead.isCapital ? lead.start : first.start }
      : { type: 'org', confidence: 0.45 };
  if (isInitialed(own, view.lowercaseWords) || looksLikeFullName(own, view.lowercaseWords))
    return { type: 'person', confidence: 0.5 };
  if (isNamed && organizationPhrases.test(text.slice(Math.max(0, first.start - 40), first.start)))
    return { type: 'org', confidence: 0.4 };
  return own.length === 1 ? judgeOne(text, words, at, first, view) : judgeSeveral(words, at, own, view);
}

function judgeOne(
  text: string,
  words: readonly Word[],
  at: number,
  word: Word,
  view: DocumentView,
): Guess | null {
  const next = words[at + 1];
  const doesAsPeopleDo = next?.isNext === true && (personVerbs.has(next.lower) || next.lower === 'will');
  const isAddressed = /^:(?: |$)/.test(text.slice(word.end, word.end + 2)) && word.isFirst;
  if (isGivenName(word.lower)) {
    const isSure =
      !isAmbiguousName(word.lower) ||
      (!word.isFirst && !isMonth(word.lower) && !view.lowercaseWords.has(word.lower));
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
    !isPlain(word, view.lowercaseWords);
  return mayBePerson && doesAsPeopleDo ? { type: 'person', confidence: 0.4 } : null;
}

/** Several words, none of them a given name: somebody if they act like it, else something that has a name. */
function judgeSeveral(
  words: readonly Word[],
  at: number,
  own: readonly Word[],
  view: DocumentView,
): Guess | null {
  const next = words[at + own.length];
  const areNames =
    own.length <= 3 && own.every((word) => !isPlain(word, view.lowercaseWords) && !isMixed(word.text));
  if (areNames && next?.isNext && personVerbs.has(next.lower)) return { type: 'person', confidence: 0.4 };
  const [first] = own;
  // A job is no name.
  if (roleWords.has(own.at(-1)?.lower ?? '')) return null;
  const isTitle = first?.isFirst === true || own.every((word) => isPlain(word, view.lowercaseWords));
  const isLetters = own.every(({ text }) => /^\p{Lu}+$/u.test(text));
  return isTitle || isLetters ? null : { type: 'other', confidence: 0.3 };
}
