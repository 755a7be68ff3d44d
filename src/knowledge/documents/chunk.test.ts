// Chunks: exact offsets, nothing lost, bounded, split at natural boundaries.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { maxTaskMs, repeatedTaskMs } from '../../../test/support/longest-task.ts';
import { chunkSizes, chunkText, estimateTokens, isBlankAt } from './chunk.ts';

const sentence = (number: number): string => `Sentence number ${number} says that the migration went well.`;
const paragraph = (from: number, count: number): string =>
  Array.from({ length: count }, (_, index) => sentence(from + index)).join(' ');

const piece = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constantFrom(
    '\n',
    '\r\n',
    '\n\n',
    ' ',
    '\t',
    '# Heading\n',
    '## Other\n',
    'Title\n=====\n',
    '```\n',
    '😀',
    '漢字',
  ),
  fc.integer({ min: 1, max: 60 }).map((count) => paragraph(0, count)),
  fc.integer({ min: 1, max: 9_000 }).map((count) => 'x'.repeat(count)),
  fc.integer({ min: 1, max: 2_000 }).map((count) => '😀'.repeat(count)),
  fc.integer({ min: 1, max: 2_000 }).map((count) => '漢'.repeat(count)),
);
const texts = fc.array(piece, { maxLength: 30 }).map((pieces) => pieces.join('').toWellFormed());

it('covers every visible character, in order, in bounded chunks that split no character', () => {
  fc.assert(
    fc.property(texts, (text) => {
      const isCovered = new Uint8Array(text.length);
      let before = -1;
      for (const [index, chunk] of chunkText(text).entries()) {
        expect(chunk.position).toBe(index);
        expect(text.slice(chunk.startChar, chunk.endChar)).toBe(chunk.text);
        expect(chunk.text.isWellFormed()).toBe(true);
        expect(chunk.text.trim()).toBe(chunk.text);
        expect(chunk.startChar).toBeGreaterThan(before);
        expect(estimateTokens(chunk.text)).toBeLessThanOrEqual(chunkSizes.largest);
        expect(chunk.tokenCount).toBeLessThanOrEqual(chunkSizes.largest);
        before = chunk.startChar;
        isCovered.fill(1, chunk.startChar, chunk.endChar);
      }
      expect(uncovered(text, isCovered).trim()).toBe('');
    }),
    { numRuns: 150 },
  );
});

const uncovered = (text: string, isCovered: Uint8Array): string =>
  Array.from({ length: text.length }, (_, at) => (isCovered[at] === 1 ? '' : text.charAt(at))).join('');

describe('a short text', () => {
  it('is one chunk, without the surrounding whitespace', () => {
    expect(chunkText('\n  Alice decided.  \n')).toEqual([
      { position: 0, startChar: 3, endChar: 17, tokenCount: 4, heading: null, text: 'Alice decided.' },
    ]);
  });

  it('has the headings common to all of it', () => {
    expect(chunkText('# Plan\n\n## Risks\n\nNone.\n\n## Costs\n\nNone.')[0]?.heading).toBe('Plan');
    expect(chunkText('# Plan\n\n## Risks\n\nNone.')[0]?.heading).toBe('Plan');
    expect(chunkText('Plain words.')[0]?.heading).toBeNull();
  });

  it('has no chunk when it is blank', () => {
    expect(chunkText(' \n\t ')).toEqual([]);
    expect(chunkText('')).toEqual([]);
  });
});

