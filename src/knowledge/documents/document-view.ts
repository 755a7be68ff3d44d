// What a whole document tells about each of its chunks, found out once: people, their author, its date, its projects.
import type { ReadingTask } from '../ports.ts';
import { findAddresses } from '../text/addresses.ts';
import { capitalRuns, isInitialed, looksLikeFullName } from '../reading/rules/capital-runs.ts';
import { readIntroductions } from './introductions.ts';
import { ProjectPhrases } from '../reading/rules/project-phrases.ts';
import { positionBehind } from './role-and-employer.ts';
import { Roster } from './roster.ts';
import { isInKnownWords, inferPersonNames } from '../reading/rules/unheard-names.ts';
import { wordsOf } from '../text/words.ts';

export interface DocumentView {
  readonly roster: Roster;
  /** Who says "I" where nobody else speaks. */
  readonly author: string | null;
  readonly date: Date | null;
  /** Words that it writes in small letters somewhere. */
  readonly lowercaseWords: ReadonlySet<string>;
  /** Phrases that name pieces of work, in lower case, with how they are to be called. */
  readonly projects: ReadonlyMap<string, string>;
}

/** Read in pieces of about this length, so that a long document needs no long lists. */
const pieceLength = 65_536;

export function viewDocument({ title, text, sourceTs }: ReadingTask['artifact']): DocumentView {
  const roster = new Roster();
  const lowercaseWords = new Set<string>();
  const { author, date } = readIntroductions(text, roster);
  // After the lines that say whose an address is: what is spelled in it counts only where nobody said it.
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
