import { describe, expect, it } from 'vitest';
import { differingLines } from './differing-lines.ts';

const of = (left: string, right: string) => {
  const lines = differingLines(left.split('').join('\n'), right.split('').join('\n'));
  return [[...lines.left], [...lines.right]];
};

describe('lines that differ', () => {
  it('are none between a text and itself', () => expect(of('abc', 'abc')).toEqual([[], []]));
  it('are what was changed', () => expect(of('abc', 'axc')).toEqual([[1], [1]]));
  it('are what was added, wherever', () => expect(of('abc', 'xabyc')).toEqual([[], [0, 3]]));
  it('are what was taken away', () => expect(of('abcd', 'ad')).toEqual([[1, 2], []]));
  it('leave alone what only moved down', () => expect(of('abcabd', 'abd')).toEqual([[2, 3, 4], []]));
  it('are everything between two texts without a common line', () =>
    expect(of('ab', 'xyz')).toEqual([
      [0, 1],
      [0, 1, 2],
    ]));
  it('are found quickly in large texts, if need be roughly', () => {
    const large = (name: string) =>
      Array.from({ length: 5_000 }, (_, index) => `${name} ${index}`).join('\n');
    expect(differingLines(large('a'), large('b')).left.size).toBe(5_000);
  });
});
