// Splits a chunk into sentences and list items, each with its speaker and section.
import type { HeadLine } from '../../documents/headers.ts';
import { headLine } from '../../documents/headers.ts';
import { linesOf } from '../../text/spans.ts';
import type { EventCategory } from '../types.ts';

export interface Sentence {
  readonly start: number;
  readonly end: number;
  readonly isItem: boolean;
  readonly section: Section | null;
  /** Span of the speaker's name or handle: "ann.lee:", "Ann:". */
  readonly speaker: { readonly start: number; readonly end: number } | null;
}

interface SentencedText {
  readonly sentences: readonly Sentence[];
  readonly head: readonly HeadLine[];
}

const heading = /^(?:#{1,6}\s+(.{1,120})|\*\*([^*:]{1,80}):?\*\*:?|(\p{Lu}[^.!?:]{0,60}):)\s*$/u;
const item = /^\s*(?:[-*+•▪‣]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?/;
const speakerLine =
  /^\s*(?:\[[^\]]{1,40}\]\s{0,8}|\(?\d{1,2}:\d{2}(?::\d{2})?(?:\s?[ap]m)?\)?\s{0,8}[-–]?\s{0,8})?<?([\p{L}][\p{L}\p{M}\p{N}._'’-]{0,30}(?: \p{Lu}[\p{L}\p{M}'’.-]{0,30}){0,2})>?\s{0,8}(?:\([^()]{1,40}\)\s{0,8})?:(?:\s+|$)/iu;
const label =
  /^\s*(?:subject|title|date|status|re|sent|channel|location|time|when|where|(?:[a-z]+ )?(?:record|notes|minutes|report|memo|thread|log))\s*:/i;

/** `above`: the section of the heading above the chunk. `isSpeaker`: whether a name before a colon is a person's. */
export function sentencesOf(
  text: string,
  above: Section | null,
  isSpeaker: (start: number, end: number) => boolean,
): SentencedText {
  const sentences: Sentence[] = [];
  const head: HeadLine[] = [];
  let section = above;
  let speaker: Sentence['speaker'] = null;
  let open: { start: number; isItem: boolean } | null = null;
  const close = (end: number): void => {
    if (open)
      for (const [from, to] of split(text, open.start, end))
        sentences.push({ start: from, end: to, isItem: open.isItem, section, speaker });
    open = null;
  };
  let previousEnd = 0;
  for (const { start, text: line } of linesOf(text)) {
    const end = previousEnd;
    previousEnd = start + line.length;
    if (line.trim() === '') {
      close(end);
      speaker = null;
      continue;
    }
    const top = headLine(line, start);
    if (top || label.test(line)) {
      close(end);
      if (top) head.push(top);
      continue;
    }
    const turn = speakerIn(line, start, isSpeaker);
    const titled = turn ? null : heading.exec(line);
    if (titled) {
      close(end);
      const lead = titled[3] ?? '';
      section = sectionOf(titled[1] ?? titled[2] ?? lead);
      speaker = null;
      // "Ann raised concerns about the cost:" is a sentence itself.
      if (lead.split(' ').length > 3) {
        open = { start, isItem: false };
        close(start + line.length);
      }
      continue;
    }
    const bullet = item.exec(line);
    if (bullet || turn) close(end);
    if (turn) speaker = turn;
    const from = turn ? turn.after : start + (bullet?.[0].length ?? 0);
    if (bullet && !turn) speaker = null;
    if (from < start + line.length) open ??= { start: from, isItem: bullet !== null };
  }
  close(text.length);
  return { sentences, head };
}

function speakerIn(line: string, start: number, isSpeaker: (start: number, end: number) => boolean) {
  const mark = item.exec(line)?.[0].length ?? 0;
  const found = speakerLine.exec(line.slice(mark));
  if (!found?.[1]) return null;
  const from = start + mark + found[0].lastIndexOf(found[1]);
  const to = from + found[1].length;
  return isSpeaker(from, to) ? { start: from, end: to, after: start + mark + found[0].length } : null;
}

/** Starts only at the first of several signs: at each of them it would read the rest of a long row of dots again. */
const sentenceEnd = /(?<![.!?…])[.!?…]+["'”’)\]*]*(?=\s+["'“‘([*@:$]*[\p{Lu}\p{N}:@])|[。！？]/gu;
const abbreviation =
  /(?:^|[\s(])(?:\p{L}|e\.g|i\.e|etc|vs|approx|no|dr|mr|mrs|ms|prof|st|inc|ltd|co|corp|jr|sr|fig|cf)\.$/iu;

/** Splits at the ends of sentences; blank ones are skipped. */
function* split(text: string, start: number, end: number): Generator<readonly [number, number]> {
  const whole = text.slice(start, end);
  let from = 0;
  for (const { 0: sign, index } of whole.matchAll(sentenceEnd)) {
    const to = index + sign.length;
    if (sign === '.' && abbreviation.test(whole.slice(Math.max(from, to - 12), to))) continue;
    yield* visible(text, start + from, start + to);
    from = to;
  }
  yield* visible(text, start + from, end);
}

function* visible(text: string, start: number, end: number): Generator<readonly [number, number]> {
  const piece = text.slice(start, end);
  const trimmed = piece.trim();
  if (trimmed === '') return;
  const from = start + piece.indexOf(trimmed);
  yield [from, from + trimmed.length];
}

// Headings that set the category of what follows.

export interface Section {
  readonly category: EventCategory;
  /** Weight that the heading gives a sentence, and a list item, below it. */
  readonly sentence: number;
  readonly item: number;
}

/** Category, weight of a sentence, weight of an item, and the pattern of the heading. */
const sections: readonly (readonly [RegExp, Section])[] = String.raw`
Commitment 0.5 1 action items?|actions|to-?dos?|next steps|follow-?ups?|tasks|assignments|timeline|commitments|owners
Decision 1 1 decisions?|resolutions?|agreed|outcomes?|resolved
QualityRisk 1 3.5 risks?|concerns?|issues|blockers?|problems|known bugs|threats
Feedback 0.5 1 feedback|comments|reactions|reviews?
Change 1 2 changes|modifications|changelog|amendments|revisions
Execution 0.5 1.5 status|updates?|progress|highlights|accomplishments|done|completed|achievements|shipped
`
  .trim()
  .split('\n')
  .map((line) => {
    const [category = '', sentence, item, ...words] = line.split(' ');
    const section = { category: category as EventCategory, sentence: Number(sentence), item: Number(item) };
    return [new RegExp(`\\b(?:${words.join(' ')})\\b`, 'i'), section];
  });

/** The section that a heading, or a line that ends with a colon, opens; null: none. */
export const sectionOf = (heading: string): Section | null =>
  sections.find(([pattern]) => pattern.test(heading))?.[1] ?? null;
