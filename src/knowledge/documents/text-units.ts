// A text as units that are not cut: headings, sentences, and pieces of what is longer than any sentence should be.
import { estimateTokens, isBlankAt } from './token-estimate.ts';

/** Units follow each other without a gap: together they are the text. Offsets are UTF-16 units. */
export interface TextUnit {
  readonly start: number;
  readonly end: number;
  readonly tokens: number;
  readonly isHeading: boolean;
  /** The headings above it, outermost first; a heading is above itself. */
  readonly path: readonly string[];
}

/** Longer ones (a line of data, a table without a point) are cut between words, or wherever it must be. */
const largestUnitTokens = 300;
/** In characters: some four make a token of prose. */
const longestUnit = largestUnitTokens * 4;
/** A longer line is no heading. */
const longestHeading = 200;

const sentences = new Intl.Segmenter('en', { granularity: 'sentence' });

export function textUnits(text: string): readonly TextUnit[] {
  const units: TextUnit[] = [];
  let path: readonly { readonly level: number; readonly title: string }[] = [];
  for (const block of blocksOf(text)) {
    const { heading } = block;
    if (heading) path = [...path.filter(({ level }) => level < heading.level), heading];
    const titles = path.map(({ title }) => title);
    const add = (start: number, end: number): void =>
      void units.push({
        start,
        end,
        tokens: estimateTokens(text, start, end),
        isHeading: heading !== null,
        path: titles,
      });
    if (heading) add(block.start, block.end);
    else for (const [start, end] of piecesOf(text, block)) add(start, end);
  }
  return units;
}

interface Block {
  readonly start: number;
  readonly end: number;
  readonly heading: { readonly level: number; readonly title: string } | null;
}

const markdownHeading = /^ {0,3}(#{1,6})[ \t]+(\S.*?)[ \t]*#*[ \t]*$/;
const fence = /^ {0,3}(`{3,}|~{3,})/;
const underline = /^ {0,3}(={3,200}|-{3,200})[ \t]*$/;

/** Headings, and what stands between them and between blank lines. */
function* blocksOf(text: string): Generator<Block> {
  const lines = [...linesOf(text)];
  let openFence: string | null = null;
  let start = 0;
  for (let index = 0; index < lines.length; index++) {
    const line = lines[index];
    if (!line) break;
    const mark: string | null = fence.exec(line.text)?.[1]?.charAt(0) ?? null;
    if (mark !== null) openFence = openFence === null ? mark : openFence === mark ? null : openFence;
    const found = openFence === null ? headingAt(lines, index) : null;
    if (found) {
      if (start < line.start) yield { start, end: line.start, heading: null };
      index += found.lines - 1;
      const end = lines[index]?.end ?? line.end;
      yield { start: line.start, end, heading: found };
      start = end;
    } else if (line.text.trim() === '') {
      yield { start, end: line.end, heading: null };
      start = line.end;
    }
  }
  if (start < text.length) yield { start, end: text.length, heading: null };
}

interface Line {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

function* linesOf(text: string): Generator<Line> {
  for (let start = 0; start < text.length;) {
    const newline = text.indexOf('\n', start);
    const end = newline < 0 ? text.length : newline + 1;
    yield { start, end, text: text.slice(start, end).replace(/\r?\n$/, '') };
    start = end;
  }
}

function headingAt(
  lines: readonly Line[],
  index: number,
): { readonly level: number; readonly title: string; readonly lines: number } | null {
  const text = lines[index]?.text ?? '';
  if (text.length > longestHeading) return null;
  const marked = markdownHeading.exec(text);
  if (marked?.[1] !== undefined)
    return { level: marked[1].length, title: titleOf(marked[2] ?? ''), lines: 1 };
  const under = underline.exec(lines[index + 1]?.text ?? '')?.[1];
  const standsAlone = index === 0 || lines[index - 1]?.text.trim() === '';
  if (under === undefined || !standsAlone || text.trim() === '' || underline.test(text)) return null;
  return { level: under.startsWith('=') ? 1 : 2, title: titleOf(text), lines: 2 };
}

const titleOf = (text: string): string => text.trim();

/** A line break within a sentence is no end of it; one before a list's next item or a table's next row is. */
const softBreak = /\r?\n(?![ \t]*(?:[-*+|>•]|\d+[.)]|\r?\n))/g;

function* piecesOf(text: string, { start, end }: Block): Generator<readonly [start: number, end: number]> {
  // Each break becomes as many spaces: offsets stay.
  const block = text.slice(start, end).replace(softBreak, (found) => ' '.repeat(found.length));
  for (const { index, segment } of sentences.segment(block))
    yield* cutLong(text, start + index, start + index + segment.length);
}

/** Looks at no more than a unit's worth at a time: a line of five million characters is cut in one pass. */
function* cutLong(
  text: string,
  start: number,
  end: number,
): Generator<readonly [start: number, end: number]> {
  for (let from = start; from < end;) {
    const limit = Math.min(end, from + longestUnit);
    const isShort = limit === end && estimateTokens(text, from, end) <= largestUnitTokens;
    const cut = isShort ? end : cutBefore(text, from, limit);
    yield [from, cut];
    from = cut;
  }
}

/** The last place before `limit` between two words; without one, any that does not part a character. */
function cutBefore(text: string, from: number, limit: number): number {
  let most = limit;
  while (estimateTokens(text, from, most) > largestUnitTokens) most = from + Math.floor((most - from) / 2);
  for (let at = most; at > from + 1; at--) if (isBlankAt(text, at - 1)) return at;
  const isParted =
    (text.charCodeAt(most - 1) & 0xfc00) === 0xd800 && (text.charCodeAt(most) & 0xfc00) === 0xdc00;
  return isParted ? most - 1 : most;
}
