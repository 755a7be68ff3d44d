// The document model: annotations that every chunk of a document needs, built once per document.
import {
  capitalRuns,
  inferPersonNames,
  isInKnownWords,
  isInitialed,
  looksLikeFullName,
  ProjectPhrases,
} from '../reading/rules/names.ts';
import { findDate } from '../text/dates.ts';
import { isEveryday, isGivenName, organizationEndings, sharedNames } from '../text/lexicon.ts';
import { foldText } from '../text/quotes.ts';
import { findAddresses, linesOf, visibleText, wordsOf } from '../text/spans.ts';
import { maskData } from './json.ts';
import type { ParsedDocument } from '../artifacts/types.ts';
import { headLine, peopleIn } from './headers.ts';
import { Roster, isRole, positionBehind, readPosition } from './roster.ts';

/** Facts from the prose of a document that the rules need for all of its chunks. */
export interface DocumentAnnotations {
  readonly roster: Roster;
  /** The person that "I" refers to outside of quoted turns. */
  readonly author: string | null;
  readonly date: Date | null;
  /** Words that occur in lower case. */
  readonly lowercaseWords: ReadonlySet<string>;
  /** Phrases that name projects, in lower case, with their display name. */
  readonly projects: ReadonlyMap<string, string>;
}

export type DocumentInput = Pick<ParsedDocument, 'title' | 'sourceTs' | 'text'> & {
  readonly type: string;
  readonly metadata?: ParsedDocument['metadata'];
};

/**
 * Annotations over the text of a document, computed on first use and once for all of its chunks. It never rewrites the
 * text: offsets are UTF-16 units into `text`, and `prose` has the same length.
 */
export class DocumentModel {
  /** Identifies the model within the process. */
  readonly id = (lastId += 1);
  readonly input: DocumentInput;
  readonly title: string;
  readonly type: string;
  readonly sourceTs: Date | null;
  readonly text: string;
  readonly #dataForm: unknown;
  #prose: string | null = null;
  #foldedText: string | null = null;
  #annotations: DocumentAnnotations | null = null;

  constructor({ title, type, sourceTs, text, metadata }: DocumentInput) {
    const form = metadata?.['data'];
    this.input = { title, type, sourceTs, text, metadata: form === undefined ? {} : { data: form } };
    this.title = title;
    this.type = type;
    this.sourceTs = sourceTs;
    this.text = text;
    this.#dataForm = form;
  }

  get isData(): boolean {
    return this.#dataForm !== undefined;
  }

  /** The text with spaces in place of everything that is data, not prose. */
  get prose(): string {
    this.#prose ??= maskData(this.text, this.#dataForm);
    return this.#prose;
  }

  hasProse({ startChar, endChar }: { readonly startChar: number; readonly endChar: number }): boolean {
    return /\S/.test(this.prose.slice(startChar, endChar));
  }

  /** Lower case, single spaces, visible characters only: for `TextOccurrences`. */
  get foldedText(): string {
    this.#foldedText ??= foldText(this.text);
    return this.#foldedText;
  }

  get annotations(): DocumentAnnotations {
    this.#annotations ??= annotate(this.title, visibleText(this.prose).text, this.sourceTs);
    return this.#annotations;
  }
}

let lastId = 0;

/** Texts are annotated in pieces of about this length, which bounds memory. */
const pieceLength = 65_536;

function annotate(title: string, text: string, sourceTs: Date | null): DocumentAnnotations {
  const roster = new Roster();
  const lowercaseWords = new Set<string>();
  const { author, date } = readIntroductions(text, roster);
  // After the header lines: a name spelled in an address counts only if no line assigns the address.
  for (const { name, email } of findAddresses(text))
    if (name !== null && (email === null || !roster.byEmail(email)))
      roster.add(name, email === null ? {} : { email });
  const phrases = new ProjectPhrases();
  for (const piece of piecesOf(text)) {
    const words = wordsOf(piece);
    for (const word of words) if (!word.isCapital) lowercaseWords.add(word.lower);
    for (const { words: run, at } of capitalRuns(words)) {
      if (!looksLikeFullName(run, lowercaseWords) && !isInitialed(run, lowercaseWords)) continue;
      const name = piece.slice(run[0]?.start, run.at(-1)?.end);
      roster.add(name, positionBehind(piece, words[at + run.length - 1]?.end ?? piece.length));
    }
    if (isInKnownWords(lowercaseWords))
      for (const { words: run } of inferPersonNames(
        { text: piece, words, lowercaseWords },
        capitalRuns(words),
      ))
        roster.add(piece.slice(run[0]?.start, run.at(-1)?.end));
    phrases.add(words, piece);
  }
  return { roster, author, date: sourceTs ?? date, lowercaseWords, projects: phrases.chosen(title) };
}

function* piecesOf(text: string): Generator<string> {
  for (let start = 0; start < text.length;) {
    const newline = text.length - start <= pieceLength ? -1 : text.indexOf('\n', start + pieceLength);
    const end =
      newline < 0
        ? Math.min(text.length, start + pieceLength * 2)
        : Math.min(newline + 1, start + pieceLength * 2);
    yield text.slice(start, end);
    start = end;
  }
}

const dateLabel = /^[ \t*-]{0,8}(?:date|sent|datum|when)\*{0,2}[ \t]?:\*{0,2}(.{1,80})$/i;
/** The date stamp of a log or chat line. */
const stamp = /^[[(]?(\d{4}-\d{2}-\d{2})[ T\])]/;
const closing =
  /^(?:best|regards|best regards|kind regards|thanks|thank you|cheers|sincerely|yours|warmly|cordially|many thanks|all the best)[ ,.!]{0,3}(?:\p{Ll}+[,.!]?)?$/iu;
const aloneName = /^\p{Lu}[\p{L}\p{M}'’-]+(?: \p{Lu}[\p{L}\p{M}'’.-]*){1,2}$/u;

/** Adds the people of attendee lines and signatures to the roster; returns the author and the document's date. */
function readIntroductions(
  text: string,
  roster: Roster,
): { readonly author: string | null; readonly date: Date | null } {
  let author: string | null = null;
  let date: Date | null = null;
  let before = '';
  let signed: string | null = null;
  for (const { start, text: whole } of linesOf(text)) {
    const line = whole.length > 4_200 ? '' : whole.trim();
    const head = headLine(line, start);
    if (head) {
      const first = addPeople(head.value, roster);
      if (head.role === 'author' || head.role === 'decider') author ??= first;
    }
    date ??= findDate(dateLabel.exec(line)?.[1] ?? stamp.exec(line)?.[1] ?? '', null);
    if (signed !== null && isRole(line)) roster.add(signed, readPosition(line));
    signed = null;
    if (aloneName.test(line) && isName(line)) {
      signed = line;
      if (closing.test(before)) roster.add(line);
    }
    if (line !== '') before = line;
  }
  return { author, date };
}

/** Returns the first person. */
function addPeople(value: string, roster: Roster): string | null {
  const people = peopleIn(value).filter(({ name }) => isName(name));
  for (const { name, ...clues } of people) roster.add(name, clues);
  const [address] = findAddresses(value);
  return people[0]?.name ?? address?.name ?? null;
}

function isName(name: string): boolean {
  const words = name.toLowerCase().split(/[\s.]+/);
  const [first = ''] = words;
  if (words.some((word) => sharedNames.has(word) || organizationEndings.has(word))) return false;
  return isGivenName(first) || words.some((word) => !isEveryday(word));
}