describe('a long text', () => {
  it('becomes windows of about 900 tokens that overlap by whole sentences', () => {
    const text = paragraph(0, 300);
    const chunks = chunkText(text);
    expect(chunks.length).toBeGreaterThan(2);
    for (const [index, chunk] of chunks.entries()) {
      expect(chunk.text).toMatch(/^Sentence .*well\.$/s);
      const next = chunks[index + 1];
      if (!next) continue;
      expect(chunk.tokenCount).toBeGreaterThan(800);
      expect(chunk.tokenCount).toBeLessThanOrEqual(chunkSizes.window);
      const shared = estimateTokens(text.slice(next.startChar, chunk.endChar));
      expect(shared).toBeGreaterThan(50);
      expect(shared).toBeLessThanOrEqual(chunkSizes.overlap);
    }
  });

  it('is cut at a heading when the window is half full, and then does not overlap', () => {
    const text = `# Plan\n\n${paragraph(0, 60)}\n\n## Risks\n\n${paragraph(60, 60)}\n\n## Costs\n\n${paragraph(120, 60)}`;
    const chunks = chunkText(text);
    const risks = chunks.find((chunk) => chunk.text.startsWith('## Risks'));
    expect(risks?.heading).toBe('Plan › Risks');
    expect(chunks[0]?.heading).toBe('Plan');
    expect(chunks[0]?.text).toContain(sentence(59));
    expect(chunks[0]?.endChar).toBeLessThan(risks?.startChar ?? 0);
  });

  it('does not end a sentence at a line break, but a list item at its line', () => {
    const wrapped = paragraph(0, 200).replaceAll(' says ', ' says\n');
    for (const chunk of chunkText(wrapped)) expect(chunk.text).toMatch(/^Sentence .*well\.$/s);
    const list = Array.from({ length: 500 }, (_, index) => `- item ${index} of the list`).join('\n');
    for (const chunk of chunkText(list)) expect(chunk.text).toMatch(/^- item \d+ .* of the list$/s);
  });

  it('finds no heading in fenced code', () => {
    const text = `# Script\n\n\`\`\`sh\n# not a heading\nls\n\`\`\`\n\n${paragraph(0, 150)}`;
    expect(chunkText(text).map(({ heading }) => heading)).toEqual(
      expect.not.arrayContaining([expect.stringContaining('not a heading')]),
    );
  });

  it('does not end with a tiny chunk', () => {
    const text = paragraph(0, 95);
    expect(estimateTokens(text)).toBeGreaterThan(chunkSizes.window);
    expect(estimateTokens(text)).toBeLessThan(chunkSizes.largest);
    expect(chunkText(text)).toHaveLength(1);
  });
});

describe('the token estimate', () => {
  it.each([
    ['Hello, world!', 4],
    ['internationalization', 4],
    ['漢字かな', 4],
    ['😀😀', 2],
    ['a', 1],
    ['   ', 0],
    ['2026-03-01', 5],
  ])('of %j is %i', (text, tokens) => {
    expect(estimateTokens(text)).toBe(tokens);
  });
});

const dense =
  '\\p{scx=Han}\\p{scx=Hiragana}\\p{scx=Katakana}\\p{scx=Hangul}\\p{scx=Thai}\\p{scx=Lao}\\p{scx=Khmer}\\p{scx=Myanmar}';
const pieces = new RegExp(`(?:(?![${dense}])[\\p{L}\\p{M}\\p{N}])+|\\S`, 'gu');

/** The same count as a regular expression: too slow for documents. */
const byPattern = (text: string): number =>
  (text.match(pieces) ?? []).reduce((sum, piece) => sum + Math.ceil(piece.length / 6), 0);

describe('the token estimate of any text', () => {
  it.each([
    ['', 0],
    [' \n\u3000', 0],
    ['Hello world!', 3],
    ['extraordinarily', 3],
    ['会議で', 3],
    ['👍🏽', 2],
    ['a,b', 3],
  ])('%j: %d', (text, tokens) => {
    expect(estimateTokens(text)).toBe(tokens);
  });

  it('equals a count by pattern, for any text and any part of it', () => {
    const unit = fc.oneof(
      fc.constantFrom('a', 'B', '7', ' ', '\n', '.', 'é', '会', 'ก', '👍', '\u0301'),
      fc.string(),
    );
    fc.assert(
      fc.property(
        fc.array(unit).map((all) => all.join('')),
        fc.nat(9),
        fc.nat(9),
        (text, before, behind) => {
          expect(estimateTokens(text)).toBe(byPattern(text));
          const [start, end] = [Math.min(before, text.length), Math.max(before, text.length - behind)];
          expect(estimateTokens(text, start, Math.min(end, text.length))).toBe(
            byPattern(text.slice(start, end)),
          );
        },
      ),
    );
  });

  it('recognizes blanks', () => {
    expect([' ', '\t', '\u00a0', 'a', '。'].map((text) => isBlankAt(text, 0))).toEqual([
      true,
      true,
      true,
      false,
      false,
    ]);
  });
});

it('does not block the main thread with 45,000 blank lines (B1)', async () => {
  expect(await repeatedTaskMs(() => chunkText(`a${'\n'.repeat(45_000)}b`))).toBeLessThan(maxTaskMs);
});
