// Splits a text into chunks along its headings, paragraphs and sentences.
import type { ChunkDraft } from '../artifacts/types.ts';
import type { Line } from '../text/spans.ts';
import { linesOf } from '../text/spans.ts';

/** In tokens of `estimateTokens`. */
export const chunkSizes = { largest: 1_200, window: 900, overlap: 100 } as const;

/** A window may end early at a heading once it has this many tokens. */
const minBeforeHeading = chunkSizes.window / 2;

/**
 * Every visible character is in a chunk, in order; `text.slice(startChar, endChar) === chunk.text`; no chunk is larger
 * than `chunkSizes.largest`. A window that ends at a heading does not overlap with the next. No chunks for a blank text.
 */
export function chunkText(text: string): readonly ChunkDraft[] {
  const units = textUnits(text);
  const chunks: ChunkDraft[] = [];
  for (let first = 0, covered = 0; covered < units.length;) {
    const end = windowEnd(units, first, covered);
    const chunk = chunkOf(text, units.slice(first, end), chunks.length);
    if (chunk) chunks.push(chunk);
    first = units[end]?.isHeading === true ? end : overlapStart(units, first, end);
    covered = end;
  }
  return chunks;
}

/** The end of the window that begins at `first`; always after `covered`, the end of the previous windows. */
function windowEnd(units: readonly TextUnit[], first: number, covered: number): number {
  let tokens = 0;
  let end = first;
  let heading = -1;
  while (end < units.length) {
    const unit = units[end];
    if (!unit) break;
    if (end > covered && unit.isHeading && tokens >= minBeforeHeading) heading = end;
    if (end > covered && tokens + unit.tokens > chunkSizes.window) break;
    tokens += unit.tokens;
    end++;
  }
  if (end === units.length || tokens + restOf(units, end, chunkSizes.largest - tokens) <= chunkSizes.largest)
    return units.length;
  return heading > 0 ? heading : end;
}

/** Tokens from here on; stops counting above `enough`. */
function restOf(units: readonly TextUnit[], from: number, enough: number): number {
  let tokens = 0;
  for (let index = from; index < units.length && tokens <= enough; index++)
    tokens += units[index]?.tokens ?? 0;
  return tokens;
}

function overlapStart(units: readonly TextUnit[], first: number, end: number): number {
  let tokens = 0;
  let start = end;
  while (start - 1 > first) {
    const before = units[start - 1];
    if (!before || before.isHeading || tokens + before.tokens > chunkSizes.overlap) break;
    tokens += before.tokens;
    start--;
  }
  return start;
}

function chunkOf(text: string, units: readonly TextUnit[], position: number): ChunkDraft | null {
  const from = units[0]?.start ?? 0;
  const whole = text.slice(from, units.at(-1)?.end ?? from);
  const visible = whole.trim();
  if (visible === '') return null;
  const startChar = from + (whole.length - whole.trimStart().length);
  return {
    position,
    startChar,
    endChar: startChar + visible.length,
    tokenCount: units.reduce((sum, { tokens }) => sum + tokens, 0),
    heading: commonPath(units.filter(({ tokens }) => tokens > 0)).join(' › ') || null,
    text: visible,
  };
}

/** The headings common to all units. */
function commonPath(units: readonly TextUnit[]): readonly string[] {
  return units.reduce<readonly string[]>((common, { path }) => {
    const differs = common.findIndex((title, index) => path[index] !== title);
    return differs < 0 ? common : common.slice(0, differs);
  }, units[0]?.path ?? []);
}

/** Units are contiguous and cover the text. Offsets are UTF-16 units. */
interface TextUnit {
  readonly start: number;
  readonly end: number;
  readonly tokens: number;
  readonly isHeading: boolean;
  /** The headings above it, outermost first, including itself. */
  readonly path: readonly string[];
}

/** Longer ones (a line of data, a table) are cut between words, or between characters if there is no other place. */
const maxUnitTokens = 300;
/** In characters; about four are a token of prose. */
const maxUnitLength = maxUnitTokens * 4;
/** A longer line is not a heading. */
const maxHeadingLength = 200;

const sentences = new Intl.Segmenter('en', { granularity: 'sentence' });

function textUnits(text: string): readonly TextUnit[] {
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

/** Headings, and paragraphs between them. */
function* blocksOf(text: string): Generator<Block> {
  const lines = [...linesOf(text)];
  const endOf = (index: number): number => lines[index + 1]?.start ?? text.length;
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
      start = endOf(index);
      yield { start: line.start, end: start, heading: found };
    } else if (line.text.trim() === '') {
      yield { start, end: endOf(index), heading: null };
      start = endOf(index);
    }
  }
  if (start < text.length) yield { start, end: text.length, heading: null };
}

