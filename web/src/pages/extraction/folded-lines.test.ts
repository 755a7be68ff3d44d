import { expect, it } from 'vitest';
import { foldedLines } from './folded-lines.ts';

const text = Array.from({ length: 20 }, (_, at) => `line ${at}`).join('\n');
const short = (marked: readonly number[]) =>
  foldedLines(text, new Set(marked)).map((part) => ('line' in part ? part.at : `${part.equalLines} equal`));

it('shows changes with three lines of context and counts the rest', () => {
  expect(short([10])).toEqual(['7 equal', 7, 8, 9, 10, 11, 12, 13, '6 equal']);
  expect(short([0, 19])).toEqual([0, 1, 2, 3, '12 equal', 16, 17, 18, 19]);
  expect(short([])).toEqual(['20 equal']);
});

it('folds no short runs and keeps every line', () => {
  expect(short([3, 13])).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19]);
  expect(foldedLines('a', new Set([0]))).toEqual([{ line: 'a', isMarked: true, at: 0 }]);
});
