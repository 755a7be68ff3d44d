// Who and what a piece of text mentions: addresses, known people, pieces of work, and what its capital letters suggest.
import { findAddresses } from '../../text/addresses.ts';
import type { Run } from './capital-runs.ts';
import { capitalRuns, isInitialAt } from './capital-runs.ts';
import { guessName } from './guess-name.ts';
import type { DocumentView } from '../../documents/document-view.ts';
import type { FoundMention } from './found-mention.ts';
import { isAmbiguousName } from '../../text/lexicon.ts';
import { projectPhrases } from './project-phrases.ts';
import { positionBehind } from '../../documents/role-and-employer.ts';
import type { KnownPerson } from '../../documents/roster.ts';
import type { Word } from '../../text/words.ts';

/** In the order of their places, never overlapping. */
export function findMentions(
  text: string,
  words: readonly Word[],
  view: DocumentView,
): readonly FoundMention[] {
  const found: FoundMention[] = [];
  const taken = new Taken();
  const add = (mention: FoundMention): void => {
    if (!taken.take(mention.start, mention.end)) return;
    found.push(mention);
  };
  for (const mention of addressMentions(text, view)) add(mention);
  for (const { key, start, end } of projectPhrases(words)) {
    const name = view.projects.get(key);
    if (name !== undefined) add({ start, end, name, type: 'project', clues: {}, confidence: 0.45 });
  }
  for (const run of capitalRuns(words)) for (const mention of inRun(text, words, run, view)) add(mention);
  found.sort((a, b) => a.start - b.start);
  return withEmployers(text, ofOneType(found));
}

/** What is somebody or something definite at one place is so at the others of that name. */
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
    // What is said right here counts for more than what the document says elsewhere of that name.
    const here = positionBehind(text, mention.end);
    const isEmployed =
      next?.type === 'org' &&
      next.start - mention.end < 50 &&
      employed.test(text.slice(mention.end, next.start));
    const employer = isEmployed ? { organization: next.name } : {};
    return { ...mention, clues: { ...mention.clues, ...employer, ...here } };
  });
}

function* addressMentions(text: string, { roster }: DocumentView): Generator<FoundMention> {
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

/** People whom the document knows; what is left between them is guessed at. */
function* inRun(text: string, words: readonly Word[], run: Run, view: DocumentView): Generator<FoundMention> {
  let from = 0;
  for (let at = 0; at < run.words.length;) {
    const hit = knownAt(run.words, at, view);
    const isVerb = hit?.length === 1 && opensAsVerb(words, run.at + at);
    if (!hit || isVerb) {
      at++;
      continue;
    }
    yield* guess(text, words, run, from, at, view);
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
  yield* guess(text, words, run, from, run.words.length, view);
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

function knownAt(run: readonly Word[], at: number, { roster }: DocumentView): Hit | null {
  for (let length = Math.min(roster.longest, run.length - at); length > 0; length--) {
    const key = run
      .slice(at, at + length)
      .map(({ lower }) => lower)
      .join(' ');
    const person = roster.whole(key) ?? (length === 1 && run.length === 1 ? roster.byPart(key) : null);
    if (person) return { person, length };
  }
  // "Hi Ann", "Thanks Ben": the name stands at the end of the run; "Ann Arbor" is a town.
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
  view: DocumentView,
): Generator<FoundMention> {
  if (from >= to) return;
  const mention = guessName(text, words, { at: run.at + from, words: run.words.slice(from, to) }, view);
  if (mention) yield mention;
}

/** Which places are taken; looked up by stretches of text, so that thousands cost no more than a few. */
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