function headingAt(
  lines: readonly Line[],
  index: number,
): { readonly level: number; readonly title: string; readonly lines: number } | null {
  const text = lines[index]?.text ?? '';
  if (text.length > maxHeadingLength) return null;
  const marked = markdownHeading.exec(text);
  if (marked?.[1] !== undefined)
    return { level: marked[1].length, title: (marked[2] ?? '').trim(), lines: 1 };
  const under = underline.exec(lines[index + 1]?.text ?? '')?.[1];
  const isStandalone = index === 0 || lines[index - 1]?.text.trim() === '';
  if (under === undefined || !isStandalone || text.trim() === '' || underline.test(text)) return null;
  return { level: under.startsWith('=') ? 1 : 2, title: text.trim(), lines: 2 };
}

/** A line break does not end a sentence, except before a list item or table row. */
const softBreak = /\r?\n(?![ \t]*(?:[-*+|>•]|\d+[.)]|\r?\n))/g;

function* piecesOf(text: string, { start, end }: Block): Generator<readonly [start: number, end: number]> {
  const whole = text.slice(start, end);
  // Segmenting each of a million blank lines would take seconds.
  if (whole.trim() === '') {
    yield* cutLong(text, start, end);
    return;
  }
  // Line breaks become spaces of the same length, so that offsets stay.
  const block = whole.replace(softBreak, (found) => ' '.repeat(found.length));
  for (const { index, segment } of sentences.segment(block))
    yield* cutLong(text, start + index, start + index + segment.length);
}

/** Looks at one unit's length at a time: a line of five million characters is cut in one pass. */
function* cutLong(
  text: string,
  start: number,
  end: number,
): Generator<readonly [start: number, end: number]> {
  for (let from = start; from < end;) {
    const limit = Math.min(end, from + maxUnitLength);
    const isShort = limit === end && estimateTokens(text, from, end) <= maxUnitTokens;
    const cut = isShort ? end : cutBefore(text, from, limit);
    yield [from, cut];
    from = cut;
  }
}

/** The last position before `limit` between two words; else one that does not split a character. */
function cutBefore(text: string, from: number, limit: number): number {
  let max = limit;
  while (estimateTokens(text, from, max) > maxUnitTokens) max = from + Math.floor((max - from) / 2);
  for (let at = max; at > from + 1; at--) if (isBlankAt(text, at - 1)) return at;
  const splitsPair =
    (text.charCodeAt(max - 1) & 0xfc00) === 0xd800 && (text.charCodeAt(max) & 0xfc00) === 0xdc00;
  return splitsPair ? max - 1 : max;
}

/**
 * About one token per six letters or digits of a word (rounded up) and one per other visible character; scripts without
 * spaces (Chinese, Japanese, Thai, …) and pictographs take about one per character. Within about 15% of cl100k on
 * English prose, and never 0 for visible text. `from` and `to` select a part without copying.
 */
export function estimateTokens(text: string, start = 0, end = text.length): number {
  let tokens = 0;
  let word = 0;
  for (let at = start; at < end; at++) {
    const unit = text.charCodeAt(at);
    const isPair =
      (unit & 0xfc00) === 0xd800 && at + 1 < end && (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00;
    const kind = isPair ? kindOf(text.codePointAt(at) ?? unit) : unitKinds[unit] || kindOfUnit(unit);
    const length = isPair ? 2 : 1;
    if (isPair) at++;
    if (kind === kinds.inWord) {
      word += length;
      continue;
    }
    tokens += Math.ceil(word / lettersPerToken) + (kind === kinds.alone ? 1 : 0);
    word = 0;
  }
  return tokens + Math.ceil(word / lettersPerToken);
}

/** Whether the character is invisible. */
export function isBlankAt(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  return (unitKinds[unit] || kindOfUnit(unit)) === kinds.blank;
}

const lettersPerToken = 6;

/** Letters of scripts with spaces, and digits, form words; other visible characters count alone. 0: not computed yet. */
const kinds = { inWord: 1, alone: 2, blank: 3 } as const;

const dense =
  /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]/u;
const letter = /[\p{L}\p{M}\p{N}]/u;

function kindOf(codePoint: number): number {
  const character = String.fromCodePoint(codePoint);
  if (letter.test(character) && !dense.test(character)) return kinds.inWord;
  return /\s/.test(character) ? kinds.blank : kinds.alone;
}

/** Each character is classified once, which makes five million of them ten times faster. */
const unitKinds = new Uint8Array(65_536);

function kindOfUnit(unit: number): number {
  const kind = kindOf(unit);
  unitKinds[unit] = kind;
  return kind;
}
