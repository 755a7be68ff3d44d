import { describe, expect, it } from 'vitest';
import { editDistance, isTransposition, isTypingError, jaroWinkler } from './string-distance.ts';

describe('string distances', () => {
  it('counts edits, an adjacent transposition as one, and stops at the limit', () => {
    expect(editDistance('chen', 'chen')).toBe(0);
    expect(editDistance('chen', 'cehn')).toBe(1);
    expect(editDistance('kitten', 'sitting')).toBe(3);
    expect(editDistance('', 'abc')).toBe(3);
    expect(editDistance('abcdef', 'uvwxyz', 2)).toBe(3);
  });

  it('favors a common prefix', () => {
    expect(jaroWinkler('martha', 'marhta')).toBeCloseTo(0.961, 3);
    expect(jaroWinkler('dixon', 'dicksonx')).toBeCloseTo(0.813, 3);
    expect(jaroWinkler('', '')).toBe(0);
  });

  it('distinguishes a transposition from another name', () => {
    expect(isTransposition('abbott', 'abbtot')).toBe(true);
    expect(isTransposition('jacob', 'jacoob')).toBe(true);
    expect(isTransposition('andersen', 'anderson')).toBe(false);
    expect(isTypingError('andersen', 'anderson')).toBe(true);
    expect(isTypingError('jon', 'jan')).toBe(false);
  });
});
