import { describe, expect, it } from 'vitest';
import { differingLines } from './differing-lines.ts';

const of = (left: string, right: string) => {
  const lines = differingLines(left.split('').join('\n'), right.split('').join('\n'));
  return [[...lines.left], [...lines.right]];
};

describe('differingLines', () => {
  it('finds none between equal texts', () => expect(of('abc', 'abc')).toEqual([[], []]));
  it('finds changed lines', () => expect(of('abc', 'axc')).toEqual([[1], [1]]));
  it('finds added lines anywhere', () => expect(of('abc', 'xabyc')).toEqual([[], [0, 3]]));
  it('finds removed lines', () => expect(of('abcd', 'ad')).toEqual([[1, 2], []]));
  it('ignores lines that only moved down', () => expect(of('abcabd', 'abd')).toEqual([[2, 3, 4], []]));
  it('marks everything without a common line', () =>
    expect(of('ab', 'xyz')).toEqual([
      [0, 1],
      [0, 1, 2],
    ]));
  it('handles large texts quickly, with a rough result if needed', () => {
    const large = (name: string) =>
      Array.from({ length: 5_000 }, (_, index) => `${name} ${index}`).join('\n');
    expect(differingLines(large('a'), large('b')).left.size).toBe(5_000);
  });
});
