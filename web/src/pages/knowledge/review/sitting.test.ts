import { describe, expect, it } from 'vitest';
import type { Sitting } from './sitting.ts';
import { answered, countOf, emptySitting, moved, onceMore, takenBack, takenIn } from './sitting.ts';

const begun = (...ids: readonly string[]): Sitting => takenIn(emptySitting, ids);
const currentOf = ({ order, at }: Sitting): string | null => order[at] ?? null;

describe('a sitting', () => {
  it('goes on to the next pair, and ends', () => {
    let sitting = begun('a', 'b');
    expect(currentOf(sitting)).toBe('a');
    sitting = answered(sitting, 'a', 'same');
    expect(currentOf(sitting)).toBe('b');
    sitting = answered(sitting, 'b', 'different');
    expect(currentOf(sitting)).toBeNull();
    expect([countOf(sitting, 'same'), countOf(sitting, 'different')]).toEqual([1, 1]);
  });

  it('keeps looking at the same pair when the list changes below it', () => {
    const sitting = moved(begun('a', 'b', 'c'), 1);
    expect(currentOf(takenIn(sitting, ['new', 'c', 'b', 'a']))).toBe('b');
    expect(takenIn(sitting, ['new', 'c', 'b', 'a']).order).toEqual(['a', 'b', 'c', 'new']);
    expect(takenIn(sitting, ['a', 'b', 'c'])).toBe(sitting);
  });

  it('drops what others answered, but for the one that is looked at: no other takes its place unseen', () => {
    const sitting = moved(begun('a', 'b', 'c', 'd'), 1);
    const after = takenIn(sitting, ['a', 'c']);
    expect(after.order).toEqual(['a', 'b', 'c']);
    expect(currentOf(after)).toBe('b');
    expect(takenIn(moved(after, 1), ['a', 'c']).order).toEqual(['a', 'c']);
    expect(currentOf(takenIn(moved(after, 1), ['a', 'c']))).toBe('c');
  });

  it('keeps what it answered itself, though the server has it no longer', () => {
    const after = takenIn(answered(begun('a', 'b'), 'a', 'same'), ['b']);
    expect(after.order).toEqual(['a', 'b']);
    expect(currentOf(after)).toBe('b');
  });

  it('looks at a pair that came while it was through', () => {
    const through = answered(begun('a'), 'a', 'same');
    expect(currentOf(takenIn(through, ['b']))).toBe('b');
  });

  it('comes back to what was skipped before it ends', () => {
    const sitting = answered(moved(begun('a', 'b'), 1), 'b', 'same');
    expect(currentOf(sitting)).toBe('a');
  });

  it('goes back to what is taken back', () => {
    const sitting = answered(answered(begun('a', 'b', 'c'), 'a', 'same'), 'b', 'later');
    const back = takenBack(sitting, 'b');
    expect(currentOf(back)).toBe('b');
    expect(back.verdicts).toEqual({ a: 'same' });
    expect(back.said).toEqual(['a']);
  });

  it('asks again about what was put off, and only that', () => {
    const sitting = answered(answered(begun('a', 'b'), 'a', 'later'), 'b', 'same');
    const again = onceMore(sitting);
    expect(currentOf(again)).toBe('a');
    expect(again.verdicts).toEqual({ b: 'same' });
  });

  it('moves within its bounds', () => {
    const sitting = begun('a', 'b');
    expect(moved(sitting, -1).at).toBe(0);
    expect(moved(moved(sitting, 5), 5).at).toBe(2);
  });
});
