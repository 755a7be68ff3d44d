// Cuts a text into chunks: one piece while it is short, else windows that overlap, cut at headings and sentences.
import type { ChunkDraft } from '../ports.ts';
import type { TextUnit } from './text-units.ts';
import { textUnits } from './text-units.ts';

/** In tokens as `estimateTokens` counts them. */
export const chunkSizes = { largest: 1_200, window: 900, overlap: 100 } as const;

/** A heading is worth a window that is no fuller than this. */
const leastBeforeHeading = chunkSizes.window / 2;

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

/** Where the window that begins at `first` ends; always beyond `covered`, what the windows before it hold. */
function windowEnd(units: readonly TextUnit[], first: number, covered: number): number {
  let tokens = 0;
  let end = first;
  let heading = -1;
  while (end < units.length) {
    const unit = units[end];
    if (!unit) break;
    if (end > covered && unit.isHeading && tokens >= leastBeforeHeading) heading = end;
    if (end > covered && tokens + unit.tokens > chunkSizes.window) break;
    tokens += unit.tokens;
    end++;
  }
  if (end === units.length || tokens + restOf(units, end, chunkSizes.largest - tokens) <= chunkSizes.largest)
    return units.length;
  return heading > 0 ? heading : end;
}

/** Tokens from here on, or more than `enough` when there are more. */
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

/** The headings that are above all of it. */
function commonPath(units: readonly TextUnit[]): readonly string[] {
  return units.reduce<readonly string[]>((common, { path }) => {
    const differs = common.findIndex((title, index) => path[index] !== title);
    return differs < 0 ? common : common.slice(0, differs);
  }, units[0]?.path ?? []);
}
